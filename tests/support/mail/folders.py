"""A team's folder with inboxes, and a store over it."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from codex_mcp.mail.address import Address
from codex_mcp.mail.store import MailStore

TEAM = "alpha"
ALICE, BOB, CAROL = (Address(name, TEAM) for name in ("alice", "bob", "carol"))


def member(name: str, *, is_external: bool = True) -> dict[str, object]:
    """A member of ours, or one that Claude Code runs."""
    return {"name": name, "backendType": "external" if is_external else "in-process"}


def make_team(folder: Path, *members: dict[str, object]) -> Path:
    """A team below this folder; alice and bob are in it unless others are named. Returns the folder of its inboxes."""
    team = folder / "teams" / TEAM
    inboxes = team / "inboxes"
    inboxes.mkdir(parents=True)
    entries = members or (member("alice"), member("bob"))
    (team / "config.json").write_text(json.dumps({"name": TEAM, "members": entries}))
    return inboxes


@contextlib.asynccontextmanager
async def opened(folder: Path, clock: Callable[[], float] = time.time) -> AsyncIterator[MailStore]:
    """The store over that folder."""
    store = MailStore(str(folder / "teams"), str(folder / "state"), clock)
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()


def records(inboxes: Path, agent: str) -> list[Any]:
    """What is in a file."""
    found: list[Any] = json.loads((inboxes / f"{agent}.json").read_bytes())
    return found


def leftovers(inboxes: Path) -> list[str]:
    """Drafts and lock folders that should not be there."""
    return sorted(path.name for path in inboxes.iterdir() if path.suffix not in (".json", ".lock") or path.is_dir())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another task or thread does."""
    while not condition():  # noqa: ASYNC110  files have no event
        await asyncio.sleep(0.001)
