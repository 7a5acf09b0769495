"""An agent's surroundings, looked at again for every turn: branches change while agents think."""

from __future__ import annotations

from msgspec.structs import replace

from codex_mcp.base.git import Checkout, checkout_around
from codex_mcp.team.member import Member
from codex_mcp.team.profile.context import Surroundings


def look_around(member: Member) -> Surroundings:
    """Where the agent is now; its record says so from here on, and `told` is what it will have been told."""
    cwd = member.agent.cwd
    # A folder of another machine is not ours to look at. Of this one it takes a dozen looks at small files, which is
    # less than a thread would cost.
    found = Checkout() if member.is_elsewhere else checkout_around(cwd)
    seen = Surroundings(found.root, found.name, found.branch, cwd)
    member.told = seen
    member.agent = replace(member.agent, repo_root=seen.repo_root, repo_name=seen.repo_name, branch=seen.branch)
    return seen
