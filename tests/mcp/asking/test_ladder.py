"""The approval ladder: every question, client and era has exactly one step, and a reason if the client is not asked."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.asking.ladder import (
    AT_ONCE,
    REACTION_TIME,
    REMEMBERED,
    Obstacle,
    Route,
    Step,
    Terms,
    Unattended,
    after_failure,
    is_unattended,
    obstacle_to,
    reason_for,
    route,
    supports,
    understood,
)
from codex_mcp.threads.questions.decisions import DISMISSED, NO_CAPABILITY, Denied
from codex_mcp.threads.questions.questions import Method, Question
from tests.support.core.questions import COMMAND, INNER_FORM, ask, every_question

NONE: dict[str, object] = {}
FORMS: dict[str, object] = {"elicitation": {}}
PAGES: dict[str, object] = {"elicitation": {"url": {}}}
BOTH: dict[str, object] = {"elicitation": {"form": {}, "url": {}}}

NESTED: dict[str, object] = {"type": "object", "properties": {"a": {"type": "object"}}}
QUESTIONS = [
    *every_question(),
    ask(Method.MCP, INNER_FORM, mode="url"),
    ask(Method.MCP, INNER_FORM, requestedSchema=NESTED),
    ask(Method.MCP, INNER_FORM, mode="openai/other"),
]
BOOLS = (False, True)
ALL_TERMS = [Terms(*each) for each in itertools.product((NONE, FORMS, PAGES, BOTH), BOOLS, BOOLS, BOOLS, (0.0, 600.0))]

QUESTION = ask(Method.EXEC, COMMAND)
CANCEL = {"action": "cancel"}


def terms(
    capabilities: dict[str, object] = FORMS,
    *,
    is_stateless: bool = False,
    has_person: bool = True,
    lists: bool = False,
    timeout: float = 600,
) -> Terms:
    return Terms(capabilities, is_stateless, has_person, lists, timeout)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_combination_has_the_step_of_the_table(question: Question) -> None:
    for each in ALL_TERMS:
        obstacle = obstacle_to(question, each)
        if obstacle is not None and not each.lists:
            expected = Route(Step.DENY, obstacle)
        elif not each.timeout:
            expected = Route(Step.DENY, Obstacle.NO_TIME)
        elif obstacle is not None:
            expected = Route(Step.LIST, obstacle)
        else:
            expected = Route(Step.FETCH) if each.is_stateless else Route(Step.ASK)
        assert route(question, each) == expected


@pytest.mark.parametrize("question", QUESTIONS)
def test_whoever_is_not_asked_has_an_obstacle_and_whoever_is_has_none(question: Question) -> None:
    for each in ALL_TERMS:
        taken = route(question, each)
        assert (taken.obstacle is None) == (taken.step in (Step.ASK, Step.FETCH))
        if taken.obstacle is not None:
            assert reason_for(taken.obstacle, question).startswith("no one ")


@given(st.sampled_from(QUESTIONS), st.sampled_from(ALL_TERMS))
def test_no_client_is_asked_that_cannot_show_the_question_or_has_no_person(question: Question, each: Terms) -> None:
    if route(question, each).step in (Step.ASK, Step.FETCH):
        assert each.has_person
        assert supports(each.capabilities) or supports(each.capabilities, "url")


@given(st.sampled_from(QUESTIONS), st.sampled_from(ALL_TERMS))
def test_a_question_is_listed_only_where_there_is_a_list(question: Question, each: Terms) -> None:
    taken = [route(question, each), *(after_failure(obstacle, each) for obstacle in Obstacle)]
    assert all(each.lists for one in taken if one.step is Step.LIST)


def test_a_client_that_turns_out_not_to_be_there_leaves_the_question_to_the_list_or_denies_it() -> None:
    assert after_failure(Obstacle.GONE, terms(lists=True)) == Route(Step.LIST, Obstacle.GONE)
    assert after_failure(Obstacle.GONE, terms()) == Route(Step.DENY, Obstacle.GONE)


def test_a_cancel_at_once_means_no_person_where_there_is_a_list_and_is_a_denial_elsewhere() -> None:
    assert understood(QUESTION, CANCEL, terms(lists=True), 0.01) is Obstacle.NO_PERSON
    assert understood(QUESTION, CANCEL, terms(), 0.01) == Denied(DISMISSED)
    assert understood(QUESTION, CANCEL, terms(lists=True), 1) == Denied(DISMISSED)


CAPABILITIES: list[tuple[dict[str, object], bool, bool]] = [
    ({}, False, False),
    ({"elicitation": None}, False, False),
    ({"elicitation": True}, False, False),
    ({"elicitation": {}}, True, False),
    ({"elicitation": {"form": {}}}, True, False),
    ({"elicitation": {"url": {}}}, False, True),
    ({"elicitation": {"form": {}, "url": {}}}, True, True),
    ({"elicitation": {"form": None, "url": {}}}, False, True),
    ({"elicitation": {"applyDefaults": True}}, True, False),
    ({"sampling": {}}, False, False),
]


@pytest.mark.parametrize(("capabilities", "form", "url"), CAPABILITIES)
def test_a_client_can_be_asked_what_it_declared(capabilities: dict[str, object], *, form: bool, url: bool) -> None:
    assert supports(capabilities) is form
    assert supports(capabilities, "url") is url


def test_every_question_can_be_asked_of_a_client_that_declared_both_modes() -> None:
    assert [obstacle_to(question, terms(BOTH)) for question in every_question()] == [None] * len(every_question())


def test_a_client_without_elicitation_is_not_asked() -> None:
    for question in every_question():
        assert obstacle_to(question, terms(NONE)) is not None
    assert obstacle_to(QUESTION, terms(NONE)) is Obstacle.NO_ELICITATION
    assert reason_for(Obstacle.NO_ELICITATION, QUESTION) == NO_CAPABILITY


REFUSED: list[tuple[dict[str, object], str]] = [
    (
        {"mode": "url"},
        "no one could be asked: the MCP server weather wants a page opened, which the MCP client does not support",
    ),
    (
        {"requestedSchema": NESTED},
        "no one could be asked: the MCP server weather sent a form that MCP clients cannot show",
    ),
    (
        {"mode": "openai/other"},
        "no one could be asked: the MCP server weather asks in a way (openai/other) that MCP has no form for",
    ),
]


@pytest.mark.parametrize(("changed", "why"), REFUSED)
def test_what_a_client_cannot_show_is_refused_with_the_reason(changed: dict[str, object], why: str) -> None:
    question = ask(Method.MCP, INNER_FORM, **changed)
    obstacle = obstacle_to(question, terms())
    assert obstacle is not None
    assert reason_for(obstacle, question) == why


@pytest.mark.parametrize(
    ("answer", "seconds", "load", "unattended"),
    [
        (CANCEL, 0.0, 0.0, True),
        (CANCEL, 0.01, 1.0, True),
        ({"action": "cancel", "content": None}, 0.01, 1.0, True),
        (CANCEL, AT_ONCE, 0.0, True),
        (CANCEL, AT_ONCE + 0.001, 0.0, False),
        (CANCEL, AT_ONCE + 0.001, 1.0, False),
        (CANCEL, 0.2, 5.0, True),
        (CANCEL, REACTION_TIME, 100.0, True),
        (CANCEL, REACTION_TIME + 0.001, 100.0, False),
        (CANCEL, 2.0, 0.0, False),
        (CANCEL, -1.0, 0.0, False),
        ({"action": "decline"}, 0.01, 0.0, False),
        ({"action": "accept"}, 0.01, 0.0, False),
        ({"action": "cancel", "decision": "denied"}, 0.01, 0.0, False),
        ({"decision": "abort"}, 0.01, 0.0, False),
        ("cancel", 0.01, 0.0, False),
        (None, 0.01, 0.0, False),
    ],
)
def test_only_a_cancel_at_once_means_that_no_person_is_there(
    answer: object, seconds: float, load: float, *, unattended: bool
) -> None:
    assert is_unattended(answer, seconds, load) is unattended


def test_a_client_without_a_person_is_remembered_for_a_while() -> None:
    clients = Unattended()
    assert not clients.has("ada", 0)
    clients.add("ada", 0)
    assert clients.has("ada", REMEMBERED - 1)
    assert not clients.has("bob", 1)
    assert not clients.has("ada", REMEMBERED)
    assert not clients.has("ada", 1), "it was forgotten"


def test_of_too_many_clients_the_oldest_is_forgotten() -> None:
    clients = Unattended(max_clients=2)
    for caller in ("ada", "bob", "ada", "eve"):
        clients.add(caller, 0)
    assert [clients.has(caller, 1) for caller in ("ada", "bob", "eve")] == [True, False, True]
