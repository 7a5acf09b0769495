from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mail.message import IdKind, Message
from codex_mcp.mail.retention import DAY, RECENT, Retention, outdated

NOW = 1_800_000_000.0

MESSAGES = st.lists(
    st.builds(
        Message,
        id=st.uuids().map(str),
        id_kind=st.just(IdKind.CLAUDE),
        sender=st.just("a"),
        text=st.just("b"),
        sent_at=st.none() | st.floats(NOW - 60 * DAY, NOW + DAY),
        is_read=st.booleans(),
        is_ack_pending=st.booleans(),
    )
)


def message(number: int, age: float | None, *, is_read: bool = True) -> Message:
    sent_at = None if age is None else NOW - age
    return Message(id=str(number), id_kind=IdKind.CLAUDE, sender="a", text="b", sent_at=sent_at, is_read=is_read)


def test_the_oldest_go_first() -> None:
    messages = [message(number, 2 * DAY) for number in range(5)]
    assert [gone.id for gone in outdated(messages, Retention(keep=3), NOW)] == ["0", "1"]


def test_what_is_too_old_goes() -> None:
    messages = [message(1, 31 * DAY), message(2, 29 * DAY), message(3, None)]
    assert [gone.id for gone in outdated(messages, Retention(), NOW)] == ["1"]


@given(MESSAGES, st.integers(0, 10), st.floats(0, 100))
def test_what_is_unread_unanswered_or_recent_stays(messages: list[Message], keep: int, days: float) -> None:
    for gone in outdated(messages, Retention(keep, days), NOW):
        assert gone.is_read
        assert not gone.is_ack_pending
        assert gone.sent_at is None or gone.sent_at <= NOW - RECENT
