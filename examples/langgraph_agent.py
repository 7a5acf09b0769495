"""Codex as a colleague of an agent of LangGraph: python langgraph_agent.py "Let Codex …"

Needs: pip install langchain langchain-openai langchain-mcp-adapters codex-mcp, and OPENAI_API_KEY for the agent that
leads.
"""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult

# The adapter passes only PATH, HOME and the like on; Codex may need more: keys, CODEX_HOME, proxies.
CODEX = {"transport": "stdio", "command": "codex-mcp", "args": ["mcp-server"], "env": dict(os.environ)}


async def ask(_context: object, question: object, *_: object) -> ElicitResult:
    """Codex asks before it leaves its sandbox."""
    return ElicitResult(action="accept" if input(f"{question.message} [y/N] ") == "y" else "decline")


async def main(task: str) -> None:
    client = MultiServerMCPClient({"codex": CODEX}, callbacks=Callbacks(on_elicitation=ask))
    # get_tools() would start a server for each call, and stop it with its agents. One session keeps one server.
    async with client.session("codex") as session:
        tools = await load_mcp_tools(session)
        lead = create_agent(init_chat_model("openai:gpt-5.5", use_responses_api=True), tools)
        state = await lead.ainvoke({"messages": [{"role": "user", "content": task}]})
        print(state["messages"][-1].text)


asyncio.run(main(" ".join(sys.argv[1:])))
