"""Codes that work once, and sessions."""

from codex_mcp.dashboard.sessions import (
    CODE_SECONDS,
    IDLE_SECONDS,
    MOST_CODES,
    MOST_SEEN,
    MOST_SESSIONS,
    Person,
    Sessions,
)

MIRA = Person("mira")


def test_a_code_works_once_and_for_a_minute() -> None:
    sessions = Sessions()
    code = sessions.new_code(MIRA, 0)
    assert (len(code), code.isalpha(), code.islower()) == (8, True, True)
    session = sessions.enter(f" {code.upper()} ", "here", 1)
    assert session is not None
    assert session.person is MIRA
    assert sessions.enter(code, "here", 1) is None
    late = sessions.new_code(MIRA, 0)
    assert sessions.enter(late, "here", CODE_SECONDS) is None


def test_guessing_is_slowed_down_and_even_the_right_code_waits() -> None:
    sessions = Sessions()
    for _ in range(40):
        assert sessions.enter("aaaaaaaa", "here", 0) is None
    code = sessions.new_code(MIRA, 0)
    assert sessions.enter(code, "here", 0) is None
    assert sessions.enter(code, "elsewhere", 0) is not None


def test_a_session_ends_when_it_was_unused_for_half_a_day() -> None:
    sessions = Sessions()
    session = sessions.open(MIRA, 0)
    assert sessions.find(session.id, IDLE_SECONDS - 1) is session
    assert sessions.find(session.id, 2 * IDLE_SECONDS - 2) is session
    assert sessions.find(session.id, 4 * IDLE_SECONDS) is None
    assert not sessions.is_open(session)


def test_codes_and_sessions_are_limited_and_unlike() -> None:
    sessions = Sessions()
    codes = [sessions.new_code(MIRA, 0) for _ in range(MOST_CODES + 1)]
    assert len(set(codes)) == len(codes)
    assert sessions.enter(codes[0], "here", 0) is None
    opened = [sessions.open(MIRA, 0) for _ in range(MOST_SESSIONS + 1)]
    assert [sessions.is_open(each) for each in (opened[0], opened[1])] == [False, True]
    sessions.end(opened[1])
    assert sessions.find(opened[1].id, 0) is None
    assert len({each.csrf for each in opened} | {each.id for each in opened}) == 2 * len(opened)


def test_a_form_is_ours_by_its_token() -> None:
    session = Sessions().open(MIRA, 0)
    assert session.sent_by_us(session.csrf)
    assert not session.sent_by_us("")
    assert not session.sent_by_us("é")


def test_a_principal_with_many_sessions_signs_nobody_else_out() -> None:
    sessions = Sessions()
    mira, bob = sessions.open(MIRA, 0), sessions.open(Person("bob", "bob"), 1)
    alices = [sessions.open(Person("alice", "alice"), 2 + number) for number in range(2 * MOST_SESSIONS)]
    assert sessions.is_open(mira)
    assert sessions.is_open(bob)
    assert [sessions.is_open(each) for each in alices[: MOST_SESSIONS + 2]] == [False] * (MOST_SESSIONS + 2)
    assert all(map(sessions.is_open, alices[MOST_SESSIONS + 2 :]))


def test_what_one_browser_has_seen_the_others_of_the_person_have_as_well() -> None:
    sessions = Sessions()
    phone, desktop, alice = (sessions.open(person, 0) for person in (MIRA, MIRA, Person("alice", "alice")))
    phone.see("codex:a", 1.0)
    assert (desktop.seen, alice.seen) == ({"codex:a": 1.0}, {})
    for number in range(MOST_SEEN):
        phone.see(f"codex:{number}", 2.0)
    assert (len(desktop.seen), "codex:a" in desktop.seen) == (MOST_SEEN, False)
