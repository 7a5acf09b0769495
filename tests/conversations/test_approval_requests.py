import pytest

from codex_mcp.conversations.approval_requests import approval_request, decision_of, old_change
from codex_mcp.threads.questions.decisions import Aborted, Approved, Denied, Scope
from codex_mcp.threads.questions.questions import CommandQuestion, PatchQuestion, PermissionsQuestion

COMMAND = CommandQuestion(
    thread_id="t",
    turn_id="u",
    item_id="call",
    reason="why",
    command_line="ls",
    command=("ls",),
    cwd="/folder",
    offers_session=True,
)
CHANGES = {
    "/a": {"type": "add", "content": "hello\n"},
    "/b": {"type": "delete", "content": "bye\n"},
    "/c": {"type": "update", "unified_diff": "@@", "move_path": None},
}


def test_the_question_about_a_command_has_both_spellings() -> None:
    request = approval_request(COMMAND, "t")
    assert request is not None
    assert request.method == "execCommandApproval"
    assert request.params == {
        "conversation_id": "t",
        "call_id": "call",
        "command": ["ls"],
        "cwd": "/folder",
        "reason": "why",
        "conversationId": "t",
        "callId": "call",
    }


def test_the_question_about_a_patch_has_the_recorded_changes() -> None:
    question = PatchQuestion(thread_id="t", turn_id="u", item_id="call", changes=CHANGES, grant_root="/folder")
    request = approval_request(question, "t")
    assert request is not None
    assert request.method == "applyPatchApproval"
    changes = {
        "/a": {"add": {"content": "hello\n"}},
        "/b": {"delete": {"content": "bye\n"}},
        "/c": {"update": {"unified_diff": "@@", "move_path": None}},
    }
    assert request.params["file_changes"] == request.params["fileChanges"] == changes
    assert request.params["grant_root"] == request.params["grantRoot"] == "/folder"
    assert "reason" not in request.params
    assert old_change("unreadable") == "unreadable"


def test_0_42_0_has_no_request_for_other_questions() -> None:
    assert approval_request(PermissionsQuestion(thread_id="t", turn_id="u", cwd="/", permissions={}), "t") is None


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        ({"decision": "allow"}, Approved()),
        ({"decision": "approved"}, Approved()),
        ({"action": "accept"}, Approved()),
        ({"decision": "approved_for_session"}, Approved(Scope.SESSION)),
        ({"decision": "deny"}, Denied()),
        ({"decision": "denied"}, Denied()),
        ({"decision": "abort"}, Aborted()),
        ({"action": "decline"}, Denied()),
    ],
)
def test_every_documented_answer_is_understood(answer: dict[str, object], decision: object) -> None:
    assert decision_of(COMMAND, answer) == decision


@pytest.mark.parametrize("answer", [None, {}, [], "approved", {"decision": "perhaps"}, {"decision": ["allow"]}])
def test_what_cannot_be_read_is_a_denial(answer: object) -> None:
    assert isinstance(decision_of(COMMAND, answer), Denied)
