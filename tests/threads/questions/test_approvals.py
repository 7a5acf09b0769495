"""What answers mean, and what Codex is told: by table, by property, and against the schema of the real Codex."""

import json
import subprocess
from pathlib import Path

import codex_cli_bin
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.threads.questions.approvals import core_answer, decide, explanation, must_interrupt, offered, refusal
from codex_mcp.threads.questions.decisions import (
    DECLINED,
    DISMISSED,
    REVIEW_TIMED_OUT,
    Aborted,
    Approved,
    Decision,
    Denied,
    Filled,
    NetworkRuled,
    RuleApproved,
    Scope,
    is_approval,
    word_for,
)
from codex_mcp.threads.questions.questions import Method, Question
from codex_mcp.wire.app.questions import NetworkAmendment
from tests.support.core.questions import (
    COMMAND,
    INNER_FORM,
    INNER_URL,
    NETWORK,
    OLD_COMMAND,
    OLD_PATCH,
    PATCH,
    PERMISSIONS,
    REQUESTS,
    RULE,
    TOOL,
    USER_INPUT,
    ask,
    every_question,
)

EXEC, NET, PATCHED = ask(Method.EXEC, COMMAND), ask(Method.EXEC, NETWORK), ask(Method.PATCH, PATCH)
PERMITTED, USER = ask(Method.PERMISSIONS, PERMISSIONS), ask(Method.USER_INPUT, USER_INPUT)
TOOLED, FORM, URL = ask(Method.MCP, TOOL), ask(Method.MCP, INNER_FORM), ask(Method.MCP, INNER_URL)

ALLOW, DENY = NetworkAmendment("example.org", "allow"), NetworkAmendment("example.org", "deny")


def rule_answer(*rule: str) -> dict[str, object]:
    return {"decision": {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": list(rule)}}}


def network_answer(host: str, action: str) -> dict[str, object]:
    amendment = {"host": host, "action": action}
    return {"decision": {"network_policy_amendment": {"network_policy_amendment": amendment}}}


def accepted(**content: object) -> dict[str, object]:
    return {"action": "accept", "content": content}


ANSWERS: list[tuple[Question, object, Decision]] = [
    # the standard's own answers
    (EXEC, {"action": "accept"}, Approved()),
    (EXEC, {"action": "accept", "content": None}, Approved()),
    (EXEC, accepted(), Approved()),
    (EXEC, accepted(decision="approved_for_session"), Approved(Scope.SESSION)),
    (EXEC, accepted(decision="approved_execpolicy_amendment"), RuleApproved(tuple(RULE))),
    (EXEC, accepted(decision="denied"), Denied(DECLINED)),
    (EXEC, accepted(decision="denied", reason="use the cache"), Denied("use the cache")),
    (EXEC, accepted(decision="abort"), Aborted()),
    (EXEC, {"action": "decline"}, Denied(DECLINED)),
    (EXEC, {"action": "decline", "content": {"reason": "too slow"}}, Denied("too slow")),
    (EXEC, {"action": "cancel"}, Denied(DISMISSED)),
    # Codex's own
    (EXEC, {"decision": "approved"}, Approved()),
    (EXEC, {"decision": "approved_for_session"}, Approved(Scope.SESSION)),
    (EXEC, rule_answer(*RULE), RuleApproved(tuple(RULE))),
    (EXEC, {"decision": "denied"}, Denied(DECLINED)),
    (EXEC, {"decision": {"denied": {"rejection": "not today"}}}, Denied("not today")),
    (EXEC, {"decision": {"denied": None}}, Denied(DECLINED)),
    (EXEC, {"decision": "timed_out"}, Denied(REVIEW_TIMED_OUT)),
    (EXEC, {"decision": "abort"}, Aborted()),
    (NET, network_answer("example.org", "allow"), NetworkRuled(ALLOW)),
    (NET, network_answer("example.org", "deny"), NetworkRuled(DENY)),
    (NET, accepted(decision="network_policy_allow"), NetworkRuled(ALLOW)),
    (NET, accepted(decision="network_policy_deny"), NetworkRuled(DENY)),
    # both at once: the more restrictive one
    (EXEC, {"action": "accept", "content": {}, "decision": "approved"}, Approved()),
    (EXEC, {"action": "accept", "content": {}, "decision": "approved_for_session"}, Approved(Scope.SESSION)),
    (EXEC, {"action": "accept", "decision": "denied"}, Denied(DECLINED)),
    (EXEC, {"action": "accept", "decision": "abort"}, Aborted()),
    (EXEC, {"action": "decline", "decision": "approved"}, Denied(DECLINED)),
    (EXEC, {"action": "cancel", "decision": "approved_for_session"}, Denied(DISMISSED)),
    (EXEC, {"action": "decline", "decision": {"denied": {"rejection": "why"}}}, Denied("why")),
    (EXEC, {**accepted(decision="denied"), "decision": "approved"}, Denied(DECLINED)),
    # more than was offered: this once
    (EXEC, rule_answer("make"), Approved()),
    (EXEC, {"decision": "approved_mcp_policy_amendment"}, Approved()),
    (EXEC, {"decision": "network_policy_allow"}, Approved()),
    (EXEC, {"decision": "network_policy_deny"}, Denied(DECLINED)),
    (EXEC, network_answer("example.org", "deny"), Denied(DECLINED)),
    (NET, network_answer("example.net", "allow"), Approved()),
    (PATCHED, rule_answer(*RULE), Approved()),
    (PATCHED, {"decision": "approved_execpolicy_amendment"}, Approved()),
    (PATCHED, {"decision": "approved_for_session"}, Approved(Scope.SESSION)),
    (TOOLED, {"decision": "approved_mcp_policy_amendment"}, Approved(Scope.ALWAYS)),
    (
        ask(Method.MCP, TOOL, _meta={"codex_approval_kind": "mcp_tool_call"}),
        {"decision": "approved_for_session"},
        Approved(),
    ),
    # unreadable: denied, and says what
    (EXEC, None, Denied("the answer could not be read: None")),
    (EXEC, "yes", Denied("the answer could not be read: 'yes'")),
    (EXEC, [], Denied("the answer could not be read: a list")),
    (EXEC, {}, Denied("the answer could not be read: an object with the keys []")),
    (EXEC, {"decision": None}, Denied("the answer could not be read: an object with the keys ['decision']")),
    (
        EXEC,
        {"content": {"decision": "approved"}},
        Denied("the answer could not be read: an object with the keys ['content']"),
    ),
    (EXEC, {"decision": "sure thing"}, Denied("the decision could not be read: 'sure thing'")),
    (EXEC, {"decision": 42}, Denied("the decision could not be read: 42")),
    (EXEC, {"decision": True}, Denied("the decision could not be read: True")),
    (
        EXEC,
        {"decision": {"denied": {}, "approved": {}}},
        Denied("the decision could not be read: an object with the keys ['approved', 'denied']"),
    ),
    (
        EXEC,
        network_answer("example.org", "ask"),
        Denied("the decision could not be read: an object with the keys ['network_policy_amendment']"),
    ),
    (EXEC, {"action": "Accept"}, Denied("the action of the answer could not be read: 'Accept'")),
    (
        EXEC,
        {"action": "accept", "content": "approved"},
        Denied("the content of the answer could not be read: 'approved'"),
    ),
    (EXEC, {"action": "accept", "decision": "maybe"}, Denied("the decision could not be read: 'maybe'")),
    (EXEC, accepted(decision=""), Denied("the decision could not be read: ''")),
    # questions that ask for data
    (USER, accepted(colour="Red", token="t"), Filled({"colour": ["Red"], "token": ["t"]})),
    (USER, accepted(**{"colour": "Red", "colour.other": "or rose"}), Filled({"colour": ["Red", "or rose"]})),
    (USER, accepted(colour=["Red", "Blue"], token=""), Filled({"colour": ["Red", "Blue"]})),
    (USER, accepted(), Filled({})),
    (USER, {"action": "decline"}, Denied(DECLINED)),
    (FORM, accepted(city="Riga"), Filled({"city": "Riga"})),
    (FORM, {**accepted(city="Riga"), "decision": "approved"}, Filled({"city": "Riga"})),
    (FORM, accepted(), Denied("the answer lacks required fields: city")),
    (FORM, {"decision": "approved"}, Denied("the answer lacks required fields: city")),
    (FORM, {"action": "cancel"}, Denied(DISMISSED)),
    (URL, {"action": "accept"}, Filled({})),
]


@pytest.mark.parametrize(("question", "answer", "decision"), ANSWERS)
def test_an_answer_means(question: Question, answer: object, decision: Decision) -> None:
    assert decide(question, answer) == decision


def test_a_field_of_an_inner_form_called_decision_is_the_servers_own() -> None:
    schema = {"type": "object", "properties": {"decision": {"type": "string"}}}
    question = ask(Method.MCP, INNER_FORM, requestedSchema=schema)
    assert decide(question, accepted(decision="denied")) == Filled({"decision": "denied"})


RESULTS: list[tuple[Question, Decision, dict[str, object]]] = [
    (EXEC, Approved(), {"decision": "accept"}),
    (EXEC, Approved(Scope.SESSION), {"decision": "acceptForSession"}),
    (EXEC, RuleApproved(tuple(RULE)), {"decision": {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": RULE}}}),
    (EXEC, RuleApproved(("make",)), {"decision": "accept"}),
    (EXEC, Denied(), {"decision": "decline"}),
    (EXEC, Aborted(), {"decision": "cancel"}),
    (EXEC, Filled(), {"decision": "decline"}),
    (
        NET,
        NetworkRuled(DENY),
        {
            "decision": {
                "applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "example.org", "action": "deny"}}
            }
        },
    ),
    (PATCHED, Approved(), {"decision": "accept"}),
    (PATCHED, Approved(Scope.SESSION), {"decision": "acceptForSession"}),
    (PATCHED, RuleApproved(tuple(RULE)), {"decision": "accept"}),
    (PATCHED, Denied(), {"decision": "decline"}),
    (PATCHED, Aborted(), {"decision": "cancel"}),
    (PERMITTED, Approved(), {"permissions": PERMISSIONS["permissions"], "scope": "turn"}),
    (PERMITTED, Approved(Scope.SESSION), {"permissions": PERMISSIONS["permissions"], "scope": "session"}),
    (PERMITTED, Denied(), {"permissions": {}, "scope": "turn"}),
    (PERMITTED, Aborted(), {"permissions": {}, "scope": "turn"}),
    (USER, Filled({"colour": ["Red"]}), {"answers": {"colour": {"answers": ["Red"]}}}),
    (USER, Approved(), {"answers": {}}),
    (USER, Denied(), {"answers": {}}),
    (TOOLED, Approved(), {"action": "accept", "content": {}}),
    (TOOLED, Approved(Scope.SESSION), {"action": "accept", "content": {}, "_meta": {"persist": "session"}}),
    (TOOLED, Approved(Scope.ALWAYS), {"action": "accept", "content": {}, "_meta": {"persist": "always"}}),
    (TOOLED, Denied(), {"action": "decline"}),
    (TOOLED, Aborted(), {"action": "cancel"}),
    (FORM, Filled({"city": "Riga"}), {"action": "accept", "content": {"city": "Riga"}}),
    (URL, Filled(), {"action": "accept"}),
]


@pytest.mark.parametrize(("question", "decision", "result"), RESULTS)
def test_codex_is_told(question: Question, decision: Decision, result: dict[str, object]) -> None:
    assert core_answer(question, decision) == result


def test_a_refusal_with_a_reason_is_explained_to_the_model() -> None:
    text = "The request to run the command was not approved. Reason given: use the cache"
    assert explanation(EXEC, Denied("use the cache")) == {
        "type": "message",
        "role": "developer",
        "content": [{"type": "input_text", "text": text}],
    }


@pytest.mark.parametrize("decision", [Denied(), Aborted(), Approved(), RuleApproved(tuple(RULE))])
def test_what_codex_itself_tells_the_model_needs_no_explanation(decision: Decision) -> None:
    assert explanation(EXEC, decision) is None


def test_only_commands_and_patches_have_an_answer_that_ends_the_turn() -> None:
    assert [must_interrupt(question, Aborted()) for question in (EXEC, PATCHED, PERMITTED, USER, TOOLED)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert not must_interrupt(USER, Denied())


def test_the_offer_follows_what_codex_lists_and_always_has_a_no() -> None:
    assert [word_for(choice) for choice in offered(EXEC)] == [
        "approved",
        "approved_execpolicy_amendment",
        "denied",
        "abort",
    ]
    assert [word_for(choice) for choice in offered(NET)] == [
        "approved",
        "approved_for_session",
        "network_policy_allow",
        "network_policy_deny",
        "denied",
        "abort",
    ]
    assert offered(USER) == offered(FORM) == ()


@pytest.mark.parametrize("question", every_question(), ids=lambda question: question.kind)
def test_every_offered_word_chosen_in_the_form_is_the_decision_itself(question: Question) -> None:
    for choice in offered(question):
        assert decide(question, accepted(decision=word_for(choice))) == choice


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
WORDS: st.SearchStrategy[object] = st.sampled_from(
    ["accept", "approved", "approved_for_session", "denied", "abort", "decline", "cancel", "timed_out", "Approved", ""]
)
KEYS = st.sampled_from(["denied", "approved", "approved_execpolicy_amendment", "network_policy_amendment", "decision"])
NEAR_ANSWERS: st.SearchStrategy[object] = st.fixed_dictionaries(
    {},
    optional={
        "action": WORDS | JSON,
        "decision": WORDS | JSON | st.dictionaries(KEYS, WORDS | JSON, max_size=2),
        "content": JSON | st.dictionaries(KEYS, WORDS | JSON, max_size=2),
    },
)


def says_yes(answer: object) -> bool:
    """Is there an explicit yes where one may stand: the action, or a decision?"""
    if not isinstance(answer, dict):
        return False
    decision = answer.get("decision")
    named = decision if isinstance(decision, str) else "".join(decision) if isinstance(decision, dict) else ""
    return answer.get("action") == "accept" or named.startswith(("approved", "network_policy_amendment"))


@given(st.sampled_from(every_question()), JSON | NEAR_ANSWERS)
def test_nothing_is_approved_without_an_explicit_yes(question: Question, answer: object) -> None:
    decision = decide(question, answer)
    assert says_yes(answer) or not is_approval(decision)


@given(st.sampled_from(every_question()), st.sampled_from(["decline", "cancel"]), WORDS | JSON, JSON)
def test_a_standard_no_is_never_overruled(question: Question, action: str, decision: object, content: object) -> None:
    answer = {"action": action, "decision": decision, "content": content}
    assert not is_approval(decide(question, answer))


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """The answers' schemas, written by the real Codex."""
    home = tmp_path_factory.mktemp("codex-home")
    out = home / "schema"
    command = [codex_cli_bin.bundled_codex_path(), "app-server", "generate-json-schema", "--experimental", "--out", out]
    subprocess.run(command, env={"HOME": str(home), "CODEX_HOME": str(home)}, check=True, capture_output=True)
    return {method: json.loads(Path(out, f"{name}Response.json").read_text()) for method, name in SCHEMAS.items()}


SCHEMAS = {
    Method.EXEC: "CommandExecutionRequestApproval",
    Method.PATCH: "FileChangeRequestApproval",
    Method.PERMISSIONS: "PermissionsRequestApproval",
    Method.USER_INPUT: "ToolRequestUserInput",
    Method.MCP: "McpServerElicitationRequest",
}
DECISIONS: list[Decision] = [
    Approved(),
    Approved(Scope.SESSION),
    Approved(Scope.ALWAYS),
    RuleApproved(tuple(RULE)),
    RuleApproved(()),
    NetworkRuled(ALLOW),
    NetworkRuled(DENY),
    Filled({"city": ["Riga"]}),
    Denied(),
    Aborted(),
]


def test_the_real_codex_accepts_the_form_of_every_result(schemas: dict[str, dict[str, object]]) -> None:
    for question in every_question():
        for result in [refusal(question.method), *(core_answer(question, decision) for decision in DECISIONS)]:
            jsonschema.validate(result, schemas[question.method])


@pytest.mark.parametrize(("method", "params"), REQUESTS)
def test_a_refusal_grants_nothing(method: Method, params: object) -> None:
    assert refusal(method) == core_answer(ask(method, params), Denied())


@pytest.mark.parametrize(
    ("params", "decision", "told"),
    [
        (OLD_COMMAND, Approved(), "approved"),
        (OLD_COMMAND, Denied("not now"), {"denied": {"rejection": "rejected: not now"}}),
        (OLD_COMMAND, Aborted(), "abort"),
        (
            OLD_COMMAND,
            RuleApproved(tuple(RULE)),
            {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": RULE}},
        ),
        (OLD_COMMAND, RuleApproved(("rm",)), "approved"),
        (OLD_PATCH, Approved(Scope.SESSION), "approved_for_session"),
        (OLD_PATCH, Approved(Scope.ALWAYS), "approved"),
    ],
)
def test_an_old_codex_is_answered_in_its_own_words(params: object, decision: Decision, told: object) -> None:
    question = ask(Method.OLD, params)
    assert core_answer(question, decision) == {"decision": told}
    assert explanation(question, decision) is None
    assert not must_interrupt(question, decision)


def test_an_old_codex_is_refused_in_its_own_words() -> None:
    assert refusal(Method.OLD) == {"decision": {"denied": {"rejection": "rejected by user"}}}
