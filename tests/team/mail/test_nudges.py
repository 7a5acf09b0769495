import socket
from pathlib import Path

import pytest

from codex_mcp.team.mail import nudges
from codex_mcp.team.mail.claude_session import Letter, Wire
from codex_mcp.team.mail.nudges import MOST, Nudges
from tests.support.mail.folders import until
from tests.support.team.session_team import TOKEN, SessionSocket, session_socket


class Inbox:
    """The ids in the lead's inbox, and how often it was looked into."""

    def __init__(self, *ids: str) -> None:
        self.ids = frozenset(ids)
        self.looks = 0

    async def unread(self) -> frozenset[str]:
        self.looks += 1
        return self.ids


def made(path: Path, inbox: Inbox) -> Nudges:
    return Nudges(Wire(str(path), TOKEN), lambda: "/inbox", inbox.unread, delay=0)


def lines(listening: SessionSocket) -> list[str]:
    return [line for _auth, user in listening.said for line in user["message"]["content"].splitlines()[:-1]]


async def test_only_what_is_still_there_is_told_and_each_message_once(tmp_path: Path) -> None:
    inbox = Inbox("1", "3")
    async with session_socket(tmp_path / "s") as listening:
        told = made(listening.path, inbox)
        for number in "123":
            told.mail_sent(Letter(number, "dev", "hello"))
        await listening.until(lambda: len(listening.said) == 1)
        assert lines(listening) == [f'Mail from dev: "hello" (message {number}).' for number in "13"]
        inbox.ids = frozenset("5")
        await until(lambda: inbox.looks == 1)
        told.mail_sent(Letter("4", "dev", "read at once"))
        await until(lambda: inbox.looks == 2)
        told.mail_sent(Letter("5", "dev", "again"))
        await listening.until(lambda: len(listening.said) == 2)
        assert lines(listening)[2:] == ['Mail from dev: "again" (message 5).']
        await told.aclose()


async def test_of_many_messages_the_newest_are_told(tmp_path: Path) -> None:
    async with session_socket(tmp_path / "s") as listening:
        told = made(listening.path, Inbox(*map(str, range(50))))
        for number in range(50):
            told.mail_sent(Letter(str(number), "dev", "x"))
        await listening.until(lambda: bool(listening.said))
        assert len(lines(listening)) == MOST
        assert "(message 49)" in lines(listening)[-1]
        await told.aclose()


async def test_a_socket_that_fails_is_logged_once_and_without_the_token(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox("1", "2")
    told = made(tmp_path / "missing", inbox)
    for number in (1, 2):
        told.mail_sent(Letter(str(number), "dev", "x"))
        await until(lambda number=number: inbox.looks == number)  # type: ignore[misc]
    await until(lambda: "cannot nudge Claude Code" in caplog.text)
    await told.aclose()
    assert caplog.text.count("cannot nudge Claude Code") == 1
    assert TOKEN not in caplog.text


async def test_a_socket_that_never_answers_does_not_hold_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nudges, "PATIENCE", 0.01)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen()
        told = made(tmp_path / "s", Inbox("1"))
        told.mail_sent(Letter("1", "dev", "x"))
        await until(lambda: "cannot nudge Claude Code" in caplog.text)
        await told.aclose()


async def test_without_a_socket_nothing_happens() -> None:
    inbox = Inbox("1")
    told = Nudges(None, lambda: "/inbox", inbox.unread, delay=0)
    told.mail_sent(Letter("1", "dev", "x"))
    await told.aclose()
    assert inbox.looks == 0
