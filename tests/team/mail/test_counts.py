from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.team.mail.counts import SECONDS, CountKind, MailCounts

ARCH, DEV, ABROAD = Address("arch", "home"), Address("dev", "home"), Address("arch", "session-1")


def test_what_is_counted_is_told_by_team_and_to_each_principal_alone() -> None:
    counts = MailCounts()
    counts.add(ARCH, "alice", CountKind.OFFERED, 2)
    counts.add(ABROAD, "alice", CountKind.OFFERED, 1)
    counts.add(DEV, "bob", CountKind.OFFERED, 4)
    assert (counts.total("home", CountKind.OFFERED), counts.total("session-1", CountKind.OFFERED)) == (6, 1)
    assert counts.teams == ["home", "session-1"]
    assert (counts.of("alice")["offered"], counts.of("bob")["offered"], counts.of("carol")["offered"]) == (3, 4, 0)
    assert set(counts.of("carol")) == {*CountKind, "seconds_to_turn"}


def test_a_message_that_stays_held_back_is_counted_once() -> None:
    counts = MailCounts()
    for ids in (["a"], ["a", "b"], ["b"], []):
        counts.held(ARCH, "alice", ids)
    assert counts.total("home", CountKind.HELD_BACK) == 2
    counts.held(ARCH, "alice", ["a"])
    assert counts.total("home", CountKind.HELD_BACK) == 3, "held back again after it was free"


def test_without_mail_there_are_no_times() -> None:
    assert MailCounts().of("alice")["seconds_to_turn"] == {}


@given(st.lists(st.floats(-10, 10_000), min_size=1, max_size=20))
def test_times_are_summed_and_sorted_into_growing_buckets(times: list[float]) -> None:
    counts = MailCounts()
    for seconds in times:
        counts.waited(ARCH, "alice", seconds)
    waits, real = counts.waits("home"), [max(0.0, each) for each in times]
    assert waits.buckets == (*(sum(each <= limit for each in real) for limit in SECONDS), len(times))
    assert abs(waits.total - sum(real)) < 1e-6 * len(times) * 10_000
    assert waits.longest == max(real)
    assert counts.of("alice")["seconds_to_turn"] == {
        "mean": round(waits.total / len(times), 3),
        "longest": round(max(real), 3),
    }
