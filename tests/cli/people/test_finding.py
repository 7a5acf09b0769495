"""Which agent is meant, in a folder with a registry and no server."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import NotFound, Refused
from codex_mcp.cli.people.finding import caller_of, find_agent, for_agent
from codex_mcp.state.embedded.flock import NodeLock
from codex_mcp.team.agent import Agent, AgentStatus, Owner
from codex_mcp.team.records.registry import RegistryFile


def agent(codex_id: str, identity: str, used: float, **changes: object) -> Agent:
    base = {"team": "red", "cwd": "/", "started_at": 1.0, "status": AgentStatus.CLOSED}
    return Agent(codex_id=codex_id, identity=identity, last_active=used, **(base | changes))  # type: ignore[arg-type]


def written(folder: Path, *agents: Agent) -> str:
    file = RegistryFile(str(folder))
    file.write(list(agents), file.next_revision())
    return str(folder)


def test_the_agent_that_was_used_last_is_meant_unless_one_runs(tmp_path: Path) -> None:
    older, newer = agent("codex:1", "arch", 1.0, thread_id="t1"), agent("codex:2", "arch", 2.0)
    folder = written(tmp_path, older, newer)
    for name, codex_id in (("arch", "codex:2"), ("codex:1", "codex:1"), ("t1", "codex:1")):
        assert find_agent(folder, name).codex_id == codex_id
    with pytest.raises(NotFound, match="there is no agent nobody in "):
        find_agent(folder, "nobody")


def test_a_name_of_several_that_run_is_refused_with_their_ids(tmp_path: Path) -> None:
    lock = NodeLock(str(tmp_path), "n")
    runs = {"status": AgentStatus.ACTIVE, "owner": Owner("n", 1, "here")}
    one, other = agent("codex:1", "arch", 1.0, **runs), agent("codex:2", "arch", 2.0, **runs | {"team": "blue"})
    folder = written(tmp_path, one, other, agent("codex:3", "arch", 3.0))
    with pytest.raises(Refused, match=r"arch names several agents: codex:2 \(team blue\), codex:1 \(team red\)"):
        find_agent(folder, "arch")
    lock.drop()  # its server is gone: both are stale
    assert find_agent(folder, "arch").codex_id == "codex:3"


def test_a_person_acts_for_the_principal_of_the_agent() -> None:
    caller = caller_of("close", {"ATM_IDENTITY": "mira"})
    assert (caller.program, caller.person) == ("codex-mcp close", "mira")
    assert caller_of("close", {}).person
    acts_for = for_agent(agent("codex:1", "arch", 1.0, principal="alice"), caller)
    assert (acts_for.principal, acts_for.person, acts_for.via) == ("alice", "mira", "codex-mcp close")
