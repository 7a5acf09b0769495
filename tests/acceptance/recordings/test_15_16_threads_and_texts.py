"""Counterparts of the recordings 15 and 16: what is written and read on disk, silence, and texts of all kinds."""

import re
from pathlib import Path

import msgspec

from tests.acceptance.recordings.exchange import (
    ENDED,
    NEW,
    answered,
    as_recorded,
    event_of,
    event_types,
    scene,
    serve,
    thread_of,
)
from tests.support.servers.mcp_server import Json

ODD_TEXT = "héllo \u2028 \u2029 \n ünï \U0001f600 end"


async def test_an_idle_server_says_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        await server.result(server.request("ping"))
        server.close_stdin()
        assert await server.exit_code() == 0

        assert [message["id"] for message in server.messages] == [0, 1]
        assert server.stderr == ""


async def test_a_thread_is_written_where_codex_writes_its_threads(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("say", text="Keep this.")})
        thread = thread_of(await server.result(call))

    path = Path(event_of(server, call, "session_configured")["rollout_path"])
    time = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}"
    place = rf"sessions/\d{{4}}/\d{{2}}/\d{{2}}/rollout-{time}-{thread}\.jsonl"
    assert re.fullmatch(place, path.relative_to(server.setup.codex_home).as_posix())
    head, *rest = lines_of(path)
    assert head["type"] == "session_meta"
    meta = head["payload"]
    assert (meta["id"], meta["cwd"], meta["originator"]) == (thread, str(server.setup.work), "codex-mcp-server")
    assert any("Keep this." in str(line) for line in rest)


def lines_of(path: Path) -> list[Json]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


async def test_texts_arrive_as_they_were_sent(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        prompt = scene("say", text=ODD_TEXT)
        call = server.call("codex", {"prompt": prompt})
        result = await server.result(call)
        with_nul = await server.run("codex", {"prompt": scene("nul")})

        assert as_recorded(result) == answered(thread_of(result), ODD_TEXT)
        assert event_of(server, call, "user_message")["message"] == prompt
        assert event_of(server, call, "agent_message")["message"] == ODD_TEXT
        assert event_types(server, call) == [*NEW, *ENDED]
        assert as_recorded(with_nul) == answered(thread_of(with_nul), "before \0 after")


async def test_the_instructions_of_the_folder_are_read(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        (server.setup.work / "AGENTS.md").write_text("Speak in rhymes.\n")
        call = server.call("codex", {"prompt": scene("say"), "cwd": str(server.setup.work)})
        result = await server.result(call)

        assert as_recorded(result) == answered(thread_of(result), "Good day.")
        assert event_types(server, call) == [*NEW, *ENDED]
        assert "Speak in rhymes." in model.requests[-1].body.decode()


async def test_an_answer_under_another_id_is_no_answer(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        call = server.call("codex", {"prompt": scene("escalate", cmd="touch made.txt")})
        assert (await server.question())["id"] == 0
        server.reply("0", {"decision": "approved"})
        await server.result(server.request("ping"))
        assert "exec_command_begin" not in event_types(server, call)
        server.reply(0, {"decision": "approved"})
        result = await server.result(call)
        server.reply(0, {"decision": "approved"})

        assert await server.result(server.request("ping")) == {}
        assert as_recorded(result) == answered(thread_of(result), "The command is over.")
        ran = ["exec_approval_request", "exec_command_begin", "exec_command_end", "token_count"]
        assert event_types(server, call) == [*NEW, *ran, *ENDED]
        assert (server.setup.work / "made.txt").exists()
