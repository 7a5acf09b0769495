"""Codex as a colleague of an agent of Pydantic AI: python pydantic_ai_agent.py "Let Codex …"

Needs: pip install "pydantic-ai-slim[mcp,openai]" codex-mcp, and OPENAI_API_KEY for the agent that leads.
"""

import asyncio
import os
import sys

from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset


async def ask(message: str, *_: object) -> ElicitResult:
    """Codex asks before it leaves its sandbox."""
    return ElicitResult(action="accept" if input(f"{message} [y/N] ") == "y" else "decline")


async def main(task: str) -> None:
    # FastMCP passes only PATH, HOME and the like on; Codex may need more: keys, CODEX_HOME, proxies.
    server = StdioTransport("codex-mcp", ["mcp-server"], env=dict(os.environ))
    codex = MCPToolset(server, elicitation_handler=ask, log_level="warning")
    lead = Agent("openai-responses:gpt-5.5", instructions="Give work on files to Codex.", toolsets=[codex])
    async with lead:
        print((await lead.run(task)).output)


asyncio.run(main(" ".join(sys.argv[1:])))
