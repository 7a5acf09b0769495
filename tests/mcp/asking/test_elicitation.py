"""Questions as `elicitation/create`, judged by the models of the official SDK."""

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.methods import parse_server_request

from codex_mcp.mcp.asking.elicitation import (
    client_question,
    elicitation_params,
    fetched_question,
    message_for,
    saved_by,
)
from codex_mcp.threads.questions.approvals import choices
from codex_mcp.threads.questions.questions import Method, PatchQuestion, Question
from tests.support.core.questions import (
    CHANGES,
    COMMAND,
    INNER_FORM,
    INNER_URL,
    NETWORK,
    PATCH,
    PERMISSIONS,
    TOOL,
    USER_INPUT,
    ask,
    every_question,
)


def test_a_command_is_asked_as_the_old_server_asked_with_the_reason_and_choices_beside() -> None:
    params = elicitation_params(ask(Method.EXEC, COMMAND), tool_call_id=7)
    form = params.pop("requestedSchema")
    assert isinstance(form, dict)
    assert list(form["properties"]) == ["decision", "reason"]
    assert params == {
        "message": "Allow Codex to run `/bin/bash -lc 'make docs && echo ok'` in `/home/ada/site`?\n"
        "Reason: The page must be written outside.",
        "threadId": "thread-1",
        "codex_elicitation": "exec-approval",
        "codex_mcp_tool_call_id": "7",
        "codex_event_id": "turn-1",
        "codex_call_id": "call-1",
        "codex_command": ["/bin/bash", "-lc", "make docs && echo ok"],
        "codex_cwd": "/home/ada/site",
        "codex_parsed_cmd": [{"type": "unknown", "cmd": "make docs && echo ok"}],
        "codex_proposed_execpolicy_amendment": ["make", "docs"],
        "codex_reason": "The page must be written outside.",
        "codex_available_decisions": [
            "approved",
            {"approved_execpolicy_amendment": {"proposed_execpolicy_amendment": ["make", "docs"]}},
            "denied",
            "abort",
        ],
    }


def test_without_a_reason_the_message_is_the_old_servers_to_the_letter() -> None:
    question = ask(Method.EXEC, COMMAND, reason=None)
    assert message_for(question) == "Allow Codex to run `/bin/bash -lc 'make docs && echo ok'` in `/home/ada/site`?"
    assert "codex_reason" not in elicitation_params(question, tool_call_id="a")


def test_a_patch_is_asked_with_its_changes() -> None:
    params = elicitation_params(ask(Method.PATCH, PATCH), tool_call_id="1")
    assert params["message"] == "Allow Codex to apply proposed code changes?\n- add `/home/ada/site/a.txt`"
    assert params["codex_elicitation"] == "patch-approval"
    assert params["codex_changes"] == CHANGES
    assert "codex_grant_root" not in params


def test_a_patch_with_many_files_names_the_first_twenty() -> None:
    changes = {f"/site/{number}.txt": {"type": "add"} for number in range(25)} | {"/x": "?"}
    question = PatchQuestion(thread_id="t", turn_id="u", changes=changes)
    _, *files = message_for(question).splitlines()
    assert files == [*(f"- add `/site/{number}.txt`" for number in range(20)), "- and 6 more files"]


def test_a_hostile_file_name_stays_on_its_line() -> None:
    question = PatchQuestion(thread_id="t", turn_id="u", changes={"a\nAllow everything?\x1b[2J": {"type": "nonsense"}})
    assert len(message_for(question).splitlines()) == 2
    assert message_for(question).splitlines()[1].startswith("- change `a")


def test_a_patch_has_its_reason_above_the_question() -> None:
    params = elicitation_params(ask(Method.PATCH, PATCH, reason="Outside.", grantRoot="/srv"), tool_call_id="1")
    assert str(params["message"]).startswith(
        "Outside.\nThis also allows writing below `/srv`.\nAllow Codex to apply proposed code changes?\n- "
    )
    assert params["codex_reason"] == "Outside."
    assert params["codex_grant_root"] == "/srv"


MESSAGES: list[tuple[Question, str]] = [
    (ask(Method.EXEC, NETWORK), "Allow Codex to reach `example.org` (https)?"),
    (
        ask(Method.EXEC, NETWORK, command="curl x", environmentId="box"),
        "Allow Codex to reach `example.org` (https) for `curl x` on `box`?",
    ),
    (
        ask(Method.EXEC, COMMAND, kind="writeStdin", command="y", reason=None),
        "Allow Codex to type `y` into a running terminal?",
    ),
    (
        ask(Method.EXEC, COMMAND, environmentId="box", command="ls", reason="a\nb"),
        "Allow Codex to run `ls` in `/home/ada/site` on `box`?\nReason: a\\nb",
    ),
    (
        ask(Method.EXEC, COMMAND, command="ls", reason="", additionalPermissions={"network": {"enabled": True}}),
        "Allow Codex to run `ls` in `/home/ada/site`?\n- network access",
    ),
    (
        ask(Method.PERMISSIONS, PERMISSIONS),
        "Allow Codex these permissions in `/home/ada/site`?\n- network access\n- write `/var/cache`\n"
        "Reason: The cache lies elsewhere.",
    ),
    (
        ask(Method.PERMISSIONS, PERMISSIONS, reason=None, permissions={"fileSystem": {"read": ["/a"], "write": None}}),
        "Allow Codex these permissions in `/home/ada/site`?\n- read `/a`",
    ),
    (ask(Method.USER_INPUT, USER_INPUT), "Codex asks:\nWhich colour?\nWhich token?"),
    (
        ask(Method.MCP, TOOL),
        'Allow the weather MCP server to run tool "forecast"?\nArguments: {"city":"Riga"}',
    ),
    (ask(Method.MCP, TOOL, _meta={"codex_approval_kind": "mcp_tool_call"}, message="Allow it?"), "Allow it?"),
    (ask(Method.MCP, INNER_FORM), "The MCP server weather asks: Which city?"),
]


@pytest.mark.parametrize(("question", "message"), MESSAGES)
def test_the_message_says_what_is_asked(question: Question, message: str) -> None:
    assert message_for(question) == message


def test_a_command_cannot_hide_what_it_does_from_the_person() -> None:
    question = ask(Method.EXEC, COMMAND, command="rm -rf ~ \x1b[2K\r ls", reason=None)
    assert message_for(question) == "Allow Codex to run `rm -rf ~ \\u{1b}[2K\\r ls` in `/home/ada/site`?"
    assert elicitation_params(question, tool_call_id=1)["codex_command"] == ["rm", "-rf", "~", "\x1b[2K", "ls"]


def test_a_tool_of_an_inner_server_can_be_remembered() -> None:
    params = elicitation_params(ask(Method.MCP, TOOL), tool_call_id=1)
    assert params["codex_elicitation"] == "mcp-elicitation"
    assert params["codex_mcp_server"] == "weather"
    assert params["codex_available_decisions"] == [
        "approved",
        "approved_for_session",
        "approved_mcp_policy_amendment",
        "denied",
        "abort",
    ]


def test_a_decision_says_what_rule_it_saves() -> None:
    saved = {
        each.word: saved_by(each.decision)
        for params in (NETWORK, COMMAND)
        for each in choices(ask(Method.EXEC, params))
    }
    rules = {word: rule for word, rule in saved.items() if rule}
    assert rules == {
        "network_policy_allow": "allow example.org",
        "network_policy_deny": "deny example.org",
        "approved_execpolicy_amendment": "make docs",
    }


def test_a_form_of_an_inner_server_is_forwarded_as_it_is() -> None:
    params = elicitation_params(ask(Method.MCP, INNER_FORM), tool_call_id=1)
    assert params["requestedSchema"] == INNER_FORM["requestedSchema"]
    assert "codex_available_decisions" not in params


def test_a_page_to_open_is_forwarded_in_url_mode() -> None:
    params = elicitation_params(ask(Method.MCP, INNER_URL), tool_call_id=1)
    assert (params["mode"], params["url"], params["elicitationId"]) == ("url", "https://example.org/in", "el-1")
    assert "requestedSchema" not in params


def test_a_command_that_wants_more_permissions_names_them() -> None:
    wanted = {"network": {"enabled": True}}
    params = elicitation_params(ask(Method.EXEC, COMMAND, additionalPermissions=wanted), tool_call_id=1)
    assert params["codex_permissions"] == wanted


def test_secret_questions_are_named() -> None:
    assert elicitation_params(ask(Method.USER_INPUT, USER_INPUT), tool_call_id=1)["codex_secret_questions"] == ["token"]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("question", every_question(), ids=lambda question: question.kind)
def test_the_official_sdk_reads_every_question(question: Question, version: str) -> None:
    params = elicitation_params(question, tool_call_id=1)
    read = parse_server_request("elicitation/create", version, params)
    assert isinstance(read, mcp_types.ElicitRequest)
    assert read.params.message == message_for(question)
    assert isinstance(read.params, mcp_types.ElicitRequestURLParams) == ("url" in params)


@given(st.text(), st.text(), st.text())
def test_any_text_of_the_model_makes_a_readable_question(command: str, cwd: str, reason: str) -> None:
    question = ask(Method.EXEC, COMMAND, command=command, cwd=cwd, reason=reason)
    read = mcp_types.ElicitRequestFormParams.model_validate(elicitation_params(question, tool_call_id=1))
    assert read.message.startswith("Allow Codex to run `")


def test_where_there_is_no_list_no_tool_is_named_that_does_not_exist() -> None:
    question = ask(Method.EXEC, COMMAND)
    for told in (client_question(question), fetched_question(question)):
        assert "make docs" in told
        assert "codex_approvals" not in told
