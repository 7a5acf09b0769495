"""How well the server does what it does: work per request, nobody who waits for others, a log with levels."""

import os
import re
from pathlib import Path

from tests.support.requirements import requirement
from tests.support.team_fixtures import Team
from tests.support.team_server import TeamServer, say

REQUESTS = 200
MOST_WORK = 0.010
"""Seconds of the processor for one request."""

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (\w+) +codex_mcp\.")


def processor_time(server: TeamServer) -> float:
    """The seconds that the server itself has worked so far, which other programs on the machine do not change."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def levels(log: str) -> set[str]:
    """The levels of the lines of a log."""
    return {match.group(1) for line in log.splitlines() if (match := LINE.match(line))}


@requirement("NFR-1")
async def test_a_request_is_little_work(team: Team) -> None:
    async with team() as (server, _model):
        agent = await server.start(say("hi"))
        before = processor_time(server)
        for number in range(REQUESTS):
            await server.answer(server.request("ping", request_id=f"ping-{number}"))
            await server.answer(server.call("codex_threads", {}, request_id=f"threads-{number}"))
        assert (processor_time(server) - before) / (2 * REQUESTS) < MOST_WORK
        before = processor_time(server)
        for number in range(REQUESTS // 10):
            await server.reply(agent["codex_id"], say(f"{number}"))
        assert (processor_time(server) - before) / (REQUESTS // 10) < 10 * MOST_WORK  # a turn has some twenty messages


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
