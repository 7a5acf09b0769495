"""Questions as cards, and the answers of their forms."""

import msgspec
import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.dashboard.views.cards import card_of, given_in
from codex_mcp.wire import control
from tests.support.dashboard.facts import HARM, agent, asked, receipt


@pytest.mark.parametrize(
    ("state", "changes", "can"),
    [
        ("expired", {}, True),
        ("expired", {"thread_state": "busy"}, False),
        ("expired", {"status": "closed"}, False),
        ("decided", {}, False),
    ],
)
def test_an_agent_that_nobody_answered_can_be_asked_to_try_again(
    state: str, changes: dict[str, str], *, can: bool
) -> None:
    assert card_of(asked(receipt=receipt(state=state)), agent(**changes)).can_ask_again is can


def test_a_command_is_shown_whole_with_where_and_why() -> None:
    fields = {"command_line": "/bin/bash -lc 'git\tpush\x1b[2J'", "cwd": "/src", "environment": "arm", "asker": "sub"}
    permissions = {"permissions": {"network": {"enabled": True}}}
    card = card_of(asked(fields={**fields, **permissions}, reason="It must."), agent(task="Cut it\nnow"))
    assert card.command == "/bin/bash -lc 'git\tpush\\u{1b}[2J'"
    assert {fact.label: list(fact.lines) for fact in card.facts} == {
        "Asked by": ["sub"],
        "It says": ["“It must.”"],
        "Where": ["/src on arm"],
        "It would get": ["network access"],
    }
    assert (card.name, card.words, card.task) == ("api-1", "wants to run a command", "Cut it")
    assert (card.without, card.href, card.digest) == ("denied", "/ui/needs-you/1f/question-1", "d")


def test_every_offered_decision_has_its_button() -> None:
    words = [
        ("approved", "Allow this once"),
        ("approved_for_session", "Allow for this session"),
        ("approved_execpolicy_amendment", "Allow, and always allow `git`"),
        ("denied", "Deny, and let Codex go on"),
        ("abort", "Deny, and stop the turn"),
    ]
    card = card_of(asked(offered=[control.Offer(*each) for each in words]))
    assert [(each.decision, each.title, each.style) for each in card.offers] == [
        (*words[0], "main"),
        (*words[1], "plain"),
        (*words[2], "quiet"),
    ]
    assert [(each.decision, each.title) for each in card.denials] == words[3:]


def test_a_host_a_patch_permissions_and_a_tool_call_are_facts() -> None:
    host = card_of(asked(fields={"command_line": "", "network": {"host": "example.com", "protocol": "https"}}))
    assert [list(fact.lines) for fact in host.facts] == [["example.com (https)"]]
    patch = card_of(asked("patch", fields={"changes": {"/a": {"type": "add", "content": "x\n"}}, "grant_root": "/b"}))
    assert (patch.added, patch.removed, patch.files[0].path) == (1, 0, "/a")
    assert [list(fact.lines) for fact in patch.facts] == [["writing below /b is allowed as well"]]
    assert card_of(asked("permissions")).facts[1].lines == ["network access"]
    tool = {"server_name": "inner", "message": "May I?", "is_tool_approval": True, "meta": {"tool_params": {"a": HARM}}}
    card = card_of(asked("mcp", fields=tool))
    assert card.text == "May I?"
    assert card.facts[1].is_code
    assert all(line.isprintable() for line in card.facts[1].lines)


def test_a_page_of_an_inner_server_is_a_link_and_an_odd_form_says_how_to_answer_it() -> None:
    page = card_of(
        asked("mcp", fields={"server_name": "inner", "message": "Pay"}, form={"url": "https://x"}, offered=())
    )
    assert (page.url, page.offers[0].decision, page.offers[0].title) == ("https://x", "approved", "I have opened it")
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    odd = card_of(asked("mcp", fields={"server_name": "inner"}, form=nested, offered=()))
    assert "codex-mcp approvals answer 1f/question-1 --content JSON" in odd.unfit
    assert odd.offers == []
    assert [each.decision for each in odd.denials] == ["denied", "abort"]


def test_a_question_of_a_later_version_is_shown_as_its_server_words_it() -> None:
    card = card_of(asked("hologram", fields={}, message="Allow a hologram?"))
    assert (card.text, card.words) == ("Allow a hologram?", "asks")


def test_a_closed_question_has_a_receipt() -> None:
    approved = card_of(asked(receipt=receipt())).receipt
    denied = card_of(asked(receipt=receipt(decision="denied"))).receipt
    expired = card_of(asked(receipt=receipt(state="expired", decision="approved"))).receipt
    assert approved is not None
    assert denied is not None
    assert expired is not None
    assert [approved.is_approval, denied.is_approval, expired.is_approval] == [True, False, False]


def test_a_posted_form_means_a_decision_with_a_reason_or_content() -> None:
    question = asked().question
    assert given_in(question, {"decision": ["approved"], "reason": ["x"]}) == control.Given(decision="approved")
    denied = given_in(question, {"decision": ["denied"], "reason": [" later "]})
    assert denied == control.Given(decision="denied", reason="later")
    assert given_in(question, {"decision": ["denied"], "reason": [" "]}) == control.Given(decision="denied")
    with pytest.raises(Refused, match="choose one"):
        given_in(question, {})
    user = asked("user_input").question
    assert given_in(user, {"answer.colour": ["red"]}) == control.Given(content={"colour": "red"})


def test_a_card_can_be_told_as_json() -> None:
    for kind in ("exec", "patch", "permissions", "user_input", "mcp"):
        msgspec.json.encode(card_of(asked(kind), agent()))
