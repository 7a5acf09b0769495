"""Routes: which frame goes where, who owns a stream, and what happens when an end breaks off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import Ack, Body, Data, Frame, Handshake, Reset, Resume, decode, encode
from codex_mcp.rendezvous.routes import (
    GONE,
    HELD,
    MAX_REFUSED,
    MAX_SOCKET_STREAMS,
    MAX_STREAMS,
    NOT_REACHABLE,
    TOO_MANY,
    UNKNOWN,
    Outgoing,
    Routes,
    StreamOwner,
)

EXECUTOR, HARNESS, OTHER = 1, 2, 3
ALICE, BOB = StreamOwner("alice", "sha256:a"), StreamOwner("bob", "sha256:b")


def frame(body: Body, stream_id: str = "s", ack: int = 0) -> bytes:
    return encode(Frame(stream_id, body, ack))


def joined(*, acknowledging: bool = False) -> Routes:
    """A stream of alice's, from end to end."""
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    routes.harness_arrived(HARNESS, "r", ALICE)
    for body in (Resume(0), Handshake(b"1")):
        assert routes.from_harness(HARNESS, frame(body)) == [Outgoing(EXECUTOR, frame(body))]
    assert routes.from_executor("r", frame(Handshake(b"2")), 0) == [Outgoing(HARNESS, frame(Handshake(b"2")))]
    if acknowledging:
        routes.from_harness(HARNESS, frame(Resume(0)))
        routes.from_executor("r", frame(Resume(0)), 0)
    return routes


def resets(outgoing: list[Outgoing]) -> list[tuple[int, Body]]:
    return [(each.socket, decode(each.frame).body) for each in outgoing]


def test_frames_pass_unchanged_in_both_directions() -> None:
    routes = joined()
    data = frame(Data(0, b"sealed")) + b"\x5a\x01t"
    assert routes.from_harness(HARNESS, data) == [Outgoing(EXECUTOR, data)]
    assert routes.from_executor("r", data, 0) == [Outgoing(HARNESS, data)]
    assert (routes.count(), routes.counts()) == (1, {"r": 1})


def test_what_is_not_a_frame_is_an_error() -> None:
    routes = joined()
    with pytest.raises(RelayError):
        routes.from_harness(HARNESS, b"x")
    with pytest.raises(RelayError):
        routes.from_executor("r", b"x", 0)


def test_another_principal_cannot_touch_a_stream() -> None:
    routes = joined()
    routes.harness_arrived(OTHER, "r", BOB)
    for body in (Data(0, b"x"), Resume(3), Handshake(b"1")):
        assert resets(routes.from_harness(OTHER, frame(body))) == [(OTHER, Reset(UNKNOWN))]
    assert routes.from_harness(OTHER, frame(Reset("mine"))) == []
    assert routes.from_executor("r", frame(Data(0, b"x")), 0)[0].socket == HARNESS
    assert routes.harness_left(OTHER, 0) == []


def test_a_stream_begins_with_resume_or_handshake_and_an_executor() -> None:
    routes = joined()
    assert resets(routes.from_harness(HARNESS, frame(Data(0, b"x"), "new"))) == [(HARNESS, Reset(UNKNOWN))]
    assert resets(routes.from_executor("r", frame(Data(0, b"x"), "new"), 0)) == [(EXECUTOR, Reset(UNKNOWN))]
    assert routes.from_executor("r", frame(Reset("x"), "new"), 0) == []
    assert routes.from_executor("elsewhere", frame(Data(0, b"x")), 0) == []
    routes.harness_arrived(OTHER, "elsewhere", ALICE)
    assert resets(routes.from_harness(OTHER, frame(Resume(0)))) == [(OTHER, Reset(NOT_REACHABLE))]


def test_the_number_of_streams_is_limited() -> None:
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    for number in range(MAX_STREAMS):
        socket = 10 + number // MAX_SOCKET_STREAMS
        if number % MAX_SOCKET_STREAMS == 0:
            routes.harness_arrived(socket, "r", ALICE)
        assert routes.from_harness(socket, frame(Resume(0), f"s{number}"))[0].socket == EXECUTOR
    assert resets(routes.from_harness(10, frame(Resume(0), "more"))) == [(10, Reset(TOO_MANY))]
    for number in range(MAX_STREAMS):
        routes.from_executor("r", frame(Handshake(b"2"), f"s{number}"), 0)
    routes.harness_arrived(OTHER, "r", ALICE)
    assert resets(routes.from_harness(OTHER, frame(Resume(0), "more"))) == [(OTHER, Reset(TOO_MANY))]


@pytest.mark.parametrize("are_answered", [True, False])
def test_a_principal_that_has_taken_all_streams_gives_one_up_for_another(*, are_answered: bool) -> None:
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    for number in range(MAX_STREAMS):
        socket = 10 + number // MAX_SOCKET_STREAMS
        if number % MAX_SOCKET_STREAMS == 0:
            routes.harness_arrived(socket, "r", ALICE)
        routes.from_harness(socket, frame(Resume(0), f"s{number}"))
        if are_answered or number != 3:
            routes.from_executor("r", frame(Handshake(b"2"), f"s{number}"), 0)
    routes.harness_arrived(OTHER, "r", BOB)
    gone = "s0" if are_answered else "s3"
    first, second, third = routes.from_harness(OTHER, frame(Resume(0), "bobs"))
    ended = [(each.socket, decode(each.frame).stream_id, decode(each.frame).body) for each in (first, second)]
    assert ended == [(10, gone, Reset(TOO_MANY)), (EXECUTOR, gone, Reset(TOO_MANY))]
    assert (third.socket, decode(third.frame).stream_id) == (EXECUTOR, "bobs")
    assert routes.count() == MAX_STREAMS


def test_a_stream_that_the_executor_does_not_answer_ends_in_time() -> None:
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    routes.harness_arrived(HARNESS, "r", ALICE)
    for stream_id in ("s", "answered"):
        routes.from_harness(HARNESS, frame(Resume(0), stream_id))
    assert routes.expire(0) == []
    routes.from_executor("r", frame(Handshake(b"2"), "answered"), 1)
    assert resets(routes.expire(HELD)) == [(HARNESS, Reset(GONE)), (EXECUTOR, Reset(GONE))]
    assert routes.counts() == {"r": 1}


@pytest.mark.parametrize("by_executor", [True, False])
def test_a_reset_passes_and_ends_the_stream(*, by_executor: bool) -> None:
    routes = joined()
    reset = frame(Reset("over"))
    passed = routes.from_executor("r", reset, 0) if by_executor else routes.from_harness(HARNESS, reset)
    assert passed == [Outgoing(HARNESS if by_executor else EXECUTOR, reset)]
    assert routes.count() == 0


def test_a_socket_ends_with_the_last_refused_stream_and_those_that_were_answered_do_not_count() -> None:
    routes = joined()
    assert not routes.from_executor("r", frame(Reset("over")), 0)[0].is_last
    refusals = []
    for number in range(MAX_REFUSED):
        routes.from_harness(HARNESS, frame(Handshake(b"1"), str(number)))
        refusals += routes.from_executor("r", frame(Reset("no"), str(number)), 0)
    assert [each.is_last for each in refusals] == [False] * (MAX_REFUSED - 1) + [True]


def test_without_acknowledgements_the_other_end_gets_a_reset() -> None:
    assert resets(joined().harness_left(HARNESS, 0)) == [(EXECUTOR, Reset(GONE))]
    routes = joined()
    assert resets(routes.executor_left("r", EXECUTOR, 0)) == [(HARNESS, Reset(GONE))]
    assert routes.counts() == {}


def test_with_acknowledgements_a_harness_returns_on_another_socket() -> None:
    routes = joined(acknowledging=True)
    assert routes.harness_left(HARNESS, 0) == []
    assert routes.from_executor("r", frame(Data(0, b"lost")), 0) == []
    routes.harness_arrived(OTHER, "r", ALICE)
    assert routes.from_harness(OTHER, frame(Resume(4)))[0].socket == EXECUTOR
    assert routes.expire(HELD + 1) == []
    assert routes.from_executor("r", frame(Data(0, b"again")), 0)[0].socket == OTHER


def test_a_harness_may_return_before_its_old_socket_is_noticed() -> None:
    routes = joined(acknowledging=True)
    routes.harness_arrived(OTHER, "r", ALICE)
    routes.from_harness(OTHER, frame(Resume(4)))
    assert routes.harness_left(HARNESS, 0) == []
    assert routes.from_executor("r", frame(Ack()), 0)[0].socket == OTHER


def test_with_acknowledgements_an_executor_returns() -> None:
    routes = joined(acknowledging=True)
    assert routes.executor_left("r", EXECUTOR, 0) == []
    assert routes.from_harness(HARNESS, frame(Data(0, b"lost"))) == []
    routes.executor_arrived("r", OTHER)
    assert routes.executor_left("r", EXECUTOR, 1) == []
    assert routes.expire(HELD + 1) == []
    assert routes.from_harness(HARNESS, frame(Data(0, b"again")))[0].socket == OTHER
    assert routes.executor_socket("r") == OTHER


def test_an_end_that_does_not_return_is_given_up() -> None:
    routes = joined(acknowledging=True)
    routes.harness_left(HARNESS, 5)
    assert routes.expire(5 + HELD - 1) == []
    assert resets(routes.expire(5 + HELD)) == [(EXECUTOR, Reset(GONE))]
    routes = joined(acknowledging=True)
    routes.executor_left("r", EXECUTOR, 5)
    routes.harness_left(HARNESS, 6)
    routes.harness_arrived(OTHER, "r", ALICE)
    routes.from_harness(OTHER, frame(Resume(0)))
    assert resets(routes.expire(6 + HELD)) == [(OTHER, Reset(GONE))]
    assert routes.counts() == {}


def test_streams_of_an_executor_that_was_replaced_end_at_once() -> None:
    routes = joined(acknowledging=True)
    assert resets(routes.abandoned("r")) == [(HARNESS, Reset(GONE))]
    assert routes.abandoned("r") == []
    assert routes.executor_left("r", EXECUTOR, 0) == []
    assert routes.harness_left(HARNESS, 0) == []


def test_after_a_restart_of_the_rendezvous_both_ends_find_each_other_again() -> None:
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    assert routes.from_executor("r", frame(Resume(7)), 0) == []
    routes.harness_arrived(HARNESS, "r", ALICE)
    routes.harness_arrived(OTHER, "r", BOB)
    assert resets(routes.from_harness(OTHER, frame(Data(0, b"x")))) == [(OTHER, Reset(UNKNOWN))]
    assert routes.from_harness(HARNESS, frame(Resume(5)))[0].socket == EXECUTOR
    assert resets(routes.from_harness(OTHER, frame(Resume(5)))) == [(OTHER, Reset(UNKNOWN))]
    assert routes.expire(HELD + 1) == []
    assert routes.from_executor("r", frame(Data(7, b"x")), 1)[0].socket == HARNESS


def test_a_harness_that_is_away_when_its_executor_returns_keeps_its_time() -> None:
    routes = joined(acknowledging=True)
    routes.harness_left(HARNESS, 0)
    routes.executor_left("r", EXECUTOR, 1)
    routes.executor_arrived("r", OTHER)
    assert resets(routes.expire(1 + HELD)) == [(OTHER, Reset(GONE))]


def test_a_stream_that_only_its_executor_resumes_is_given_up() -> None:
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    routes.from_executor("r", frame(Resume(7)), 0)
    routes.executor_arrived("r", OTHER)
    assert resets(routes.expire(HELD)) == [(OTHER, Reset(GONE))]


events = st.tuples(
    st.sampled_from(["harness", "executor", "leave", "arrive", "gone", "back", "expire"]), st.integers(0, 3)
)


@given(st.lists(events, max_size=60))
def test_a_frame_only_ever_reaches_its_owner(life: list[tuple[str, int]]) -> None:  # noqa: C901
    """Four harnesses, two of each principal, use the same four stream ids in any order."""
    routes = Routes()
    routes.executor_arrived("r", EXECUTOR)
    here: dict[int, int] = {}
    owners: dict[int, StreamOwner] = {}
    is_there = True
    for now, (event, number) in enumerate(life):
        outgoing: list[Outgoing] = []
        match event:
            case "arrive" if number not in here:
                here[number] = socket = 10 + now
                owners[socket] = ALICE if number % 2 else BOB
                routes.harness_arrived(socket, "r", owners[socket])
            case "leave" if number in here:
                outgoing = routes.harness_left(here.pop(number), now)
            case "harness" if number in here:
                mine = f"{owners[here[number]].principal}-{now % 3}"
                outgoing = routes.from_harness(here[number], frame(Resume(0), mine))
                foreign = f"{'bob' if number % 2 else 'alice'}-{now % 3}"
                assert resets(routes.from_harness(here[number], frame(Data(0, b"x"), foreign))) == [
                    (here[number], Reset(UNKNOWN))
                ]
            case "executor":
                for name in ("alice", "bob"):
                    outgoing += routes.from_executor("r", frame(Ack(), f"{name}-{number}"), 0)
            case "gone" if is_there:
                outgoing, is_there = routes.executor_left("r", EXECUTOR, now), False
            case "back" if not is_there:
                routes.executor_arrived("r", EXECUTOR)
                is_there = True
            case "expire":
                outgoing = routes.expire(now * 10)
        for each in outgoing:
            owner = decode(each.frame).stream_id.partition("-")[0]
            assert each.socket == EXECUTOR or owners[each.socket].principal == owner
            assert each.socket == EXECUTOR or each.socket in here.values()
    for socket in here.values():
        routes.harness_left(socket, len(life))
    if is_there:
        routes.executor_left("r", EXECUTOR, len(life))
    routes.expire(len(life) * 10 + HELD)
    assert not any(vars(routes).values()), "something is kept of ends that are gone"
