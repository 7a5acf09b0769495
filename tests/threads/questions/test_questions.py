"""Requests of the app-server become questions, or say why they do not."""

import shlex

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codex_mcp.codex.reading import read_question
from codex_mcp.threads.events.commands import argv
from codex_mcp.threads.questions.questions import (
    CommandQuestion,
    Method,
    PatchQuestion,
    QuestionKind,
    ServerQuestion,
    UserQuestion,
    command_argv,
    question_from,
)
from codex_mcp.wire.app.questions import NetworkAmendment, ToolCallRequest, UnreadableQuestion
from tests.support.core.questions import (
    CHANGES,
    COMMAND,
    IDS,
    INNER_FORM,
    NETWORK,
    OLD_COMMAND,
    OLD_PATCH,
    PATCH,
    REQUESTS,
    RULE,
    TOOL,
    USER_INPUT,
    ask,
    asked,
    every_question,
)

SPOILED: st.SearchStrategy[object] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text()), st.just({})
)


def test_every_request_gives_the_question_of_its_kind() -> None:
    assert [question.kind for question in every_question()] == [
        QuestionKind.EXEC,
        QuestionKind.EXEC,
        QuestionKind.PATCH,
        QuestionKind.PERMISSIONS,
        QuestionKind.USER_INPUT,
        QuestionKind.MCP,
        QuestionKind.MCP,
        QuestionKind.MCP,
    ]
    assert [question.method for question in every_question()] == [method for method, _ in REQUESTS]


def test_a_command_question_has_all_that_a_person_must_see() -> None:
    assert ask(Method.EXEC, COMMAND) == CommandQuestion(
        thread_id="thread-1",
        turn_id="turn-1",
        item_id="call-1",
        reason="The page must be written outside.",
        command_line="/bin/bash -lc 'make docs && echo ok'",
        command=("/bin/bash", "-lc", "make docs && echo ok"),
        cwd="/home/ada/site",
        parsed_cmd=({"type": "unknown", "cmd": "make docs && echo ok"},),
        environment="local",
        proposed_rule=("make", "docs"),
        offers_session=False,
    )


def test_a_network_question_has_the_host_and_each_proposed_rule_once() -> None:
    allow = {"applyNetworkPolicyAmendment": {"network_policy_amendment": {"host": "example.org", "action": "allow"}}}
    question = ask(Method.EXEC, NETWORK, availableDecisions=["accept", "acceptForSession", allow])
    assert isinstance(question, CommandQuestion)
    assert question.network is not None
    assert question.network.host == "example.org"
    assert question.network_rules == (NetworkAmendment("example.org", "allow"), NetworkAmendment("example.org", "deny"))
    assert question.offers_session


def test_a_patch_question_carries_the_changes_that_were_remembered() -> None:
    question = ask(Method.PATCH, PATCH, grantRoot="/srv")
    assert isinstance(question, PatchQuestion)
    assert question.changes == CHANGES
    assert question.grant_root == "/srv"


def test_a_patch_whose_changes_are_not_remembered_is_still_a_question() -> None:
    question = question_from(asked(Method.PATCH, PATCH))
    assert isinstance(question, PatchQuestion)
    assert question.changes == {}


def test_user_questions_keep_their_flags() -> None:
    question = ask(Method.USER_INPUT, USER_INPUT)
    assert isinstance(question, UserQuestion)
    assert [(each.is_other, each.is_secret) for each in question.questions] == [(True, False), (False, True)]


def test_codex_asking_about_a_tool_differs_from_a_server_asking_the_user() -> None:
    tool, form = ask(Method.MCP, TOOL), ask(Method.MCP, INNER_FORM)
    assert isinstance(tool, ServerQuestion)
    assert isinstance(form, ServerQuestion)
    assert (tool.is_tool_approval, tool.offers_session, tool.offers_always) == (True, True, True)
    assert (form.is_tool_approval, form.offers_session, form.offers_always, form.turn_id) == (False, False, False, "")


def test_a_form_with_fields_is_never_taken_for_codex_asking_about_a_tool() -> None:
    question = ask(Method.MCP, INNER_FORM, _meta=TOOL["_meta"])
    assert isinstance(question, ServerQuestion)
    assert not question.is_tool_approval


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("touch a.txt", ("touch", "a.txt")),
        ("/bin/bash -lc 'a && b'", ("/bin/bash", "-lc", "a && b")),
        ("echo 'unfinished", ("bash", "-lc", "echo 'unfinished")),
        ("", ()),
    ],
)
def test_a_command_line_becomes_a_list(line: str, words: tuple[str, ...]) -> None:
    assert command_argv(line) == words


@given(st.text())
@example("echo 'x")
def test_events_and_questions_have_one_list_for_a_command(line: str) -> None:
    assert list(command_argv(line)) == argv(line)


@given(st.lists(st.text(), min_size=1))
def test_a_joined_command_splits_into_what_was_joined(words: list[str]) -> None:
    assert command_argv(shlex.join(words)) == tuple(words)


def test_a_request_that_we_do_not_know_says_so() -> None:
    for method in ("item/new/request", ToolCallRequest.method):
        why = f"cannot ask the user: {method} is not a question that we know"
        unknown = asked(method, {**IDS, "callId": "call-1", "tool": "mail"})
        assert question_from(unknown) == UnreadableQuestion(method, why, "thread-1")


@given(st.sampled_from(Method), st.binary())
def test_garbage_is_an_error_value(method: Method, params: bytes) -> None:
    assert isinstance(question_from(read_question(method, msgspec.Raw(params))), UnreadableQuestion)


@given(st.sampled_from(REQUESTS), st.data())
def test_a_request_with_one_field_spoiled_never_raises(sent: tuple[Method, object], data: st.DataObject) -> None:
    method, params = sent
    assert isinstance(params, dict)
    name = data.draw(st.sampled_from(sorted(params)))
    value: object = data.draw(SPOILED)
    question_from(asked(method, params, **{name: value}))


def test_nesting_deeper_than_the_decoder_goes_is_an_error_value() -> None:
    deep = b'{"threadId":"t","serverName":"s","mode":"form","requestedSchema":' + b'{"a":' * 100_000
    assert isinstance(question_from(read_question(Method.MCP, msgspec.Raw(deep))), UnreadableQuestion)


def test_a_command_of_an_old_codex_is_asked_about_with_what_its_event_said() -> None:
    question = ask(Method.OLD, OLD_COMMAND)
    assert isinstance(question, CommandQuestion)
    assert question.is_old
    assert (question.thread_id, question.turn_id, question.item_id) == ("thread-1", "turn-1", "call-1")
    assert (question.command, question.command_line) == (("/bin/bash", "-lc", "make docs"), "/bin/bash -lc 'make docs'")
    assert (question.reason, question.cwd) == ("The page must be written outside.", "/home/ada/site")
    assert (question.proposed_rule, question.offers_session) == (tuple(RULE), False)


def test_a_command_of_an_old_codex_that_was_not_announced_is_asked_about_all_the_same() -> None:
    question = ask(Method.OLD, OLD_COMMAND, announced=None)
    assert isinstance(question, CommandQuestion)
    assert (question.reason, question.proposed_rule, question.offers_session) == ("", (), True)


def test_a_patch_of_an_old_codex_brings_its_changes() -> None:
    question = ask(Method.OLD, OLD_PATCH)
    assert isinstance(question, PatchQuestion)
    assert (question.is_old, question.changes, question.grant_root) == (True, CHANGES, "/home/ada")
