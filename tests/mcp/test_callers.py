"""Who uses a server, as `codex-mcp status` lists it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.callers import LATELY, MOST, RecentClients, WhoCalls

WHOS = st.builds(WhoCalls, st.sampled_from(["", "ann"]), st.sampled_from(["claude-code", "x"]), st.just("1"))
EVENTS = st.lists(st.tuples(st.sampled_from(["opened", "closed", "called", "later"]), WHOS), max_size=40)


@given(EVENTS)
def test_every_client_is_listed_with_its_open_sessions_or_while_it_has_called_lately(
    events: list[tuple[str, WhoCalls]],
) -> None:
    callers, now = RecentClients(), 0.0
    open_sessions: Counter[WhoCalls] = Counter()
    called: dict[WhoCalls, float] = {}
    for name, who in events:
        match name:
            case "opened":
                callers.opened(who)
                open_sessions[who] += 1
            case "closed" if open_sessions[who]:
                callers.closed(who)
                open_sessions[who] -= 1
            case "called":
                callers.called(who, now)
                called[who] = now
            case "later":
                now += LATELY / 3
    lately = {who for who, at in called.items() if now - at < LATELY}
    expected = {(who.principal, who.name): max(open_sessions[who], who in lately) for who in {*open_sessions, *lately}}
    for principal in (None, "", "ann"):
        seen = {(each.principal, each.name): each.sessions for each in callers.seen(principal, now)}
        assert seen == {key: count for key, count in expected.items() if count and principal in (None, key[0])}


def test_names_that_clients_choose_fill_nothing() -> None:
    callers = RecentClients()
    for number in range(MOST + 5):
        callers.called(WhoCalls("", f"{number}" + "x" * 10_000, "1"), 0.0)
    seen = callers.seen(None, 0.0)
    assert len(seen) == MOST
    assert max(len(each.name) for each in seen) == 100
