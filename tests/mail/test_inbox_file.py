from pathlib import Path

from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.inbox_file import acknowledge, append, mark, read_inbox
from tests.support.mail.folders import BOB, make_team

RECORD = '{"from": "alice", "text": "hello", "metadata": {"atm": {"messageId": "01ID"}}}'


def test_a_message_is_appended_once(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    layout = Layout(str(tmp_path / "teams"))
    assert append(layout, BOB, RECORD, "01ID")
    before = (inboxes / "bob.json").read_bytes()
    assert not append(layout, BOB, RECORD, "01ID")
    assert (inboxes / "bob.json").read_bytes() == before
    assert append(layout, BOB, RECORD.replace("01ID", "01IDX"), "01IDX"), "an id inside of another is another"


def test_what_is_gone_or_done_is_not_acknowledged(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    layout = Layout(str(tmp_path / "teams"))
    append(layout, BOB, RECORD, "01ID")
    (message,) = read_inbox((inboxes / "bob.json").read_bytes()).messages
    assert acknowledge(layout, BOB, message, 1.8e9, "draft")
    assert not acknowledge(layout, BOB, message, 1.8e9, "draft")
    (inboxes / "bob.json").unlink()
    assert not acknowledge(layout, BOB, message, 1.8e9, "draft")
    assert mark(layout, BOB, ["01ID"], "draft") == []
    assert not (inboxes / "bob.json").exists()
