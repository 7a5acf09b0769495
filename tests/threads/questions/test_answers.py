"""What a listed question may be answered with; anything else is refused, and the question stays open."""

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.threads.questions.answers import DECISIONS, Given, decision_in, takes_content, words_of
from codex_mcp.threads.questions.approvals import offered
from codex_mcp.threads.questions.decisions import Aborted, Approved, Denied, Filled, word_for
from codex_mcp.threads.questions.questions import Method, PatchQuestion, ServerQuestion, UserQuestion
from codex_mcp.wire.app.questions import InputOption, InputQuestion
from tests.support.core.questions import COMMAND, ask, every_question

COLOURS = [InputOption("red", "warm"), InputOption("blue", "cold")]
USER = UserQuestion(
    thread_id="t",
    turn_id="u",
    questions=(
        InputQuestion("colour", "Colour", "Which colour?", is_other=True, options=COLOURS),
        InputQuestion("why", "Why", "Why?"),
    ),
)
FORM = ServerQuestion(
    thread_id="t",
    turn_id="u",
    server_name="inner",
    mode="form",
    message="Which city?",
    schema={"type": "object", "properties": {"city": {"type": "string"}, "zip": {}}, "required": ["city"]},
)
PAGE = ServerQuestion(
    thread_id="t", turn_id="u", server_name="inner", mode="url", message="Sign in", url="https://example.com"
)
EXEC = ask(Method.EXEC, COMMAND)
PATCH = PatchQuestion(thread_id="t", turn_id="u")


def test_every_decision_that_is_offered_can_be_made() -> None:
    words = {word_for(decision) for question in every_question() for decision in offered(question)}
    assert set(DECISIONS) == words


def test_an_approval_takes_a_decision() -> None:
    assert decision_in(PATCH, Given("approved")) == Approved()
    assert decision_in(EXEC, Given("denied")) == Denied()
    assert decision_in(EXEC, Given("denied", "the disk is full")) == Denied("the disk is full")
    assert decision_in(EXEC, Given("abort")) == Aborted()


def test_a_question_of_the_model_takes_answers() -> None:
    assert decision_in(USER, Given(content={"colour": "red"})) == Filled({"colour": ["red"]})
    said = {"colour.other": "teal", "why": ["a", "b"]}
    assert decision_in(USER, Given("approved", content=said)) == Filled({"colour": ["teal"], "why": ["a", "b"]})


def test_a_form_takes_its_fields() -> None:
    assert decision_in(FORM, Given(content={"city": "Oslo"})) == Filled({"city": "Oslo"})


def test_a_page_is_approved() -> None:
    assert decision_in(PAGE, Given("approved")) == Filled()
    assert words_of(PAGE) == ("approved", "denied")


@pytest.mark.parametrize("question", [USER, FORM, PAGE])
def test_data_may_be_refused(question: UserQuestion | ServerQuestion) -> None:
    assert takes_content(question)
    assert decision_in(question, Given("denied", "not now")) == Denied("not now")
    assert decision_in(question, Given("abort")) == Aborted()


@pytest.mark.parametrize(
    ("question", "given", "why"),
    [
        (EXEC, Given(), "missing field `decision`"),
        (EXEC, Given("yes"), "unknown variant `yes`"),
        (EXEC, Given("approved", content={"a": 1}), "this question takes a `decision` only"),
        (USER, Given("denied", content={"why": "x"}), "a denial takes a `decision` only"),
        (USER, Given("approved"), "missing field `content`: an object with answers as `colour`, `why`, `colour.other`"),
        (USER, Given(content={}), "`content` answers nothing"),
        (USER, Given(content={"why": 7}), "`content` answers nothing"),
        (USER, Given(content={"color": "red"}), "`content` has no field `color`"),
        (FORM, Given("approved"), "the answer lacks required fields: city; give them in `content`"),
        (FORM, Given(content={"town": "Oslo"}), "`content` has no field `town`"),
    ],
)
def test_what_does_not_fit_is_refused(question: UserQuestion, given: Given, why: str) -> None:
    with pytest.raises(Refused, match=why.replace("`", ".").replace(".other", r"\.other")):
        decision_in(question, given)


def test_only_what_needs_nothing_more_can_be_approved_in_a_word() -> None:
    assert words_of(USER) == words_of(FORM) == ("denied",)
