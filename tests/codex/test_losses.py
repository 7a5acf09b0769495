"""Turns that a rollout file has lost, whatever was cut out of it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.codex.losses import TurnsKept
from codex_mcp.wire.app.history import StoredTurn

LINES_OF_A_TURN = 5


def line(ordinal: int, kind: str, **payload: object) -> bytes:
    return msgspec.json.encode({"ordinal": ordinal, "type": kind, "payload": payload}) + b"\n"


def turn_id(number: int, milliseconds: int = 0) -> str:
    return f"{milliseconds >> 16:08x}-{milliseconds & 0xFFFF:04x}-7000-8000-{number:012d}"


def lines_of(turns: int, **head: object) -> list[bytes]:
    """A file with so many turns of five lines each, after its first line."""
    lines = [line(0, "session_meta", history_mode="paginated", **head)]
    for number in range(turns):
        at = 1 + number * LINES_OF_A_TURN
        lines += [
            line(at, "event_msg", type="task_started", turn_id=turn_id(number)),
            line(at + 1, "turn_context", turn_id=turn_id(number)),
            line(at + 2, "response_item", type="message", role="user"),
            line(at + 3, "response_item", type="message", role="assistant"),
            line(at + 4, "event_msg", type="task_complete", turn_id=turn_id(number), last_agent_message="x"),
        ]
    return lines


def read(lines: list[bytes]) -> TurnsKept:
    kept = TurnsKept()
    for each in lines:
        kept.read(each)
    return kept


def recorded(turns: int, status: str = "completed") -> list[StoredTurn]:
    return [StoredTurn(turn_id(number), status) for number in reversed(range(turns))]


def lost(kept: TurnsKept, turns: int) -> int:
    found = kept.loss(recorded(turns))
    return 0 if found is None else found.lost


@given(st.integers(0, 8), st.data())
def test_every_turn_that_misses_a_line_is_lost_and_no_other(turns: int, data: st.DataObject) -> None:
    lines = lines_of(turns)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    touched = {(at - 1) // LINES_OF_A_TURN for at in range(first, last)}
    assert lost(read(lines[:first] + lines[last:]), turns) == len(touched)
    spoiled = [b"\xff\0\n" if first <= at < last else each for at, each in enumerate(lines)]
    assert lost(read(spoiled), turns) == len(touched)


@given(st.integers(1, 8), st.data())
def test_what_is_cut_at_any_byte_is_lost_from_there_on(turns: int, data: st.DataObject) -> None:
    lines = lines_of(turns)
    whole = b"".join(lines)
    at = data.draw(st.integers(len(lines[0]), len(whole)))
    ends = [len(b"".join(lines[: 1 + (number + 1) * LINES_OF_A_TURN])) - 1 for number in range(turns)]
    assert lost(read(whole[:at].splitlines(keepends=True)), turns) == sum(end > at for end in ends)


def test_a_line_that_is_half_written_before_the_next_turn_costs_no_other_turn() -> None:
    lines = lines_of(2)
    torn = line(6, "event_msg", type="task_started", turn_id="killed")[:30] + b"\n"
    assert lost(read([*lines[:6], torn, *lines[6:]]), 2) == 0


def test_a_line_that_is_too_long_to_be_read_is_not_missing() -> None:
    kept = TurnsKept()
    for at, each in enumerate(lines_of(2)):
        kept.skip() if at in (4, 5) else kept.read(each)
    assert lost(kept, 2) == 0


def test_a_turn_that_did_not_complete_needs_only_its_beginning() -> None:
    kept = read(lines_of(1)[:3])
    assert kept.loss(recorded(1, "interrupted")) is None
    assert kept.loss(recorded(1, "inProgress")) is None
    assert kept.loss(recorded(2, "interrupted")) is not None


def test_turns_of_the_file_that_this_one_continues_are_not_looked_for() -> None:
    begun = "2026-11-18T13:50:33.687Z"
    kept = read(lines_of(0, history_base={"thread_id": "t"}, timestamp=begun))
    before, after = 1795009833687 - 1, 1795009833687 + 1
    assert kept.loss([StoredTurn(turn_id(1, before), "completed")]) is None
    found = kept.loss([StoredTurn(turn_id(2, after), "completed"), StoredTurn(turn_id(1, before), "completed")])
    assert found is not None
    assert (found.lost, found.recorded, found.is_total) == (1, 2, False)


def test_without_an_index_nothing_is_lost() -> None:
    assert read([line(0, "session_meta", history_mode="legacy")]).loss(recorded(3)) is None
    assert read([b'{"id":"0.42.0","instructions":null}\n']).loss(recorded(3)) is None
    assert (
        read([line(0, "session_meta", history_mode="paginated", history_base={}, timestamp="?")]).loss(recorded(3))
        is None
    )


def test_the_texts_are_in_the_singular_and_in_the_plural() -> None:
    kept = read(lines_of(0))
    one, two = kept.loss(recorded(1)), kept.loss(recorded(2))
    assert one is not None
    assert two is not None
    assert "(1), 1 is missing" in one.for_caller
    assert "(2), 2 are missing" in two.for_caller
    assert "(1), 1 is missing" in one.for_agent


@given(st.integers(1, 8), st.data())
def test_the_last_turn_was_interrupted_unless_its_completion_is_there(turns: int, data: st.DataObject) -> None:
    lines = lines_of(turns)
    at = data.draw(st.integers(1, len(lines)))
    assert read(lines[:at]).was_interrupted == ((at - 1) % LINES_OF_A_TURN > 0)
    stopped = [*lines[:-1], line(len(lines) - 1, "event_msg", type="turn_aborted", turn_id=turn_id(turns - 1))]
    assert read(stopped).was_interrupted


def test_a_line_that_was_not_read_may_be_the_completion() -> None:
    kept = read(lines_of(2)[:-1])
    kept.skip()
    assert not kept.was_interrupted
