"""What an attached TUI may ask for, and what becomes of it."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codex_mcp.mcp.control.attach import rules
from codex_mcp.mcp.control.attach.rules import (
    TABLE,
    Ask,
    Begin,
    Does,
    Level,
    Scope,
    Steer,
    Stop,
    Tell,
    Warn,
    verdict_on,
)
from codex_mcp.wire.app.requests import ImageInput, LocalImageInput, TextInput
from codex_mcp.wire.jsonrpc import METHOD_NOT_FOUND, ErrorObject

MINE = Scope("mine", "/site")
WATCHING = Scope("mine", "/site", Level.WATCH)

LOOSENS = {
    "cwd": "/",
    "approvalPolicy": "never",
    "approvalsReviewer": "auto_review",
    "sandbox": "danger-full-access",
    "sandboxPolicy": {"type": "dangerFullAccess"},
    "permissions": "full",
    "environments": [],
    "runtimeWorkspaceRoots": ["/"],
    "model": "another",
    "config": {"sandbox_mode": "danger-full-access"},
    "path": "/somebody/else.jsonl",
    "refreshToken": True,
    "includeLayers": True,
}
"""What a TUI adds to its requests, or could."""

SAID = [{"type": "text", "text": "hello", "text_elements": []}]

METHODS = [*TABLE, "thread/somethingNew", "account/gatewayOAuth/read", ""]
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.lists(each), max_leaves=4)
PARAMS = st.dictionaries(st.sampled_from(["threadId", "input", "turnId", "cwds", *LOOSENS]), VALUES, max_size=6)


def params(**more: object) -> dict[str, object]:
    return {"threadId": "mine", **LOOSENS, **more}


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(PARAMS, st.sampled_from([MINE, WATCHING]))
def test_no_request_is_passed_on_with_a_setting_or_to_another_thread(
    method: str, given_params: dict[str, object], scope: Scope
) -> None:
    verdict = verdict_on(method, {**LOOSENS, "threadId": "mine", **given_params}, scope)
    if not isinstance(verdict, Ask):
        return
    assert TABLE[method].does is Does.ASK
    assert verdict.params.get("threadId", "mine") == "mine"
    assert verdict.params.get("cwd", "/site") == "/site"
    assert verdict.params.get("cwds", ["/site"]) == ["/site"]
    assert not set(verdict.params) & (set(LOOSENS) - {"cwd"})


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=20)
@given(PARAMS)
def test_who_only_watches_does_nothing(method: str, given_params: dict[str, object]) -> None:
    verdict = verdict_on(method, {**given_params, "threadId": "mine", "input": SAID}, WATCHING)
    assert not isinstance(verdict, Begin | Steer | Stop)


@given(st.text(max_size=40).filter(lambda method: method not in TABLE))
def test_what_is_not_in_the_table_is_refused(method: str) -> None:
    verdict = verdict_on(method, {"threadId": "mine"}, MINE)
    assert isinstance(verdict, ErrorObject)
    assert verdict.code == METHOD_NOT_FOUND


@pytest.mark.parametrize("method", [method for method, row in TABLE.items() if row.of_thread])
def test_another_thread_does_not_exist(method: str) -> None:
    for thread in ({"threadId": "other"}, {}, {"threadId": None}, {"threadId": ["mine"]}):
        assert verdict_on(method, {**thread, "input": SAID}, MINE) == ErrorObject(-32600, rules.OTHER_THREAD)


def test_every_request_about_threads_names_the_thread_or_is_answered_here() -> None:
    about = {method for method in TABLE if method.startswith(("thread/", "turn/"))}
    for method in about:
        row = TABLE[method]
        assert row.of_thread or row.does in (Does.REFUSE, Does.WARN, Does.KNOW), method


@pytest.mark.parametrize(
    "method",
    [
        "thread/shellCommand",
        "thread/settings/update",
        "config/batchWrite",
        "config/value/write",
        "thread/start",
        "thread/fork",
        "command/exec",
        "fs/writeFile",
        "process/spawn",
        "account/logout",
        "review/start",
        "thread/compact/start",
        "thread/goal/set",
    ],
)
def test_what_would_loosen_or_change_the_agent_is_not_done_and_says_why(method: str) -> None:
    verdict = verdict_on(method, params(), MINE)
    assert isinstance(verdict, ErrorObject | Warn)
    assert len(verdict.message if isinstance(verdict, ErrorObject) else verdict.why) > 20


def test_what_is_done_beside_the_agent_is_answered_without_an_error() -> None:
    """The TUI of 0.163.0 ends when one of these fails."""
    warned = {method for method, row in TABLE.items() if row.does is Does.WARN}
    assert warned == {
        "thread/shellCommand",
        "review/start",
        "thread/compact/start",
        "thread/archive",
        "thread/delete",
        "thread/name/set",
        "thread/backgroundTerminals/clean",
        "thread/backgroundTerminals/terminate",
    }


def test_a_prompt_is_only_what_was_said() -> None:
    mixed = [
        *SAID,
        {"type": "skill", "name": "x", "path": "/x"},
        {"type": "image", "url": "data:image/png;base64,AA"},
        {"type": "localImage", "path": "/a.png"},
        {"type": "text", "text": ""},
        "odd",
    ]
    parts = (TextInput("hello"), ImageInput("data:image/png;base64,AA"), LocalImageInput("/a.png"))
    assert verdict_on("turn/start", params(input=mixed, clientUserMessageId="m"), MINE) == Begin(parts, "m")
    steer = verdict_on("turn/steer", params(input=SAID, expectedTurnId="u", clientUserMessageId="m"), MINE)
    assert steer == Steer((TextInput("hello"),), "u", "m")
    assert verdict_on("turn/interrupt", params(turnId="u"), MINE) == Stop("u")


@pytest.mark.parametrize("nothing", [None, [], "hello", [{"type": "text"}], [{"type": "text", "text": ""}]])
def test_an_empty_prompt_is_refused(nothing: object) -> None:
    assert verdict_on("turn/start", params(input=nothing), MINE) == ErrorObject(-32602, rules.NO_PROMPT)


def test_a_prompt_has_so_many_parts_at_most() -> None:
    most = SAID * rules.MOST_PARTS
    assert isinstance(verdict_on("turn/start", params(input=most), MINE), Begin)
    assert verdict_on("turn/start", params(input=[*most, *SAID]), MINE) == ErrorObject(-32602, rules.TOO_MANY_PARTS)
    pictures = [{"type": "localImage", "path": "/a.png"}] * (rules.MOST_PICTURES + 1)
    assert verdict_on("turn/start", params(input=pictures), MINE) == ErrorObject(-32602, rules.TOO_MANY_PARTS)


def test_folders_are_those_of_the_agent() -> None:
    assert verdict_on("skills/list", {"cwds": ["/", "/etc"]}, MINE) == Ask("skills/list", {"cwds": ["/site"]})
    assert verdict_on("config/read", params(), MINE) == Ask("config/read", {"cwd": "/site"})
    page = verdict_on("thread/turns/list", params(cursor="c", limit=5), MINE)
    assert page == Ask("thread/turns/list", {"threadId": "mine", "cursor": "c", "limit": 5})


def test_the_server_answers_what_it_knows() -> None:
    assert isinstance(verdict_on("thread/resume", params(), WATCHING), Tell)
    assert isinstance(verdict_on("initialize", {}, WATCHING), Tell)


def test_an_unknown_method_is_shown_safely() -> None:
    verdict = verdict_on("x\x1b[2J" * 100, {}, MINE)
    assert isinstance(verdict, ErrorObject)
    assert "\x1b" not in verdict.message
    assert len(msgspec.json.encode(verdict)) < 1000
