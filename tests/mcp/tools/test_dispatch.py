"""Calls of tools go to their bodies; what goes wrong is a result, and never silence."""

from pathlib import Path

import pytest

from tests.support.servers.mcp_session import NO_CODEX, FarEnd, Json, memory_session

NOBODY = "00000000-0000-7000-8000-000000000000"
BAD = "Failed to parse configuration for Codex tool: "


async def run(client: FarEnd, tool: str, arguments: object = None) -> Json:
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    result: Json = (await client.ask("tools/call", params))["result"]
    return result


def refusal(text: str) -> Json:
    return {"isError": True, "content": [{"type": "text", "text": text}]}


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("nope", {"a": 1}, "Unknown tool 'nope'"),
        ("", None, "Unknown tool ''"),
        ("codex", None, "Missing arguments for codex tool-call; the `prompt` field is required."),
        (
            "codex-reply",
            None,
            "Missing arguments for codex-reply tool-call; the `thread_id` and `prompt` fields are required.",
        ),
        ("codex", {}, f"{BAD}missing field `prompt`"),
        ("codex", {"prompt": 42}, f"{BAD}invalid type: number, expected a string"),
        (
            "codex",
            {"prompt": "hi", "sandbox": "none"},
            f"{BAD}unknown variant `none`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
        ),
        (
            "codex",
            {"prompt": "hi", "resetSession": "maybe"},
            f'{BAD}`resetSession`: invalid type: string "maybe", expected a boolean',
        ),
        (
            "codex",
            {"prompt": "hi", "wait_seconds": -1},
            f"{BAD}`wait-seconds`: invalid value: -1, expected a number that is not negative",
        ),
        (
            "codex_wait",
            {"mode": "any"},
            "Failed to parse the arguments of codex_wait: `mode`: unknown variant `any`, expected one of "
            "`first`, `all`",
        ),
        (
            "codex_wait",
            {"prompt": "hi"},
            "Failed to parse the arguments of codex_wait: unknown field `prompt`, expected one of "
            "`threadIds`, `mode`, `again`, `offset`, `timeout-seconds`",
        ),
        ("codex-reply", {"threadId": NOBODY}, f"{BAD}missing field `prompt`"),
        (
            "codex-reply",
            {"prompt": "hi"},
            "Failed to parse thread_id: either threadId or conversationId must be provided",
        ),
        (
            "codex_wait",
            {"threadIds": [NOBODY]},
            f"No turn of thread {NOBODY} is known here; codex-reply continues a thread of an earlier server.",
        ),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_result(tmp_path: Path, tool: str, arguments: object, text: str) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await run(client, tool, arguments) == refusal(text)


@pytest.mark.parametrize("character", ["x", "ä", "😀"])
async def test_a_prompt_that_is_longer_than_codex_allows_is_refused_before_anything_is_done(
    tmp_path: Path, character: str
) -> None:
    async with memory_session(tmp_path) as (client, _session):
        longest = character * (1 << 20)
        assert await run(client, "codex", {"prompt": longest, "cwd": str(tmp_path)}) == refusal(NO_CODEX)
        for tool, more in (("codex", {}), ("codex-reply", {"threadId": NOBODY})):
            refused = await run(client, tool, {"prompt": longest + character, **more})
            text = "Input exceeds the maximum length of 1048576 characters: the prompt has 1048577."
            assert refused["content"][0]["text"].startswith(text)
            assert refused["isError"] is True


async def test_without_a_codex_a_call_says_so(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        assert await run(client, "codex", {"prompt": "hi", "cwd": str(tmp_path)}) == refusal(NO_CODEX)
        assert await run(client, "codex-reply", {"prompt": "hi", "threadId": NOBODY}) == refusal(NO_CODEX)


async def test_a_folder_that_is_none_is_said_as_a_matter_of_configuration(tmp_path: Path) -> None:
    async with memory_session(tmp_path) as (client, _session):
        result = await run(client, "codex", {"prompt": "hi", "cwd": str(tmp_path / "gone")})
        assert result["content"][0]["text"].startswith("Failed to load Codex configuration from overrides: cwd `")
