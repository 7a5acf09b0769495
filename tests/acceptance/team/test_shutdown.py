"""The end of a server: its agents sum up at the same time, all is written, and nothing is left running."""

import os
import signal

import pytest

from codex_mcp.state.embedded.store import open_store
from tests.support.processes import all_ended, processes_at
from tests.support.requirements import requirement
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, say

NAMES = ("arch", "dev", "test")


def end(server: TeamServer, how: str) -> None:
    """Ask it to end."""
    if how == "EOF":
        server.close_stdin()
    else:
        server.process.send_signal(signal.Signals[how])


def summaries(server: TeamServer) -> dict[str, str]:
    """What agents wrote before they were closed, by identity; each must be in the folder of its identity and thread."""
    threads = {(entry["identity"], entry["thread_id"]) for entry in server.registry().values()}
    found = {path.parts[-3:-1]: path.read_text() for path in server.state_dir.glob("*/*/summary.md")}
    assert found.keys() <= threads
    return {identity: text for (identity, _thread), text in found.items()}


def standing(server: TeamServer) -> dict[str, tuple[str, str, object]]:
    """What the registry says of each, by name."""
    entries = server.registry().values()
    return {entry["identity"]: (entry["status"], entry["thread_state"], entry["owner"]) for entry in entries}


async def left_in_the_store(server: TeamServer) -> tuple[list[str], list[str], list[str]]:
    """Names, owners of agents, and servers that the store still knows."""
    store = await open_store(str(server.state_dir))
    try:
        names = [binding.identity for binding in await store.records.bindings("default")]
        owners = [codex_id for codex_id in server.registry() if await store.leases.owner(codex_id) is not None]
        return names, owners, [node.id for node in await store.leases.nodes()]
    finally:
        await store.aclose()


@requirement("FR-7.1", "FR-7.3", "FR-7.4", "FR-6.4")
@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "EOF"])
async def test_all_agents_sum_up_at_the_same_time_and_all_is_written(team: Team, how: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        for name in NAMES:
            await server.start(f"slow to sum up {say('worked')}", identity=name)
        end(server, how)
        await model.wait_for_gate("summary", len(NAMES))  # all of them, before any of them has ended
        model.release("summary")
        assert await server.exit_code() == 0
        assert summaries(server) == dict.fromkeys(NAMES, "A summary, at last.")
        assert standing(server) == dict.fromkeys(NAMES, ("closed", "closed", None))
        assert processes_at(server.setup.home) == []
        assert await left_in_the_store(server) == ([], [], [])


@requirement("FR-7.2")
async def test_who_does_not_sum_up_in_time_is_interrupted_and_nobody_waits_longer_for_it(team: Team) -> None:
    async with team("--summary-timeout", "15", script=TEAM_SCRIPT) as (server, _model):
        for name in NAMES:
            await server.start(f"never sums up {say('worked')}", identity=name)
        await server.start(say("worked"), identity="quick")
        end(server, "SIGTERM")
        assert await server.exit_code() == 0
        expected = dict.fromkeys(NAMES, ("interrupted", "closed", None)) | {"quick": ("closed", "closed", None)}
        assert standing(server) == expected
        assert list(summaries(server)) == ["quick"]
        assert processes_at(server.setup.home) == []


@requirement("FR-7.2", "FR-7.3")
async def test_a_second_signal_cuts_the_summaries_short(team: Team) -> None:
    async with team("--summary-timeout", "3600", script=TEAM_SCRIPT) as (server, model):
        for name in NAMES:
            await server.start(f"slow to sum up {say('worked')}", identity=name)
        end(server, "SIGTERM")
        await model.wait_for_gate("summary", len(NAMES))
        end(server, "SIGTERM")
        assert await server.exit_code() == 0
        assert standing(server) == dict.fromkeys(NAMES, ("interrupted", "closed", None))
        assert summaries(server) == {}
        assert processes_at(server.setup.home) == []


@requirement("FR-7.1", "FR-7.4")
@pytest.mark.parametrize("how", ["SIGTERM", "EOF"])
async def test_however_long_turns_may_go_on_a_busy_agent_is_stopped_after_seconds_and_sums_up(
    team: Team, how: str
) -> None:
    async with team("--shutdown-grace", "3600", script=TEAM_SCRIPT) as (server, model):
        call = server.call("codex", {"prompt": f"slow to sum up {gate()}", "identity": "arch"})
        await model.wait_for_gate("gate")
        end(server, how)
        await model.wait_for_gate("summary")
        assert (await server.result(call))["structuredContent"]["status"] == "interrupted"
        model.release("summary")
        assert await server.exit_code() == 0
        assert summaries(server) == {"arch": "A summary, at last."}
        assert standing(server) == {"arch": ("closed", "closed", None)}


@requirement("FR-7.1", "FR-7.4")
async def test_a_turn_that_runs_is_finished_or_stopped_before_its_agent_sums_up(team: Team) -> None:
    async with team("--shutdown-grace", "1", script=TEAM_SCRIPT) as (server, model):
        call = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        end(server, "EOF")
        stopped = await server.result(call)
        assert stopped["structuredContent"]["status"] == "interrupted"
        assert await server.exit_code() == 0
        assert standing(server) == {"arch": ("closed", "closed", None)}
        assert summaries(server)["arch"].startswith("In short:")


@requirement("FR-5.5", "FR-3.2", "NFR-2")
@pytest.mark.parametrize("moment", ["started", "in a turn", "idle", "closed", "being closed", "summing up"])
async def test_killed_at_any_moment_the_registry_loads_and_tells_the_truth(team: Team, moment: str) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        background = moment == "started"
        is_busy = moment in ("started", "in a turn", "being closed")
        prompt = f"slow to sum up {gate()}" if is_busy else f"slow to sum up {say('worked')}"
        call = server.call("codex", {"prompt": prompt, "identity": "arch", "background": background})
        if moment in ("in a turn", "being closed"):
            await model.wait_for_gate("gate")
            (codex_id,) = await server.threads()
        else:
            codex_id = (await server.result(call))["structuredContent"]["codex_id"]
        if moment == "closed":
            await server.close_agent("arch")
        elif moment == "being closed":
            server.call("codex_close", {"identity": "arch"})
            await model.wait_for_gate("summary")
        elif moment == "summing up":
            end(server, "SIGTERM")
            await model.wait_for_gate("summary")
            await until_written(server, "interrupted")
        os.kill(server.process.pid, signal.SIGKILL)
        assert await server.exit_code() == -signal.SIGKILL
        await all_ended(server.setup.home)
    expected = {"closed": "closed", "being closed": "interrupted", "summing up": "interrupted"}.get(moment, "stale")
    async with team(script=TEAM_SCRIPT) as (server, model):
        model.release("summary")
        agent = (await server.threads())[codex_id]
        assert (agent["identity"], agent["status"], agent["state"]) == ("arch", expected, "closed")
        assert standing(server) == {"arch": (expected, "closed", None)}
        assert (await server.status())["identities"] == {}
        back = await server.start(say("back"), codex_id=codex_id)
        assert (back["content"], back["identity"]) == ("back", "arch")


async def until_written(server: TeamServer, status: str) -> None:
    """Its agents are written down like this."""
    await server.until(lambda: {state[0] for state in standing(server).values()} == {status})
