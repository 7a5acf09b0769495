"""What followers of environments and of the health of this server are told, and how often it is looked at."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from codex_mcp import __version__
from codex_mcp.base.files import read_regular
from codex_mcp.base.secrets.redact import redact
from codex_mcp.base.settings.environments import LOCAL_ENVIRONMENT
from codex_mcp.codex.environments import NOT_IN_USE, EnvironmentState
from codex_mcp.mcp.control.inside import Inside
from codex_mcp.mcp.control.mail import EVERY, MailLook
from codex_mcp.mcp.control.rows import Look, Row
from codex_mcp.threads.limits.rate_limits import described
from codex_mcp.wire import control

LOOK_EVERY: Final = 2.0
"""Seconds between two looks at environments, and at the server itself."""

NEVER: Final = EnvironmentState(NOT_IN_USE, 0.0)


def looks(topic: str, inside: Inside, principal: str | None) -> tuple[Look, float]:
    """How the rows of a topic are found for a principal (None is all), and the seconds between two looks."""
    if topic == control.MAIL:
        return MailLook(inside, principal).look, EVERY

    async def environments() -> Mapping[str, Row]:
        return environment_rows(inside, principal)

    async def health() -> Mapping[str, Row]:
        row = server_row(inside, principal)
        return {str(row["key"]): row}

    return (environments if topic == control.ENVIRONMENTS else health), LOOK_EVERY


def environment_rows(inside: Inside, principal: str | None) -> dict[str, Row]:
    """This machine and every environment of the settings, as this server has them."""
    node, states = inside.team.session.owner.node, inside.threads.supervisor.environments()
    members = [each for each in inside.team.roster if principal in (None, each.agent.principal)]
    agents = Counter(each.agent.environment or LOCAL_ENVIRONMENT for each in members)
    rows = {}
    for name in (LOCAL_ENVIRONMENT, *inside.environments):
        known, state = inside.environments.get(name), states.get(name, NEVER)
        rows[name] = {
            "key": f"{node}/{name}",
            "name": name,
            "url": "" if known is None else redact(known.url),
            "is_relayed": known is not None and known.is_relayed,
            "state": "this machine" if known is None else state.state,
            "since": state.since or None,
            "why": redact(state.why),
            "agents": agents[name],
        }
    return {str(row["key"]): row for row in rows.values()}


def server_row(inside: Inside, principal: str | None) -> Row:
    """This server: its Codex, its lease, the account, what became of the mail."""
    team, supervisor, account = inside.team, inside.threads.supervisor, inside.threads.account
    members = [each for each in team.roster if principal in (None, each.agent.principal)]
    node = team.session.owner.node
    return {
        "key": node,
        "pid": os.getpid(),
        "version": __version__,
        "team": inside.settings.team,
        "lease": team.session.lease,
        "trouble": team.session.trouble or "",
        "core": {
            "pid": supervisor.pid,
            "version": supervisor.version,
            "starts": supervisor.starts,
            "last_exit": supervisor.last_exit or "",
            "last_exit_at": supervisor.last_exit_at,
        },
        "account": {
            "is_limited": account.is_limited,
            "paused_until": account.paused_until,
            "windows": described(account.rate_limits),
        },
        "mail": team.injection.counts.all() if principal is None else team.injection.counts.of(principal),
        "agents": len(members),
        "busy": sum(each.thread is not None and not each.thread.idle for each in members),
        "megabytes": None if principal is not None else _megabytes(),
        "looked_at": time.time() // 10 * 10,
    }


def _megabytes() -> int | None:
    """The memory of this process; None if the system does not say."""
    try:
        pages = int(read_regular("/proc/self/statm").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20
