"""codex_status: is Codex alive and which one, who is busy, who has which name, what waits."""

import asyncio
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.requirements import requirement
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT, gate
from tests.support.team.team_server import TeamServer, refusal, say, structured

ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}


@requirement("FR-10.2", "FR-17.5")
async def test_it_says_all_that_is_to_be_known(team: Team) -> None:
    flags = ("--team", "red", "--turns-per-hour", "1", "--max-concurrent-threads", "5")
    async with team(*flags, script=TEAM_SCRIPT, elicitation=False) as (server, model):
        idle = await server.start(say("ready"), identity="idle")
        call = server.call("codex", {"prompt": gate(), "identity": "arch"})
        await model.wait_for_gate("gate")
        asking = await server.start("[[scene: escalate]]", identity="asks", background=True, **ASKS)
        while (await server.status())["pending_approvals"] == 0:
            pass
        status = await server.status()
        core = status["core"]
        assert (core["alive"], core["pid"] > 0, core["starts"], core["last_exit"]) == (True, True, 1, None)
        backends = {thread["backend"] for thread in server.registry().values()}
        assert backends == {f"{core['backend']} {core['version']}"}
        assert core["backend"] in ("app-server", "mcp-server")
        assert (status["team"], status["uptime_seconds"] > 0) == ("red", True)
        assert status["threads"] == {"active": 3, "busy": 2, "idle": 1, "limit": 5}
        arch = status["identities"]["arch"]
        assert status["identities"] == {"idle": idle["codex_id"], "arch": arch, "asks": asking["codex_id"]}
        assert status["busy"] == ["arch", "asks"]
        assert status["queues"] == {}  # a turn that runs does not wait
        assert set(status["paused"]) == {"idle", "arch", "asks"}
        assert status["pending_approvals"] == 1
        assert status["state"] == {"lease": "holding", "trouble": None}
        model.release("gate")
        assert structured(await server.result(call))["codex_id"] == arch


@requirement("FR-10.2")
async def test_it_counts_the_prompts_that_wait_behind_a_turn(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, model):
        calls = [server.call("codex", {"prompt": gate(), "identity": "arch"})]
        await model.wait_for_gate("gate")
        for waiting in range(1, 3):
            calls.append(server.call("codex-reply", {"prompt": say("next"), "identity": "arch"}))
            await until_queued(server, {"arch": waiting})
        model.release("gate")
        for call in calls:
            await server.result(call)
        assert (await server.status())["queues"] == {}


async def until_queued(server: TeamServer, queues: Json) -> None:
    """Wait until these prompts wait; more never do."""
    async with asyncio.timeout(PATIENCE):
        while (found := (await server.status())["queues"]) != queues:
            assert sum(found.values()) < sum(queues.values())


@requirement("FR-10.2")
async def test_it_answers_before_there_is_anybody(team: Team) -> None:
    async with team(script=TEAM_SCRIPT) as (server, _model):
        status = await server.status()
        assert (status["threads"]["active"], status["identities"], status["queues"]) == (0, {}, {})


async def test_it_says_why_the_state_folder_cannot_be_used(team: Team, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/nodes").write_text("a file")
    async with team("--state-dir", str(tmp_path / "taken")) as (server, _model):
        told = refusal(await server.run("codex", {"prompt": say("hi")}))
        assert str(tmp_path / "taken") in told
        assert (await server.status())["state"] == {"lease": "none", "trouble": told}


async def test_it_says_that_the_state_folder_was_removed_and_no_agent_is_started_then(
    team: Team, tmp_path: Path
) -> None:
    state = tmp_path / "removed"
    async with team("--state-dir", str(state)) as (server, _model):
        agent = await server.start(say("ready"), identity="arch")
        state.rename(tmp_path / "away")  # at one blow: the server writes into it meanwhile
        assert "removed or replaced" in refusal(await server.run("codex", {"prompt": say("hi")}))
        again = structured(
            await server.run("codex-reply", {"codex_id": agent["codex_id"], "prompt": say("still here")})
        )
        assert again["content"] == "still here"
        assert "removed or replaced" in refusal(await server.run("codex_threads", {}))
        await server.run("codex_close", {"codex_id": agent["codex_id"]})  # which must be written down
        assert "removed or replaced" in (await server.status())["state"]["trouble"]
