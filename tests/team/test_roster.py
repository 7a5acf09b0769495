"""Members: what each is doing and where, and how they are found by any of their names."""

import subprocess
from pathlib import Path

from msgspec.structs import replace

from codex_mcp.base.settings.environments import EXEC_ENVIRONMENT
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.team.agent import AgentState
from codex_mcp.team.roster import NAMES_KEPT, Member, Roster
from tests.support.team.local_team import local_team
from tests.support.team.team_server import GATE
from tests.team.test_agent import agent


def member(number: int, **changes: object) -> Member:
    return Member(replace(agent(), codex_id=f"codex:{number}", thread_id=f"t-{number}", **changes))


def test_a_member_is_found_by_each_of_its_names_by_its_own_principal() -> None:
    roster, arch = Roster(), member(1, identity="arch")
    roster.add(arch)
    assert [roster.called(name, "local") for name in ("codex:1", "arch", "t-1", "other")] == [arch, arch, arch, None]
    assert roster.called("arch", "somebody") is None
    assert (roster.of_thread("t-1"), roster.of("local"), roster.of("somebody")) == (arch, [arch], [])
    assert (len(roster), arch in roster) == (1, True)


class Watched(Member):
    """Counts how often somebody asks for its thread."""

    looks = 0

    @property
    def thread_id(self) -> str | None:
        Watched.looks += 1
        return super().thread_id


def test_the_member_of_a_thread_is_searched_for_once() -> None:
    roster, members = Roster(), [Watched(member(number).agent) for number in range(100)]
    for each in members:
        roster.add(each)
    assert roster.of_thread("t-99") is members[99]
    Watched.looks = 0
    assert roster.of_thread("t-99") is members[99]
    assert Watched.looks == 1
    members[99].restore(replace(members[99].agent, thread_id="t-new"))
    members[98].restore(replace(members[98].agent, thread_id="t-99"))
    assert roster.of_thread("t-99") is members[98], "a thread that has passed to another agent"
    roster.remove(members[98])
    assert roster.of_thread("t-99") is None


def test_of_one_that_is_gone_the_names_are_known_for_a_while() -> None:
    roster = Roster()
    members = [member(number) for number in range(NAMES_KEPT + 1)]
    for each in members:
        roster.add(each)
        roster.remove(each)
    assert len(roster) == 0
    assert roster.names("t-0") == {}
    assert roster.names("t-1") == members[1].names


def test_one_that_another_server_has_taken_over_is_told_from_one_that_was_closed() -> None:
    roster, closed, taken = Roster(), member(1), member(2)
    for each in (closed, taken):
        roster.add(each)
    roster.remove(closed)
    roster.remove(taken, taken_over=True)
    assert [roster.was_taken_over(name) for name in ("t-1", "t-2", "t-3")] == [False, True, False]


def test_a_later_one_of_the_same_id_is_not_removed_by_the_end_of_the_earlier() -> None:
    roster, before, after = Roster(), member(1), member(1)
    roster.add(before)
    roster.add(after)
    roster.remove(before)
    assert after in roster


def test_one_that_is_being_started_is_busy() -> None:
    assert Member(agent()).state is AgentState.BUSY


async def test_its_state_is_that_of_its_thread(tmp_path: Path) -> None:
    async with local_team(tmp_path) as local:
        member = await local.start("arch")
        assert (member.state, member.record.thread_state) == (AgentState.IDLE, AgentState.IDLE)
        turn = await local.submit(member, GATE)
        await local.model.wait_for_gate("gate")
        assert (member.state, member.record.thread_state) == (AgentState.BUSY, AgentState.BUSY)
        local.model.release("gate")
        await turn.wait()
        assert member.state is AgentState.IDLE
        assert member.names == {"codex_id": member.agent.codex_id, "identity": "arch", "team": "default"}


def repository(folder: Path, branch: str) -> Path:
    subprocess.run(["git", "init", "--quiet", "--initial-branch", branch, str(folder)], check=True)
    return folder


def test_an_agent_knows_its_repository_and_branch(tmp_path: Path) -> None:
    member = Member(replace(agent(), cwd=str(repository(tmp_path, "main"))))
    seen = member.update_surroundings()
    assert (seen.branch, member.agent.branch, member.agent.repo_root, member.told) == (
        "main",
        "main",
        str(tmp_path),
        seen,
    )


def test_a_folder_of_another_machine_is_not_looked_at(tmp_path: Path) -> None:
    spec = ThreadSpec(environment=EXEC_ENVIRONMENT)
    member = Member(replace(agent(), cwd=str(repository(tmp_path, "main")), spec=spec))
    assert member.update_surroundings().branch is None
