"""`codex-mcp mail` as a person uses it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codex_mcp.cli.main import main
from tests.support.mail.fixtures import config_bytes, inbox_bytes
from tests.support.patience import PATIENCE
from tests.support.servers.commands import PROGRAM, command
from tests.support.servers.terminal import CTRL_C, Terminal


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the team of a Claude Code session."""
    team = tmp_path / ".claude" / "teams" / "default"
    (team / "inboxes").mkdir(parents=True)
    (team / "config.json").write_bytes(config_bytes("full-atm-superset"))
    for name in list(os.environ):
        if name.startswith(("ATM_", "CODEX_", "CLAUDE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def inbox(home: Path, name: str) -> Path:
    return home / ".claude" / "teams" / "default" / "inboxes" / f"{name}.json"


def told(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> str:
    """What a successful command prints."""
    assert main(["mail", *words]) == 0
    return capfdbinary.readouterr().out.decode()


def told_json(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> Any:
    return json.loads(told(capfdbinary, *words, "--json"))


def test_a_message_goes_from_one_person_to_another(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sent = told_json(capfdbinary, "send", "codex-1", "hello\nthere", "--as", "team-lead")
    assert (sent["schema"], sent["to"], sent["error"]) == (1, "codex-1@default", None)
    (record,) = json.loads(inbox(home, "codex-1").read_bytes())
    assert (record["from"], record["summary"], record["read"]) == ("team-lead", "hello there", False)
    peeked = told(capfdbinary, "read", "--as", "codex-1", "--peek")
    assert peeked.startswith("team-lead@default  ")
    assert peeked.endswith(f"{sent['message_id']}\n  hello\n  there\n\n")
    assert told_json(capfdbinary, "read", "--as", "codex-1")["messages"][0]["message_id"] == sent["message_id"]
    assert told_json(capfdbinary, "read", "--as", "codex-1")["messages"] == []
    assert len(told_json(capfdbinary, "read", "--as", "codex-1", "--all")["messages"]) == 1


@pytest.mark.parametrize("words", [("send", "codex-1"), ("broadcast",)], ids=lambda words: words[0])
def test_a_message_can_be_urgent(home: Path, capfdbinary: pytest.CaptureFixture[bytes], words: tuple[str, ...]) -> None:
    told(capfdbinary, *words, "stop", "--urgent", "--as", "team-lead")
    told(capfdbinary, *words, "go on", "--as", "team-lead")
    found = told_json(capfdbinary, "read", "--as", "codex-1")["messages"]
    assert [(each["text"], each["urgent"]) for each in found] == [("stop", True), ("go on", False)]


def test_the_sender_is_a_person_unless_the_environment_says_otherwise(
    home: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(capfdbinary, "send", "codex-1", "a")
    monkeypatch.setenv("ATM_IDENTITY", "team-lead")
    told(capfdbinary, "send", "codex-1", "b")
    assert [record["from"] for record in json.loads(inbox(home, "codex-1").read_bytes())] == ["human", "team-lead"]


def test_an_unknown_recipient_is_an_error_with_the_known_ones(
    home: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["mail", "send", "codex-2", "hello"]) == 3
    assert capfdbinary.readouterr().err.decode() == (
        "codex-mcp mail: cannot send to codex-2@default: the team has no codex-2; it has team-lead, codex-1; "
        "--allow-unknown creates it\n"
    )
    assert main(["mail", "send", "x@beta", "hello"]) == 3
    assert b"there is no team beta; the teams are default" in capfdbinary.readouterr().err
    assert main(["mail", "send", "../x", "hello", "--allow-unknown"]) == 2
    assert b"as the name of an agent" in capfdbinary.readouterr().err
    assert main(["mail", "read", "--as", "../x"]) == 2
    told(capfdbinary, "send", "x@beta", "hello", "--allow-unknown")
    assert (home / ".claude" / "teams" / "beta" / "inboxes" / "x.json").exists()


def test_inboxes_are_listed_with_who_reads_them(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    inbox(home, "codex-1").write_bytes(inbox_bytes("atm-legacy"))
    inbox(home, "guest").write_bytes(inbox_bytes("one-bad-record"))
    lines = told(capfdbinary, "list").splitlines()
    assert lines[0].split() == ["NAME", "UNREAD", "TOTAL", "TO", "ACK", "READ", "BY", "LATEST"]
    assert lines[1].split() == ["team-lead", "0", "0", "0", "Claude", "Code", "-"]
    assert lines[2].split()[:5] == ["codex-1", "2", "4", "1", "codex"]
    assert lines[3].split()[:7] == ["guest", "2", "2", "0", "not", "a", "member"]
    listed = told_json(capfdbinary, "list")
    assert [entry["unreadable_records"] for entry in listed["inboxes"]] == [0, 0, 4]
    assert listed["inboxes"][1]["latest"] == "2026-11-15T10:02:00.000Z"


def test_a_message_is_acknowledged(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sent = told_json(capfdbinary, "send", "codex-1", "please check", "--as", "team-lead")
    words = ["ack", sent["message_id"], "--as", "codex-1"]
    assert told(capfdbinary, *words, "done").startswith("acknowledged: ")
    assert told(capfdbinary, *words, "again") == "already acknowledged\n"
    (answer,) = told_json(capfdbinary, "read", "--as", "team-lead")["messages"]
    assert (answer["from"], answer["text"], answer["acknowledges"]) == ("codex-1", "done", sent["message_id"])
    assert main(["mail", "ack", "nothing", "done"]) == 3
    assert b"cannot find message 'nothing'" in capfdbinary.readouterr().err
    assert inbox(home, "codex-1").exists()


def test_a_broadcast_shows_every_outcome_and_fails_if_one_does(
    home: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert len(told_json(capfdbinary, "broadcast", "all hands")["outcomes"]) == 2
    inbox(home, "codex-1").unlink()
    inbox(home, "codex-1").mkdir()
    assert main(["mail", "broadcast", "all hands"]) == 1
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[1].split()[:2] == ["team-lead@default", "sent"]
    assert lines[2].split()[:2] == ["codex-1@default", "failed"]


def test_a_text_may_come_on_stdin(home: Path) -> None:
    argv = [PROGRAM, "mail", "send", "codex-1", "-"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    for data, code in ((b"from a pipe\n", 0), (b"\xff", 2), (b"x" * (2**20 + 1), 2), (b"", 2)):
        done = subprocess.run(argv, input=data, env=environment, capture_output=True, timeout=PATIENCE, check=False)
        assert done.returncode == code, done.stderr
    (record,) = json.loads(inbox(home, "codex-1").read_bytes())
    assert record["text"] == "from a pipe"


def test_reading_creates_nothing(tmp_path: Path) -> None:
    for words in (["read"], ["list"], ["read", "--peek", "--json"]):
        assert command(tmp_path, "mail", *words).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["read", "--since", "yesterday"], ["read", "--limit", "x"], ["fly"], []])
def test_wrong_words_are_explained(home: Path, capfdbinary: pytest.CaptureFixture[bytes], words: list[str]) -> None:
    assert main(["mail", *words]) == 2
    assert b"usage: codex-mcp mail" in capfdbinary.readouterr().err
    assert home.exists()


def test_a_since_is_an_instant(home: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    inbox(home, "human").write_bytes(inbox_bytes("mixed"))
    words = ["read", "--peek", "--all", "--since", "2026-11-15T11:00:05+01:00"]
    assert [one["summary"] for one in told_json(capfdbinary, *words)["messages"]] == [
        "legacy2",
        "legacy2",
        "reply",
        "forward",
        None,
    ]
    assert len(told_json(capfdbinary, *words, "--from", "arch", "--limit", "1")["messages"]) == 1


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(home: Path, columns: int) -> None:
    inbox(home, "codex-1").write_bytes(inbox_bytes("mixed"))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    for words in (["list"], ["broadcast", "hello"]):
        with Terminal([PROGRAM, "mail", *words], environment, columns) as terminal:
            assert terminal.exit_code() == 0
        lines = terminal.shown.splitlines()
        assert len(lines) == 3
        assert max(map(len, lines)) <= columns


def test_at_a_terminal_the_end_is_told_and_hostile_texts_do_nothing(home: Path) -> None:
    inbox(home, "human").write_text(json.dumps([{"from": "a\x1b[2J", "text": "x\x1b]0;title\x07\r\n\u202ey"}, 7]))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    with Terminal([PROGRAM, "mail", "read"], environment) as terminal:
        assert terminal.exit_code() == 0
    assert "1 message for human@default, now marked as read; 1 records of the file are no messages" in terminal.shown
    assert "\x1b" not in terminal.shown
    with Terminal([PROGRAM, "mail", "list", "--team", "beta"], environment) as terminal:
        assert terminal.exit_code() == 0
    assert "team beta has no members and no inboxes; the teams are default" in terminal.shown


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_watch_shows_mail_as_it_comes_and_leaves_it_unread(home: Path, words: list[str]) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    inbox(home, "human").write_bytes(inbox_bytes("claude-native-old"))
    with Terminal([PROGRAM, "mail", "watch", *words], environment) as terminal:
        terminal.wait_for("native old shape")
        for number in range(3):
            assert command(home, "mail", "send", "human", f"number {number}", "--as", "codex-1").returncode == 0
            terminal.wait_for(f"number {number}")
        terminal.type(CTRL_C)
        assert terminal.exit_code() == 0
    assert "Traceback" not in terminal.shown
    assert terminal.shown.count("native old shape") <= 2, "once, and in its summary"
    assert [record["read"] for record in json.loads(inbox(home, "human").read_bytes())] == [False] * 4


def test_it_starts_without_a_server_or_codex(home: Path) -> None:
    script = "import sys; from codex_mcp.cli.main import main; main(['mail', 'list']); print('uvicorn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=home, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.splitlines()[-1] == "False"
