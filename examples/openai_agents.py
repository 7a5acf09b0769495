"""Codex as a colleague of an agent of OpenAI's Agents SDK: python openai_agents.py "Let Codex …"

Needs: pip install openai-agents codex-mcp, and OPENAI_API_KEY for the agent that leads.
"""

import asyncio
import os
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

# The SDK passes only PATH, HOME and the like on; Codex may need more: keys, CODEX_HOME, proxies.
TEAM = {"command": "codex-mcp", "args": ["serve"], "env": dict(os.environ)}


async def main(task: str) -> None:
    # By default the SDK waits five seconds for a tool. Nothing is lost then, but each wait costs a turn of the lead.
    # It cannot show a question of Codex to a person: the lead decides it with codex_approvals, if you allow that.
    async with MCPServerStdio(
        params=TEAM,
        client_session_timeout_seconds=3600,
        cache_tools_list=True,
        require_approval={"always": {"tool_names": ["codex_approvals"]}},
    ) as codex:
        lead = Agent(name="Lead", instructions="Give work on files to Codex.", mcp_servers=[codex])
        result = await Runner.run(lead, task, max_turns=50)
        while result.interruptions:
            state = result.to_state()
            for asked in result.interruptions:
                if input(f"{asked.name} {asked.arguments} [y/N] ") == "y":
                    state.approve(asked)
                else:
                    state.reject(asked)
            result = await Runner.run(lead, state, max_turns=50)
        print(result.final_output)


asyncio.run(main(" ".join(sys.argv[1:])))
