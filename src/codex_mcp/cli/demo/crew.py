"""`codex-mcp demo --team`: three agents in worktrees of their own, and the page on which a person looks after them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from codex_mcp.base.processes.programs import OURSELVES
from codex_mcp.cli.demo.sandbox import Rights, find_rights
from codex_mcp.cli.demo.screen import Screen, Who
from codex_mcp.cli.demo.workshop import Workshop
from codex_mcp.cli.mcp_client.client import ServerLaunch, Unattended, connect
from codex_mcp.cli.pages.own_pages import own_pages
from codex_mcp.scripted_model.load import PACKAGED

TITLE: Final = "codex-mcp demo --team: three agents, and the page on which you look after them"
INTRODUCTION: Final = "No account, no network: the model plays a script. All the rest is real."

AGENTS: Final[Mapping[str, str]] = {
    "api": "The test fails: make total add up every price, and publish the branch.",
    "docs": "Please document the module, and check the examples.",
    "review": "Please review how the shop adds up, and tell the others.",
}
"""By name, what each is asked."""

ROLES: Final = {"api": "backend", "docs": "writer", "review": "reviewer"}

PERSON: Final = "you"
LEAD: Final = "team-lead"
"""Whose mail yours is: the one who leads the agents."""

SIGN_IN: Final = (
    "Open {url}\nIt works once, for one minute (Enter prints another link).\nThe code in it is {code}.\n"
    "api asks for an answer: give it there.\nCtrl-C ends the agents and removes the folder."
)


async def play_crew(screen: Screen, workshop: Workshop) -> None:
    """Until a signal arrives."""
    screen.heading(TITLE, INTRODUCTION)
    rights = find_rights(str(workshop.codex_home), workshop.environment)
    state_dir = os.path.join(str(workshop.folder), "state")
    async with connect(_server(workshop, state_dir), Unattended()) as client:
        greeting = await client.initialize(can_ask=False)
        version = greeting.server_info.version
        screen.says(Who.SERVER, f"codex-mcp {version} on Codex {rights.codex_version}, over stdio.")
        for name, prompt in AGENTS.items():
            screen.says(Who.YOU, f"{name}: {prompt}")
            await client.call_tool("codex", _start(name, prompt, workshop, rights))
        async with own_pages(state_dir, str(workshop.codex_home), 0) as pages:

            def tell() -> None:
                url, _ = pages.sign_in(PERSON, view=False, writes_as=LEAD)
                screen.line(SIGN_IN.format(url=url, code=url.rpartition("=")[2]))

            tell()
            await pages.until_stopped(tell)


def _server(workshop: Workshop, state_dir: str) -> ServerLaunch:
    flags = [
        "--scripted",
        str(PACKAGED / "crew.toml"),
        "--state-dir",
        state_dir,
        "--team",
        "shop",
        "--shutdown-grace",
        "0",
    ]
    argv = [*OURSELVES, "serve", *flags, "-c", "tools.update_plan.enabled=true"]
    return ServerLaunch(argv, workshop.environment, str(workshop.repository))


def _start(name: str, prompt: str, workshop: Workshop, rights: Rights) -> dict[str, object]:
    sandbox = "workspace-write" if not rights.trouble else rights.sandbox
    return {
        "prompt": prompt,
        "identity": name,
        "tag": ROLES[name],
        "cwd": str(workshop.repository),
        "worktree": True,
        "sandbox": sandbox,
        "approval-policy": rights.approval_policy,
        "background": True,
    }
