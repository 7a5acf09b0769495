import json
import os
from pathlib import Path

import pytest

from codex_mcp.mail import inbox_file
from codex_mcp.mail.files import records
from codex_mcp.mail.files.json_text import value_at
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.inbox_file import MOST_KEPT, Inboxes, read_inbox
from codex_mcp.mail.message import Message, message_of
from tests.support.mail.folders import ALICE, BOB, make_team

RECORD = '{"from": "alice", "text": "hello", "metadata": {"atm": {"messageId": "01ID"}}}'


def test_a_message_is_appended_once(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    files = Inboxes(Layout(str(tmp_path / "teams")))
    assert files.append(BOB, RECORD, "01ID")
    before = (inboxes / "bob.json").read_bytes()
    assert not files.append(BOB, RECORD, "01ID")
    assert (inboxes / "bob.json").read_bytes() == before
    assert files.append(BOB, RECORD.replace("01ID", "01IDX"), "01IDX"), "an id inside of another is another"


def test_what_is_gone_or_done_is_not_acknowledged(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    files = Inboxes(Layout(str(tmp_path / "teams")))
    files.append(BOB, RECORD, "01ID")
    (message,) = read_inbox((inboxes / "bob.json").read_bytes()).messages
    assert files.acknowledge(BOB, message, 1.8e9, "draft")
    assert not files.acknowledge(BOB, message, 1.8e9, "draft")
    (inboxes / "bob.json").unlink()
    assert not files.acknowledge(BOB, message, 1.8e9, "draft")
    assert files.mark(BOB, ["01ID"], "draft") == []
    assert not (inboxes / "bob.json").exists()


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The places of the values and messages that are parsed from now on."""
    found: list[int] = []

    def parse(text: str, at: int) -> tuple[object, int]:
        found.append(at)
        return value_at(text, at)

    def read(record: object, place: int) -> Message | None:
        found.append(place)
        return message_of(record, place)

    monkeypatch.setattr(records, "value_at", parse)
    monkeypatch.setattr(inbox_file, "message_of", read)
    return found


def filled(path: Path, number: int, text: str = "x" * 100) -> Path:
    path.write_text(json.dumps([{"from": "a", "text": text, "msg_id": str(n), "read": True} for n in range(number)]))
    return path


def test_of_a_long_inbox_only_what_is_new_is_parsed(tmp_path: Path, parsed: list[int]) -> None:
    inbox = filled(make_team(tmp_path) / "bob.json", 1000)
    files = Inboxes(Layout(str(tmp_path / "teams")))
    assert len(files.read(BOB).messages) == 1000
    parsed.clear()
    assert len(files.read(BOB).messages) == 1000
    assert parsed == []
    assert files.append(BOB, RECORD, "01ID")
    assert [message.id for message in files.read(BOB).messages if not message.is_read] == ["01ID"]
    assert files.mark(BOB, ["01ID"], "draft") == ["01ID"]
    assert all(message.is_read for message in files.read(BOB).messages)
    assert len(parsed) <= 8, "the last two of the old records at most, each time"
    assert files.read(BOB) == read_inbox(inbox.read_bytes())


def test_what_another_program_has_changed_is_seen_wherever_it_is(tmp_path: Path) -> None:
    inbox = filled(make_team(tmp_path) / "bob.json", 1000)
    files = Inboxes(Layout(str(tmp_path / "teams")))
    whole = inbox.read_bytes()
    for place in (0, 1, 499, 998, 999):
        assert all(message.is_read for message in files.read(BOB).messages)
        status = inbox.stat()
        one = b'"msg_id": "%d", "read": ' % place
        inbox.write_bytes(whole.replace(one + b"true", one + b"null"))  # of the same size, in the same file
        os.utime(inbox, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert [message.id for message in files.read(BOB).messages if not message.is_read] == [str(place)]
        inbox.write_bytes(whole)
    inbox.unlink()
    assert files.read(BOB).messages == ()


def test_what_is_kept_of_inboxes_has_a_limit(tmp_path: Path, parsed: list[int]) -> None:
    inboxes = make_team(tmp_path)
    for name in ("alice", "bob"):
        filled(inboxes / f"{name}.json", 3, "x" * (MOST_KEPT // 5))
    files = Inboxes(Layout(str(tmp_path / "teams")))
    for address in (BOB, ALICE):
        files.read(address)
    parsed.clear()
    files.read(ALICE)
    assert parsed == []
    files.read(BOB)
    assert len(parsed) == 6
