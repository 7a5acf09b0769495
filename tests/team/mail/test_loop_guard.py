"""The turns that mail began survive a restart, and count as if there had been none."""

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from codex_mcp.mail.address import Address
from codex_mcp.mail.delivery.loop_protection import Budget, MailTurn, MailVerdict, Traffic, verdict
from codex_mcp.team.mail.loop_guard import TrafficLog
from tests.support.mail.folders import ALICE, BOB, CAROL, opened

BUDGET = Budget(hops=4, per_pair=3, per_agent=5, window=100.0)
STRANGE = Address("\ud800@'\"\n", "beta")

AGENTS = st.sampled_from([ALICE, BOB, CAROL])
SENDERS = st.frozensets(st.sampled_from([ALICE, BOB, CAROL, STRANGE]), min_size=1)
ASKED = st.tuples(st.floats(0, 90), AGENTS, SENDERS, st.booleans())


@settings(max_examples=25, deadline=None)
@given(st.lists(ASKED, max_size=20))
def test_with_restarts_the_same_turns_are_allowed_as_without(
    asked: list[tuple[float, Address, frozenset[Address], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_compare(Path(folder), asked))


async def _compare(folder: Path, asked: list[tuple[float, Address, frozenset[Address], bool]]) -> None:
    """Each of them comes some time after the one before; some servers end after it."""
    remembered: Traffic = ()
    now, waiting = 0.0, list(asked)
    while waiting:
        async with opened(folder) as store:
            log, is_over = TrafficLog(store.database, BUDGET), False
            while waiting and not is_over:
                later, agent, senders, is_over = waiting.pop(0)
                now += later
                turn = MailTurn(now, agent, senders)
                found = verdict(await log.traffic(), turn, 0, BUDGET)
                assert found is verdict(remembered, turn, 0, BUDGET)
                if found is MailVerdict.ALLOWED:
                    remembered = (*remembered, turn)
                    await log.add(turn)


async def test_what_is_older_than_the_window_is_removed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        log = TrafficLog(store.database, BUDGET)
        for at in (1.0, 50.0, 101.0):
            await log.add(MailTurn(at, ALICE, frozenset({BOB})))
        assert [turn.at for turn in await log.traffic()] == [50.0, 101.0]


async def test_the_lead_is_told_once_in_a_window_also_by_the_next_server(tmp_path: Path) -> None:
    told = []
    for at in (10.0, 60.0, 110.0):
        async with opened(tmp_path) as store:
            log = TrafficLog(store.database, BUDGET)
            told.append((await log.begin_notice(ALICE, at), await log.begin_notice(ALICE, at + 1)))
    assert told == [(True, False), (False, False), (True, False)]
