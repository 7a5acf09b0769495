"""Members by every name that they go by."""

from msgspec.structs import replace

from codex_mcp.team.member import Member
from codex_mcp.team.roster import NAMES_KEPT, Roster
from tests.team.test_agent import agent


def member(number: int, **changes: object) -> Member:
    return Member(replace(agent(), codex_id=f"codex:{number}", thread_id=f"t-{number}", **changes))


def test_a_member_is_found_by_each_of_its_names_by_its_own_principal() -> None:
    roster, arch = Roster(), member(1, identity="arch")
    roster.add(arch)
    assert [roster.called(name, "local") for name in ("codex:1", "arch", "t-1", "other")] == [arch, arch, arch, None]
    assert roster.called("arch", "somebody") is None
    assert (roster.of_thread("t-1"), roster.of("local"), roster.of("somebody")) == (arch, [arch], [])
    assert (len(roster), arch in roster, repr(roster)) == (1, True, "<Roster of 1>")


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
