"""What a core says, for those who listen to it as it is."""

from typing import Any

from msgspec import Raw

from codex_mcp.codex.taps import LONGEST_ASKED, MOST_ASKED, MOST_COUNTED, TOKENS, Taps
from codex_mcp.wire.jsonrpc import Notification, Request


class Heard:
    """A tap."""

    def __init__(self) -> None:
        self.came: list[Any] = []

    def notified(self, message: Notification) -> None:
        """Keep it."""
        self.came.append(message.method)

    def core_gone(self) -> None:
        """Keep that, too."""
        self.came.append("gone")


def note(method: str) -> Notification:
    return Notification(method, Raw(b"{}"))


def request(number: int, method: str = "item/fileChange/requestApproval", params: bytes = b"{}") -> Request:
    return Request(number, method, Raw(params))


def test_each_hears_its_thread_until_it_stops() -> None:
    taps, one, two, other = Taps(), Heard(), Heard(), Heard()
    stop = taps.add("a", one)
    taps.add("a", two)
    stop_other = taps.add("b", other)
    taps.notified("a", note("x"))
    stop()
    stop_other()
    taps.notified("a", note("y"))
    taps.notified("b", note("z"))
    taps.gone()
    taps.notified("a", note("late"))
    assert (one.came, two.came, other.came) == (["x"], ["x", "y", "gone"], [])


def test_what_was_asked_can_be_found_except_our_own_tools_and_what_is_long() -> None:
    taps = Taps()
    taps.asked(request(1))
    taps.asked(request(2, "item/tool/call"))
    taps.asked(request(3, params=b'"' + b"x" * LONGEST_ASKED + b'"'))
    assert taps.find_asked(1) == request(1)
    assert [taps.find_asked(number) for number in (2, 3, None)] == [None, None, None]
    for number in range(10, 10 + MOST_ASKED):
        taps.asked(request(number))
    assert taps.find_asked(1) is None
    taps.gone()
    assert taps.find_asked(10) is None


def test_the_last_count_of_tokens_is_kept_for_so_many_threads() -> None:
    taps = Taps()
    taps.notified("a", note("turn/started"))
    assert taps.tokens("a") is None
    for number in range(MOST_COUNTED + 1):
        taps.notified(str(number), note(TOKENS))
    assert taps.tokens("0") is None
    assert taps.tokens("1") == note(TOKENS)
