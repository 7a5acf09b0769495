"""How well the server does what it does: agents that work do not delay other requests, and the log has levels."""

import re

from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.team_server import say

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (\w+) +codex_mcp\.")


def levels(log: str) -> set[str]:
    """The levels of the lines of a log."""
    return {match.group(1) for line in log.splitlines() if (match := LINE.match(line))}


@requirement("NFR-1")
async def test_ten_agents_that_work_keep_nobody_waiting(team: Team) -> None:
    async with team() as (server, model):
        calls = []
        for number in range(10):
            prompt = f'[[scene: gate name="g{number}"]]'
            calls.append(server.call("codex", {"prompt": prompt, "identity": f"agent-{number}"}))
        for number in range(10):
            await model.wait_for_gate(f"g{number}")
        assert (await server.answer(server.request("ping")))["result"] == {}
        assert (await server.status())["threads"]["busy"] == 10
        assert len(await server.threads()) == 10
        for number in reversed(range(10)):
            model.release(f"g{number}")
            assert (await server.result(calls[number]))["structuredContent"]["identity"] == f"agent-{number}"


@requirement("NFR-5")
async def test_the_log_says_what_happened_line_by_line_with_levels(team: Team) -> None:
    async with team() as (server, _model):
        agent = await server.start(say("hi"), identity="arch")
        await server.close_agent("arch")
        (server.state_dir / "arch" / agent["threadId"] / "summary.md").unlink(missing_ok=True)
        await server.start(say("again"), codex_id=agent["codex_id"])
    assert levels(server.log) == {"INFO", "WARNING"}
    assert "serving on stdio" in server.log
    (warning,) = (line for line in server.log.splitlines() if " WARNING " in line)
    assert "agent arch is resumed without a summary" in warning


@requirement("NFR-5")
async def test_how_much_the_log_says_is_a_setting(team: Team) -> None:
    async with team("--log-level", "trace") as (server, _model):
        await server.start(say("hi"))
        assert {"INFO", "DEBUG", "TRACE"} <= levels(server.log)
    (server.setup.codex_home / "log/codex-rmcp.log").unlink()
    async with team("--log-level", "error") as (server, _model):
        await server.start(say("hi"))
    assert not (server.setup.codex_home / "log/codex-rmcp.log").exists()
