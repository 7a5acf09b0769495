"""Codex from a program of yours, with the Python SDK of MCP: python python_sdk.py one|approval|long|two

Needs: pip install "mcp>=2" codex-mcp. With mcp 1, structured_content is called structuredContent.
"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

# The SDK passes only PATH, HOME and the like on; Codex may need more: keys, CODEX_HOME, proxies.
CODEX = StdioServerParameters(command="codex-mcp", args=["mcp-server"], env=dict(os.environ))


async def ask(_context: object, question: object) -> ElicitResult:
    """Codex asks before it leaves its sandbox."""
    accepted = input(f"{question.message} [y/N] ") == "y"
    return ElicitResult(action="accept" if accepted else "decline", content={})


async def one(codex: ClientSession) -> None:
    done = await codex.call_tool("codex", {"prompt": "List the files of this folder."})
    print(done.structured_content["content"])
    again = {"threadId": done.structured_content["threadId"], "prompt": "Which of them is the largest?"}
    print((await codex.call_tool("codex-reply", again)).structured_content["content"])


async def approval(codex: ClientSession) -> None:
    asked = {"prompt": "Write NOTES.md.", "sandbox": "read-only", "approval-policy": "on-request"}
    print((await codex.call_tool("codex", asked)).structured_content["content"])


async def long(codex: ClientSession) -> None:
    """A call may take hours; progress comes every few seconds. Or it returns, and the answer is collected."""

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        print(message)

    work = {"prompt": "Work for a while."}
    print((await codex.call_tool("codex", work, progress_callback=progress)).structured_content["content"])
    print((await codex.call_tool("codex", {**work, "background": True})).structured_content["status"])
    print((await codex.call_tool("codex_wait", {})).structured_content["finished"][0]["content"])


async def two(codex: ClientSession) -> None:
    calls = (codex.call_tool("codex", {"prompt": f"You are the {who} one. Work."}) for who in ("first", "second"))
    for done in await asyncio.gather(*calls):
        print(done.structured_content["content"])


async def main(what: str) -> None:
    async with stdio_client(CODEX) as streams, ClientSession(*streams, elicitation_callback=ask) as codex:
        await codex.initialize()
        await {"one": one, "approval": approval, "long": long, "two": two}[what](codex)


asyncio.run(main(sys.argv[1]))
