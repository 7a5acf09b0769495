import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.team.mail.claude_session import (
    LONGEST_SUMMARY,
    NO_SESSION,
    ClaudeSession,
    Wire,
    claude_session,
    letter,
    nudge,
    session_team,
    spoken,
)
from tests.support.team.session_team import SESSION_ID, SESSION_TEAM, TOKEN, VARIABLES

WIRE = Wire("/nowhere/claude.sock", TOKEN)


def test_the_variables_of_claude_code_name_its_team_and_its_socket() -> None:
    assert claude_session(VARIABLES) == ClaudeSession(SESSION_TEAM, WIRE)
    assert claude_session({"CLAUDE_CODE_SESSION_ID": SESSION_ID}) == ClaudeSession(SESSION_TEAM)


@pytest.mark.parametrize("missing", ["CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"])
def test_without_socket_or_token_there_is_only_the_team(missing: str) -> None:
    assert claude_session(VARIABLES | {missing: ""}) == ClaudeSession(SESSION_TEAM)


@pytest.mark.parametrize("session_id", ["", "abc", "../../x", SESSION_ID[:-1], SESSION_ID.upper()])
def test_what_is_no_session_id_is_ignored(session_id: str) -> None:
    assert claude_session(VARIABLES | {"CLAUDE_CODE_SESSION_ID": session_id}) == NO_SESSION


@pytest.mark.parametrize(
    ("session", "own", "found"),
    [
        (ClaudeSession("session-11111111"), "default", "session-11111111"),
        (ClaudeSession("session-11111111"), "session-22222222", "session-11111111"),
        (NO_SESSION, "session-22222222", "session-22222222"),
        (NO_SESSION, "session-2222222", None),
        (NO_SESSION, "default", None),
    ],
)
def test_the_team_of_claude_code(session: ClaudeSession, own: str, found: str | None) -> None:
    assert session_team(session, own) == found


def test_the_token_is_not_shown() -> None:
    assert TOKEN not in repr(claude_session(VARIABLES))


@given(st.text(min_size=1), st.none() | st.text())
def test_a_nudge_has_one_line_for_each_message_whatever_an_agent_wrote(text: str, summary: str | None) -> None:
    short = letter("01", "dev", text, summary)
    assert len(short.summary) <= LONGEST_SUMMARY
    first, second, last = nudge([short, letter("02", "arch", "x", None)], "/inbox").splitlines()
    assert (first.endswith(" (message 01)."), second) == (True, 'Mail from arch: "x" (message 02).')
    assert last.endswith("/inbox.")
    auth, user = spoken(TOKEN, first).splitlines()
    assert json.loads(auth)["token"] == TOKEN
    assert json.loads(user)["message"]["content"] == first
