"""Why a message waits, in words."""

import pytest

from codex_mcp.mail.delivery.loop_protection import IDLE_NOTICE, MailVerdict
from codex_mcp.team.mail.waiting import HELD, Recipient, why_waiting


@pytest.mark.parametrize(
    ("to", "kind", "held", "why"),
    [
        (Recipient(), None, None, ""),
        (Recipient(busy=True), None, None, "it is busy"),
        (Recipient(busy=True, paused="5 of 5 turns"), None, None, "it is paused: 5 of 5 turns"),
        (Recipient(wants=False, busy=True), None, MailVerdict.PAIR_EXHAUSTED, "auto_mail is off for it"),
        (Recipient(closing=True, wants=False), None, None, "it is being closed"),
        (Recipient(), IDLE_NOTICE, None, "an idle notice goes with the next message"),
        *((Recipient(busy=True), None, verdict, sentence) for verdict, sentence in HELD.items()),
    ],
)
def test_what_has_to_change_first_is_said(to: Recipient, kind: str | None, held: MailVerdict | None, why: str) -> None:
    assert why_waiting(to, kind, held) == why


def test_each_way_to_be_held_back_has_its_sentence() -> None:
    assert set(HELD) == set(MailVerdict) - {MailVerdict.ALLOWED}
