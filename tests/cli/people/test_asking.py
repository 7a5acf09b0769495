"""A question in words for a terminal."""

from codex_mcp.cli.people.asking import closed, entry, lines
from codex_mcp.control.asked import Asked
from codex_mcp.wire import control


def asked(**changes: object) -> Asked:
    base = {
        "id": "1f/question-1",
        "kind": "exec",
        "state": "open",
        "agent": "arch",
        "thread": "t",
        "principal": "local",
        "message": "Allow Codex to run `ls`?",
        "offered": [control.Offer("approved", "Allow this once"), control.Offer("denied", "Deny")],
        "asked_at": 100.0,
        "deadline": 700.0,
        "digest": "d",
    }
    return Asked(control.Question(**(base | changes)), "n", "server process 1")  # type: ignore[arg-type]


def test_an_open_question_says_who_asks_what_and_how_to_answer() -> None:
    of = [control.AskedOf("Claude Code\x1b", 100.0)]
    assert lines(asked(asked_of=of), 112.4).splitlines() == [
        "1f/question-1: agent arch, server process 1, asked 12 s ago, 588 s left",
        "  Allow Codex to run `ls`?",
        "  also asked of Claude Code\\u{1b}; the first answer counts",
        "  answer with: codex-mcp approvals answer 1f/question-1 DECISION",
        "    approved: Allow this once",
        "    denied: Deny",
    ]
    assert "thread t, server" in lines(asked(agent=""), 112.4)


def test_a_question_for_data_says_its_fields() -> None:
    fields = {"colour": {"description": "Which?\nred: warm", "enum": ["red", "blue\x07"]}, "size": {"title": "Size"}}
    text = lines(asked(offered=[], form={"type": "object", "properties": fields}), 100.0)
    assert "answer with: codex-mcp approvals answer 1f/question-1 --content JSON, or denied" in text
    assert "    colour: Which? (red, blue\\u{7})" in text
    assert "    size: Size" in text
    assert "open https://example.com" in lines(asked(offered=[], form={"url": "https://example.com"}), 100.0)


def test_every_change_of_a_patch_is_shown_on_request() -> None:
    changes = {"/a.txt": {"type": "add", "content": "one\n\x1b[2J"}, "/b": {"type": "update", "unified_diff": "-x\n+y"}}
    question = asked(fields={"changes": {**changes, "/c": 3}})
    assert "+one" not in lines(question, 100.0)
    shown = lines(question, 100.0, whole=True)
    assert "  /a.txt:\n    +one\n    +\\u{1b}[2J\n  /b:\n    -x\n    +y\n  /c:" in shown


def test_a_closed_question_says_how_it_ended() -> None:
    receipt = control.Receipt(state="decided", decision="approved", by="mira", via="terminal", at=1.0, sentence="Done.")
    question = asked(receipt=receipt, state="decided")
    assert lines(question, 101.0).splitlines()[-1] == "  Done."
    assert "left" not in lines(question, 101.0)
    assert closed(question) == "1f/question-1: Done."
    assert closed(asked()) == "1f/question-1: closed"


def test_json_has_the_question_and_its_server() -> None:
    row = entry(asked())
    assert (row["id"], row["server"]) == ("1f/question-1", {"node": "n", "name": "server process 1"})
