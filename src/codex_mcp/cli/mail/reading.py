"""`codex-mcp mail read`, `list` and `watch`. Reading needs no database and creates nothing."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from typing import Final

from codex_mcp.cli.mail.place import Place
from codex_mcp.cli.mail.texts import (
    INBOX_OPTIONAL,
    INBOX_TITLES,
    InboxView,
    block,
    closing,
    entry,
    inbox_entry,
    inbox_row,
    selected,
)
from codex_mcp.cli.output import SCHEMA, print_json, print_json_line, print_table, print_text, terminal_width
from codex_mcp.mail.address import Address
from codex_mcp.mail.message import Message
from codex_mcp.mail.store import MailStore
from codex_mcp.mail.team_config import TeamConfig
from codex_mcp.mail.watch import changes

REMEMBERED: Final = 10_000
"""Ids of messages that `watch` has shown. An inbox with more is shown again from its beginning."""


def read(arguments: argparse.Namespace, place: Place) -> int:
    """Print messages, and only then mark them as read."""
    return asyncio.run(_read(arguments, place))


async def _read(arguments: argparse.Namespace, place: Place) -> int:
    store = place.store()
    inbox = await store.read(place.me)
    found = selected(
        inbox.messages, is_all=arguments.all, sender=arguments.sender, since=arguments.since, limit=arguments.limit
    )
    if arguments.json:
        print_json({"schema": SCHEMA, "inbox": str(place.me), "messages": [entry(message) for message in found]})
    else:
        for message in found:
            print_text(f"{block(message)}\n")
        if terminal_width() is not None:
            print_text(closing(found, inbox.unreadable, place.me, is_peek=arguments.peek))
    if not arguments.peek:
        await store.mark(place.me, [message.id for message in found])
    return 0


def list_inboxes(arguments: argparse.Namespace, place: Place) -> int:
    views = asyncio.run(_views(place.store(), place.me.team))
    if arguments.json:
        inboxes = [inbox_entry(view) for view in views]
        print_json({"schema": SCHEMA, "team": place.me.team, "inboxes": inboxes})
        return 0
    print_table(INBOX_TITLES, [inbox_row(view, time.time()) for view in views], whole=1, optional=INBOX_OPTIONAL)
    if not views and terminal_width() is not None:
        teams = ", ".join(asyncio.run(place.store().teams())) or "none"
        print_text(f"team {place.me.team} has no members and no inboxes; the teams are {teams}")
    return 0


async def _views(store: MailStore, team: str) -> list[InboxView]:
    config = await store.config(team)
    names = await store.known(team)
    return [InboxView(name, _reader(config, name), await store.read(Address(name, team))) for name in names]


def _reader(config: TeamConfig, name: str) -> str:
    member = config.member(name)
    if member is None:
        return "not a member"
    return member.agent_type or "another program" if member.is_external else "Claude Code"


def watch(arguments: argparse.Namespace, place: Place) -> int:
    """Print new messages as they come, until it is interrupted. They stay unread."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_watch(place, as_json=arguments.json))
    return 0


async def _watch(place: Place, *, as_json: bool) -> None:
    store = place.store()
    shown: set[str] = set()
    async with contextlib.aclosing(changes(store.layout, lambda: [place.me])) as changed:
        async for _ in changed:
            messages = (await store.read(place.me)).messages
            for message in messages:
                if not message.is_read and message.id not in shown:
                    _show(message, as_json=as_json)
            shown = {message.id for message in messages[-REMEMBERED:]}


def _show(message: Message, *, as_json: bool) -> None:
    if as_json:
        print_json_line(entry(message))
    else:
        print_text(f"{block(message)}\n")
