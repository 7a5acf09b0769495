"""Codex as a colleague of an agent of Google's ADK: python google_adk.py "Let Codex …"

Needs: pip install "google-adk[mcp]" codex-mcp, and GOOGLE_API_KEY for the agent that leads.
"""

import asyncio
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters
from mcp.types import ElicitResult

# ADK passes only PATH, HOME and the like on; Codex may need more: keys, CODEX_HOME, proxies.
CODEX = StdioServerParameters(command="codex-mcp", args=["mcp-server"], env=dict(os.environ))


async def ask(_context: object, question: object) -> ElicitResult:
    """Codex asks before it leaves its sandbox."""
    accepted = input(f"{question.message} [y/N] ") == "y"
    return ElicitResult(action="accept" if accepted else "decline", content={})


async def main(task: str) -> None:
    # By default ADK waits five seconds for a tool.
    codex = McpToolset(
        connection_params=StdioConnectionParams(server_params=CODEX, timeout=3600), elicitation_callback=ask
    )
    lead = LlmAgent(name="lead", model="gemini-3-pro", instruction="Give work on files to Codex.", tools=[codex])
    runner = InMemoryRunner(agent=lead, app_name="codex")
    session = await runner.session_service.create_session(app_name="codex", user_id="me")
    said = types.Content(role="user", parts=[types.Part(text=task)])
    async for event in runner.run_async(user_id="me", session_id=session.id, new_message=said):
        if event.is_final_response():
            print(event.content.parts[0].text)
    await codex.close()


asyncio.run(main(" ".join(sys.argv[1:])))
