"""What a person answers in a TUI, as a decision of the board."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.mcp.control.attach.answers import NOT_ALL, decision_of, of_thread, patch_item, without_secrets
from codex_mcp.threads.questions.approvals import core_answer, offered
from codex_mcp.threads.questions.decisions import (
    Aborted,
    Approved,
    Denied,
    Filled,
    NetworkRuled,
    RuleApproved,
    Scope,
    is_approval,
)
from codex_mcp.threads.questions.questions import Method, PatchQuestion, Question, ServerQuestion
from codex_mcp.wire.app.questions import NetworkAmendment
from tests.support.core.questions import COMMAND, NETWORK, PERMISSIONS, RULE, USER_INPUT, ask, every_question

EXEC = ask(Method.EXEC, COMMAND)
HOST = ask(Method.EXEC, NETWORK)
RIGHTS = ask(Method.PERMISSIONS, PERMISSIONS)
USER = ask(Method.USER_INPUT, USER_INPUT)
PATCH = PatchQuestion(thread_id="t", turn_id="u", item_id="i", changes={"/a": {"type": "add", "content": "one\n"}})
FORM = ServerQuestion(
    thread_id="t",
    turn_id="u",
    server_name="inner",
    mode="form",
    message="Which city?",
    schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
TOOL = ServerQuestion(
    thread_id="t", turn_id="u", server_name="inner", mode="form", message="Call?", is_tool_approval=True,
    offers_session=True,
)  # fmt: skip


def beginning(*words: str) -> dict[str, object]:
    """Commands with this beginning are allowed from now on."""
    return {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": list(words)}}}


def rule_for(host: str, action: str) -> dict[str, object]:
    """A rule for a host."""
    amendment = {"network_policy_amendment": {"host": host, "action": action}}
    return {"decision": {"applyNetworkPolicyAmendment": amendment}}


@pytest.mark.parametrize(
    ("question", "result", "decision"),
    [
        (PATCH, {"decision": "accept"}, Approved()),
        (PATCH, {"decision": "acceptForSession"}, Approved(Scope.SESSION)),
        (PATCH, {"decision": "decline"}, Denied()),
        (PATCH, {"decision": "cancel"}, Aborted()),
        (EXEC, {"decision": "accept"}, Approved()),
        (EXEC, {"decision": "acceptForSession"}, Approved()),
        (EXEC, beginning(*RULE), RuleApproved(tuple(RULE))),
        (EXEC, beginning("rm"), Approved()),
        (
            HOST,
            rule_for("example.org", "deny"),
            NetworkRuled(NetworkAmendment("example.org", "deny")),
        ),
        (
            HOST,
            rule_for("evil.org", "allow"),
            Approved(),
        ),
        (
            HOST,
            rule_for("evil.org", "deny"),
            Denied(),
        ),
        (RIGHTS, {"permissions": PERMISSIONS["permissions"], "scope": "turn"}, Approved()),
        (RIGHTS, {"permissions": PERMISSIONS["permissions"], "scope": "session"}, Approved(Scope.SESSION)),
        (RIGHTS, {"permissions": {}}, Denied()),
        (RIGHTS, {"permissions": {"network": {"enabled": True}}}, Denied(NOT_ALL)),
        (RIGHTS, {"permissions": PERMISSIONS["permissions"], "strictAutoReview": True}, Denied(NOT_ALL)),
        (USER, {"answers": {"colour": {"answers": ["Red"]}}}, Filled({"colour": ["Red"]})),
        (FORM, {"action": "accept", "content": {"city": "Oslo"}}, Filled({"city": "Oslo"})),
        (FORM, {"action": "decline"}, Denied()),
        (FORM, {"action": "cancel"}, Aborted()),
        (TOOL, {"action": "accept", "content": None}, Approved()),
        (TOOL, {"action": "accept", "_meta": {"persist": "session"}}, Approved(Scope.SESSION)),
        (TOOL, {"action": "accept", "_meta": {"persist": "always"}}, Approved()),
    ],
)  # fmt: skip
def test_an_answer_means_a_decision(question: Question, result: object, decision: object) -> None:
    assert decision_of(question, result) == decision


def test_questions_without_an_answer_are_denied() -> None:
    nothing: list[object] = [{}, {"colour": {"answers": []}}, {"other": {"answers": ["x"]}}]
    for answers in nothing:
        assert isinstance(decision_of(USER, {"answers": answers}), Denied)


@pytest.mark.parametrize("question", [EXEC, PATCH, RIGHTS, USER, FORM, TOOL])
@pytest.mark.parametrize(
    "result", [None, 1, "accept", [], {}, {"decision": 7}, {"decision": "maybe"}, {"action": "run"}]
)
def test_what_cannot_be_read_decides_nothing(question: Question, result: object) -> None:
    assert decision_of(question, result) is None


RESULTS = st.fixed_dictionaries(
    {},
    optional={
        "decision": st.sampled_from(["accept", "acceptForSession", "decline", "cancel", "x"])
        | st.fixed_dictionaries({"acceptWithExecpolicyAmendment": st.just({"execpolicy_amendment": ["rm", "-rf"]})}),
        "permissions": st.sampled_from([{}, {"network": {"enabled": True}}, {"fileSystem": {"write": ["/"]}}]),
        "scope": st.sampled_from(["turn", "session"]),
        "answers": st.dictionaries(
            st.text(max_size=3), st.fixed_dictionaries({"answers": st.lists(st.text(max_size=3))})
        ),
        "action": st.sampled_from(["accept", "decline", "cancel"]),
        "content": st.dictionaries(st.text(max_size=3), st.text(max_size=3)),
        "_meta": st.fixed_dictionaries({"persist": st.sampled_from(["session", "always", 5])}),
    },
)


@given(st.sampled_from(every_question()), RESULTS)
def test_no_answer_allows_more_than_was_offered(question: Question, result: dict[str, object]) -> None:
    decision = decision_of(question, result)
    if decision is not None and is_approval(decision) and offered(question):
        assert decision in offered(question)
    if decision is not None:
        core_answer(question, decision)


def test_a_patch_is_an_item() -> None:
    changes = {
        "/a": {"type": "add", "content": "one\n"},
        "/b": {"type": "delete", "content": "two\n"},
        "/c": {"type": "update", "unified_diff": "@@", "move_path": "/d"},
        "/e": "odd",
    }
    item = patch_item(PatchQuestion(thread_id="t", turn_id="u", item_id="i", changes=changes))
    assert (item["type"], item["id"], item["status"]) == ("fileChange", "i", "inProgress")
    assert item["changes"] == [
        {"path": "/a", "kind": {"type": "add"}, "diff": "one\n"},
        {"path": "/b", "kind": {"type": "delete"}, "diff": "two\n"},
        {"path": "/c", "kind": {"type": "update", "move_path": "/d"}, "diff": "@@"},
        {"path": "/e", "kind": {"type": "update"}, "diff": ""},
    ]


def test_the_configuration_is_told_without_secrets() -> None:
    raw = {
        "config": {"model": "m", "mcp_servers": {"x": {"env": {"TOKEN": "s"}}}, "model_providers": {"y": {}}},
        "layers": [{"config": {"mcp_servers": {}}}],
        "origins": {},
    }
    assert without_secrets(Raw(msgspec.json.encode(raw))) == {"config": {"model": "m"}, "layers": None, "origins": {}}
    assert without_secrets(Raw(b'{"config": null}')) == {"config": {}, "layers": None}


def test_a_sub_agent_asks_in_the_thread_of_its_agent() -> None:
    raw = Raw(b'{"threadId": "its", "reason": "It must.", "command": "make"}')
    asked = {"threadId": "t", "reason": "Sub-agent\\u{1b} ann asks. It must.", "command": "make"}
    assert of_thread(raw, "t", "Sub-agent\x1b ann") == asked
    assert of_thread(raw, "t", "") is raw
    assert of_thread(Raw(b"[]"), "t", "ann") == Raw(b"[]")
    assert of_thread(Raw(b'{"threadId": "its"}'), "t", "ann") == {"threadId": "t", "reason": "ann asks."}
