"""Counterparts of the recording 07: calls that are wrong, and what each is told."""

from pathlib import Path

import pytest

from tests.acceptance.recordings.exchange import (
    answered,
    as_recorded,
    event_of,
    failed,
    refused,
    scene,
    serve,
    thread_of,
)
from tests.support.servers.mcp_server import Json

SAY = scene("say")
NOBODY = "00000000-0000-7000-8000-000000000000"
BAD = "Failed to parse configuration for Codex tool: "
CONFIG = "Failed to load Codex configuration from overrides: "

CODEX_NAMES = (
    "`prompt`, `model`, `cwd`, `approval-policy`, `sandbox`, `config`, `base-instructions`, `developer-instructions`, "
    "`compact-prompt`"
)
"""The arguments of 0.153.4; we list them first, in this order."""

UNKNOWN_THREAD = f"Session not found for thread_id: {NOBODY}"

REFUSED: dict[str, tuple[str, Json, str]] = {
    "unknown tool": ("nope", {"a": 1}, "Unknown tool 'nope'"),
    "missing prompt": ("codex", {}, f"{BAD}missing field `prompt`"),
    "prompt wrong type": ("codex", {"prompt": 42}, f"{BAD}invalid type: number, expected a string"),
    "prompt null": ("codex", {"prompt": None}, f"{BAD}invalid type: null, expected a string"),
    "bad sandbox": (
        "codex",
        {"prompt": SAY, "sandbox": "none"},
        f"{BAD}unknown variant `none`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
    ),
    "model wrong type": ("codex", {"prompt": SAY, "model": 5}, f"{BAD}invalid type: number, expected a string"),
    "config wrong type": (
        "codex",
        {"prompt": SAY, "config": "x"},
        f'{BAD}invalid type: string "x", expected a map',
    ),
    "config unknown provider": (
        "codex",
        {"prompt": SAY, "config": {"model_provider": "missing"}},
        f"{CONFIG}Model provider `missing` not found",
    ),
    "reply missing thread": (
        "codex-reply",
        {"prompt": "x"},
        "Failed to parse thread_id: either threadId or conversationId must be provided",
    ),
    "reply bad uuid": (
        "codex-reply",
        {"threadId": "not-a-uuid", "prompt": "x"},
        "Failed to parse thread_id: invalid character: expected an optional prefix of `urn:uuid:` followed by "
        "[0-9a-fA-F-], found `n` at 1",
    ),
    "reply missing prompt": ("codex-reply", {"threadId": NOBODY}, f"{BAD}missing field `prompt`"),
}
"""By the recording's own names for its requests: tool, arguments, and the text of 0.153.4 to the letter."""


async def test_what_cannot_be_done_is_refused_in_the_words_of_0_153_4(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        told = {name: await server.run(tool, arguments) for name, (tool, arguments, _text) in REFUSED.items()}
        told["missing arguments"] = await server.result(server.request("tools/call", {"name": "codex"}))
        told["reply missing arguments"] = await server.result(server.request("tools/call", {"name": "codex-reply"}))
        told["reply unknown thread"] = as_recorded(await server.run("codex-reply", {"threadId": NOBODY, "prompt": "x"}))

    missing = "Missing arguments for {}"
    assert told == {
        **{name: refused(text) for name, (_tool, _arguments, text) in REFUSED.items()},
        "missing arguments": refused(missing.format("codex tool-call; the `prompt` field is required.")),
        "reply missing arguments": refused(
            missing.format("codex-reply tool-call; the `thread_id` and `prompt` fields are required.")
        ),
        "reply unknown thread": failed(NOBODY, UNKNOWN_THREAD),
    }


@pytest.mark.parametrize(
    ("tool", "arguments", "beginning"),
    [
        pytest.param(
            "codex",
            {"prompt": SAY, "frobnicate": 1},
            f"{BAD}unknown field `frobnicate`, expected one of {CODEX_NAMES}, ",
            id="unknown field",
        ),
        pytest.param(
            "codex",
            {"prompt": SAY, "config": {"model_context_window": "big"}},
            f'{CONFIG}invalid type: string "big", expected i64\nin `model_context_window`',
            id="config bad value",
        ),
        pytest.param(
            "codex-reply",
            {"threadId": NOBODY, "prompt": "x", "foo": 1},
            f"{BAD}unknown field `foo`, expected one of ",
            id="reply unknown extra field",
        ),
    ],
)
async def test_these_begin_with_the_same_words(tmp_path: Path, tool: str, arguments: Json, beginning: str) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        result = await server.run(tool, arguments)

    text: str = result["content"][0]["text"]
    assert result == refused(text)
    assert text.startswith(beginning)


async def test_what_0_153_4_did_is_still_done(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        (server.setup.work / "sub").mkdir()
        empty = await server.run("codex", {"prompt": ""})
        unknown_key = await server.run("codex", {"prompt": SAY, "config": {"no_such_key": 1}})
        relative = server.call("codex", {"prompt": SAY, "cwd": "sub"})
        below = await server.result(relative)

        for result in (empty, unknown_key, below):
            assert as_recorded(result) == answered(thread_of(result), "Good day.")
        assert event_of(server, relative, "session_configured")["cwd"] == str(server.setup.work / "sub")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"include-plan-tool": True}, id="old include-plan-tool"),
        pytest.param({"approval-policy": "untrusted"}, id="bad approval policy"),
        pytest.param({"approval-policy": "on-failure"}, id="bad approval policy 2"),
        pytest.param({"approval_policy": "never"}, id="snake_case alias"),
        pytest.param({"profile": "x"}, id="old profile field"),
    ],
)
async def test_what_0_153_4_had_dropped_or_never_knew_works(tmp_path: Path, arguments: Json) -> None:
    async with serve(tmp_path) as (server, _model):
        (server.setup.codex_home / "x.config.toml").write_text('model_reasoning_effort = "low"\n')
        await server.initialize()
        result = await server.run("codex", {"prompt": SAY, **arguments})

        assert as_recorded(result) == answered(thread_of(result), "Good day.")


async def test_conversation_id_may_be_spelled_with_an_underscore(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        thread = thread_of(await server.run("codex", {"prompt": SAY}))
        result = await server.run("codex-reply", {"conversation_id": thread, "prompt": SAY})

        assert as_recorded(result) == answered(thread, "Good day.")


async def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, model):
        await server.initialize()
        result = await server.run("codex", {"prompt": SAY, "cwd": "/no/such/dir"})

        text: str = result["content"][0]["text"]
        assert result == refused(text)
        assert text.startswith(f"{CONFIG}cwd `/no/such/dir` is not a folder")
        assert not model.requests


NO_TOOL_CALLS: dict[str, Json | None] = {
    "tools/call without name": {"arguments": {}},
    "tools/call without params": None,
    "tools/call arguments is a list": {"name": "codex", "arguments": [1]},
    "tools/call arguments is a string": {"name": "codex", "arguments": '{"prompt":1}'},
}


async def test_params_that_are_no_tool_call_are_invalid_params(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        for name, params in NO_TOOL_CALLS.items():
            answer = await server.answer(server.request("tools/call", params))
            assert answer["error"]["code"] == -32602, name


async def test_a_cursor_that_nobody_gave_out_is_ignored(tmp_path: Path) -> None:
    async with serve(tmp_path) as (server, _model):
        await server.initialize()
        with_cursor = await server.result(server.request("tools/list", {"cursor": "abc"}))

        assert with_cursor == await server.result(server.request("tools/list"))
        assert "nextCursor" not in with_cursor
