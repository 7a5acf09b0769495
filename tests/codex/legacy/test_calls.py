"""Calls of the tools of an old Codex: their arguments, and how their answers fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.codex.core import ConfigRefused, CoreError, CoreLost, ThreadSpec, TurnSettings, TurnSpec
from codex_mcp.codex.legacy.calls import (
    NO_SUBAGENTS,
    UNOWNED,
    Abilities,
    abilities,
    check_turn,
    failure_of,
    left_out,
    reply_arguments,
    start_arguments,
)
from codex_mcp.rpc.errors import AnswerTooLong, ConnectionLost, request_failed
from codex_mcp.wire.app.requests import UncommittedChanges
from codex_mcp.wire.jsonrpc import ErrorObject
from codex_mcp.wire.legacy import InputSchema, Tool, Tools

POLICIES = {"type": "string", "enum": ["on-request", "never"]}
SCHEMA: dict[str, dict[str, object]] = {
    "prompt": {"type": "string"},
    "config": {"type": "object"},
    "cwd": {},
    "model": {},
    "approval-policy": {**POLICIES},
}
ABLE = Abilities(
    "0.153.4", {"prompt": (), "config": (), "cwd": (), "model": (), "approval-policy": ("on-request", "never")}
)


def test_what_it_takes_is_read_from_its_own_list() -> None:
    tools = Tools([Tool("codex", InputSchema(SCHEMA)), Tool("codex-reply")])
    assert abilities("0.153.4", tools) == ABLE


@pytest.mark.parametrize("names", [[], ["codex"], ["codex-reply", "other"]])
def test_another_server_is_refused(names: list[str]) -> None:
    with pytest.raises(CoreError, match=r"cannot use Codex 0\.1\.0: its mcp-server does not offer the tools"):
        abilities("0.1.0", Tools([Tool(name) for name in names]))


def test_everything_that_was_said_and_that_it_takes_is_given() -> None:
    spec = ThreadSpec(cwd="/x", model="m", approval_policy="never", sandbox="read-only", developer_instructions="be")
    assert start_arguments(spec, "do", {}, ABLE) == {
        "prompt": "do",
        "cwd": "/x",
        "model": "m",
        "approval-policy": "never",
        "config": {**UNOWNED, **NO_SUBAGENTS},
    }
    assert left_out(spec, ABLE) == ["developer-instructions", "sandbox"]


def test_the_servers_own_configuration_counts_and_a_threads_wins() -> None:
    given = start_arguments(ThreadSpec(config={"a.b": 1}), "do", {"a": {"b": 0, "c": 2}, "d": 3}, ABLE)
    assert given["config"] == {"a.b": 1, "a.c": 2, "d": 3, **UNOWNED, **NO_SUBAGENTS}


@pytest.mark.parametrize(("version", "more"), [("0.144.6", {}), ("0.145.0", NO_SUBAGENTS)])
def test_what_cannot_be_owned_is_off_whatever_a_caller_says(version: str, more: dict[str, bool]) -> None:
    spec = ThreadSpec(config={"features": {"multi_agent": True, "other": True}, "approvals_reviewer": "auto_review"})
    given = start_arguments(spec, "do", {"features.goals": True}, Abilities(version, {"config": ()}))
    assert given["config"] == {"features.other": True, **UNOWNED, **more}


def test_a_word_that_it_does_not_know_is_refused_with_those_that_it_knows() -> None:
    with pytest.raises(
        ConfigRefused, match=r"`untrusted` is not known to Codex 0\.153\.4, which knows on-request, never"
    ):
        start_arguments(ThreadSpec(approval_policy="untrusted"), "do", {}, ABLE)


@given(st.text(), st.sets(st.sampled_from(["cwd", "model", "approval-policy", "config"])))
def test_nothing_is_given_that_it_does_not_take(prompt: str, names: set[str]) -> None:
    able = Abilities("0.1", {"prompt": (), **dict.fromkeys(names, ())})
    spec = ThreadSpec(cwd="/x", model="m", approval_policy="never", sandbox="read-only", config={"a": 1})
    given_arguments = start_arguments(spec, prompt, {}, able)
    assert given_arguments.keys() == {"prompt", *names}
    assert given_arguments["prompt"] == prompt


def test_a_reply_names_its_thread() -> None:
    assert reply_arguments("t", "go on") == {"threadId": "t", "prompt": "go on"}


@pytest.mark.parametrize(
    ("turn", "thread", "lacks"),
    [
        (TurnSpec("x", images=("/a.png",)), ThreadSpec(), "no images;"),
        (TurnSpec("x", output_schema={}), ThreadSpec(), "no output schemas;"),
        (TurnSpec("x", images=("/a.png",), output_schema={}), ThreadSpec(), "no images and no output schemas;"),
        (TurnSpec("x"), ThreadSpec(environment="local"), "no exec-servers;"),
        (TurnSpec(review=UncommittedChanges()), ThreadSpec(), "no reviews;"),
        (
            TurnSpec("x", settings=TurnSettings(model="b")),
            ThreadSpec(model="a"),
            "no change of the model in a conversation;",
        ),
        (
            TurnSpec("x", settings=TurnSettings(effort="low")),
            ThreadSpec(),
            "no change of the effort in a conversation;",
        ),
    ],
)
def test_what_no_old_codex_can_do_is_refused(turn: TurnSpec, thread: ThreadSpec, lacks: str) -> None:
    with pytest.raises(CoreError, match=f"Codex 0.104.0 knows {lacks} leave that out"):
        check_turn(turn, thread, "0.104.0")


def test_a_plain_prompt_is_fine() -> None:
    check_turn(TurnSpec("x"), ThreadSpec(), "0.104.0")
    spec = ThreadSpec(model="a", config={"model_reasoning_effort": "low"})
    check_turn(TurnSpec("x", settings=TurnSettings(model="a", effort="low")), spec, "0.104.0")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Raw(b'{"content": [{"type": "text", "text": "well"}]}'), None),
        (Raw(b'{"content": [{"type": "text", "text": "no model"}], "isError": true}'), "no model"),
        (Raw(b'{"content": [], "isError": true}'), "Codex did not say why"),
        (request_failed(1, "refused"), "refused"),
        (AnswerTooLong(ErrorObject(1, "too long")), None),
        (ConnectionLost(), "Codex ended before the turn had ended"),
    ],
)
def test_a_call_fails_by_an_error_and_not_by_the_length_of_its_answer(answer: Raw | Exception, why: str | None) -> None:
    failure = failure_of(answer)
    assert (None if failure is None else str(failure)) == why
    assert isinstance(failure, CoreLost) is isinstance(answer, ConnectionLost)


def test_an_answer_that_cannot_be_read_is_a_failure() -> None:
    assert "in a form that this release cannot read" in str(failure_of(Raw(b"7")))
