"""Pure. Every command of codex-mcp, in the groups of its help, and the folders of their modules."""

from __future__ import annotations

from typing import Final

GROUPS: Final = {
    "Set up": {
        "install": "add codex-mcp to an MCP client",
        "uninstall": "remove codex-mcp from an MCP client",
        "migrate": "replace old Codex servers in the files of your MCP clients",
        "login": "sign in to OpenAI, as the agents need it",
        "logout": "remove the sign-in",
        "doctor": "check what agents need here, with a fix for each problem",
        "config": "show every setting and where it came from",
        "update": "show how to update codex-mcp, for the way it was installed",
        "completion": "print a script that completes commands and flags in bash, zsh or fish",
        "demo": "watch an agent fix a failing test, without an account or a network",
    },
    "Serve agents": {
        "mcp-server": "serve Codex agents to an MCP client over stdio",
        "serve": "serve a team of agents with names to an MCP client",
    },
    "Look after agents": {
        "status": "show who needs you, and the servers that run with their agents",
        "threads": "list the agents of the state folder, and forget old ones",
        "approvals": "list what Codex asks a person, and answer it",
        "dashboard": "open the pages that show all agents and take your answers",
        "show": "show what an agent was asked, did and answered",
        "watch": "follow an agent while it works",
        "attach": "open the Codex TUI on an agent that runs, to look on, steer and answer",
        "interrupt": "stop what an agent is doing, and keep the agent",
        "close": "close an agent, after it has summed up its work",
        "summary": "show the summary that an agent wrote of its work when it was closed",
        "audit": "show what the agents did, and the results",
        "state": "check, upgrade, save and move what servers keep of agents",
        "mail": "send and read the messages of a team: agents, Claude Code, people",
    },
    "Run commands elsewhere": {
        "exec-server": "run commands and access files for an agent, on this or another machine",
        "exec": "run a command on an exec-server, as if it ran here",
        "rendezvous": "let executors behind firewalls register, and relay between them and their harnesses",
        "environments": "list the executors that a rendezvous knows",
    },
}

COMMANDS: Final = {name: summary for group in GROUPS.values() for name, summary in group.items()}

ALIASES: Final = {"list": "threads"}
"""Words that people type for a command."""

FOLDERS: Final = {
    "account": ("login", "logout"),
    "attach": ("attach",),
    "clients": ("install", "uninstall", "migrate"),
    "demo": ("demo",),
    "doctor": ("doctor",),
    "exec": ("exec-server", "exec", "rendezvous", "environments"),
    "mail": ("mail",),
    "people": ("approvals", "dashboard", "show", "status", "watch", "interrupt", "close"),
    "state": ("threads", "summary", "audit", "state"),
}
"""The folders of commands that are not in `cli` itself."""
