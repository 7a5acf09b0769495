"""Whoever is told about the turns of a thread may take any kind of thread."""

from codex_mcp.threads.listener import TurnListener
from codex_mcp.threads.turn import Turn


class Counter:
    """Counts what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def turn_submitted(self, thread: object, turn: Turn) -> None:
        self.heard.append("submitted")

    def turn_concluded(self, thread: object, turn: Turn) -> None:
        self.heard.append("concluded")

    def turn_left(self, thread: object) -> None:
        self.heard.append("left")

    def question_decided(self, thread: object, turn: Turn, word: str) -> None:
        self.heard.append(word)


def test_a_listener_is_whatever_has_its_methods() -> None:
    counter = Counter()
    listener: TurnListener[str] = counter
    listener.turn_left("a thread")
    assert counter.heard == ["left"]
