import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.sessions import AlreadyAttached, Sessions, UnknownSession


def test_a_session_is_resumed_by_the_next_connection() -> None:
    sessions: Sessions[str] = Sessions(30)
    sessions.open("id", "session", holder=1)
    assert sessions.detach("id", 1, now=0) == "session"
    assert sessions.resume("id", 2) == "session"
    assert sessions.expire(now=1000) == []


def test_nobody_takes_over_a_session_that_is_held() -> None:
    sessions: Sessions[str] = Sessions(30)
    sessions.open("id", "session", holder=1)
    with pytest.raises(AlreadyAttached):
        sessions.resume("id", 2)


def test_an_old_connection_cannot_detach_a_new_one() -> None:
    sessions: Sessions[str] = Sessions(30)
    sessions.open("id", "session", holder=1)
    sessions.detach("id", 1, now=0)
    sessions.resume("id", 2)
    assert sessions.detach("id", 1, now=1) is None
    assert sessions.detach("other", 1, now=1) is None
    with pytest.raises(AlreadyAttached):
        sessions.resume("id", 3)


def test_a_session_that_nobody_came_back_for_is_forgotten() -> None:
    sessions: Sessions[str] = Sessions(30)
    sessions.open("id", "session", holder=1)
    sessions.detach("id", 1, now=0)
    assert sessions.expire(now=29.9) == []
    assert sessions.expire(now=30) == ["session"]
    with pytest.raises(UnknownSession):
        sessions.resume("id", 2)
    assert len(sessions) == 0


@given(st.lists(st.tuples(st.sampled_from(["resume", "detach", "expire"]), st.integers(1, 3), st.integers(0, 40))))
def test_there_is_never_more_than_one_holder(steps: list[tuple[str, int, int]]) -> None:
    sessions: Sessions[str] = Sessions(30)
    sessions.open("id", "session", holder=1)
    holder: int | None = 1
    now = 0
    for step, who, later in steps:
        now += later
        if step == "detach":
            left = sessions.detach("id", who, now) is not None
            assert left == (holder == who)
            holder = None if left else holder
        elif step == "expire":
            assert not (sessions.expire(now) and holder is not None)
        else:
            try:
                sessions.resume("id", who)
            except AlreadyAttached:
                assert holder is not None
            except UnknownSession:
                assert holder is None
            else:
                assert holder is None
                holder = who
    assert sessions.all() == (["session"] if len(sessions) else [])
