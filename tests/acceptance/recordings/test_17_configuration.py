"""Counterparts of the recordings 17: where settings come from, and a config.toml that cannot be read."""

from pathlib import Path

from tests.acceptance.recordings.exchange import answered, as_recorded, event_of, refused, scene, serve, thread_of
from tests.support.servers.mcp_server import McpServer, Setup

BROKEN = 'model_reasoning_effort = "low"\nnonsense\n'
WHY_BROKEN = "config.toml:2:9: key with no value, expected `=`"


async def settings_of(server: McpServer, **arguments: object) -> tuple[str, str, str | None]:
    """Model, approval policy and effort of a new thread."""
    call = server.call("codex", {"prompt": scene("say"), **arguments})
    await server.result(call)
    session = event_of(server, call, "session_configured")
    return session["model"], session["approval_policy"], session.get("reasoning_effort")


async def test_the_servers_own_overrides_count_and_a_calls_win(tmp_path: Path) -> None:
    overrides = ("model=server-model", "approval_policy=never", 'model_reasoning_effort="high"')
    async with serve(tmp_path, overrides=overrides) as (server, _model):
        await server.initialize()

        assert await settings_of(server) == ("server-model", "never", "high")
        own = await settings_of(server, model="call-model", config={"model_reasoning_effort": "low"})
        assert own == ("call-model", "never", "low")


async def test_an_edited_configuration_counts_for_the_next_call(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        before = await settings_of(server)
        (server.setup.codex_home / "config.toml").write_text('model_reasoning_effort = "low"\n')
        after = await settings_of(server)

        assert before[2] != "low"
        assert after == (before[0], before[1], "low")


async def test_a_configuration_that_breaks_later_is_an_error_of_the_call_until_it_is_mended(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        await settings_of(server)
        config = server.setup.codex_home / "config.toml"
        config.write_text(BROKEN)
        broken = await server.run("codex", {"prompt": scene("say")})
        config.write_text(BROKEN.replace("nonsense", ""))
        mended = await server.run("codex", {"prompt": scene("say")})

        text: str = broken["content"][0]["text"]
        assert broken == refused(text)
        assert text.startswith(f"Failed to load Codex configuration from overrides: {config.parent}/{WHY_BROKEN}")
        assert as_recorded(mended) == answered(thread_of(mended), "Good day.")


async def test_a_configuration_that_was_broken_from_the_start_is_told_to_the_client(tmp_path: Path) -> None:
    setup = Setup(tmp_path)
    setup.make()
    (setup.codex_home / "config.toml").write_text(BROKEN)
    async with McpServer(setup) as server:
        answer = await server.answer(server.request("initialize"))
        assert f"cannot read {setup.codex_home}/config.toml: " in answer["error"]["message"]
        assert await server.exit_code() == 2


async def test_an_unknown_flag_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    async with serve(tmp_path, "--strict-config") as (server, _model):
        server.close_stdin()
        assert await server.exit_code() == 2
        assert server.messages == []
        assert "--strict-config" in server.stderr
