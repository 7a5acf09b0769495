"""`codex-mcp mail send`, `broadcast` and `ack`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

from codex_mcp.base.errors import NotFound, Refused
from codex_mcp.cli.mail.place import Place
from codex_mcp.cli.mail.texts import OUTCOME_TITLES, outcome_entry, outcome_row
from codex_mcp.cli.output import SCHEMA, print_json, print_table, print_text
from codex_mcp.mail.address import address_of
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.store import MailStore
from codex_mcp.mail.store_types import LARGEST, Delivered, UnknownRecipient

T = TypeVar("T")

FAILED: Final = 1
STDIN: Final = "-"


def send(arguments: argparse.Namespace, place: Place) -> int:
    mail = Outgoing(text=text_of(arguments.text), summary=arguments.summary, is_urgent=arguments.urgent)
    to = address_of(arguments.to, place.me.team)
    try:
        sent = _with_store(place, lambda store: store.send(place.me, to, mail, allow_unknown=arguments.allow_unknown))
    except UnknownRecipient as error:
        raise NotFound(f"{error}; --allow-unknown creates it") from error
    _print_one(sent, "sent", as_json=arguments.json)
    return 0


def acknowledge(arguments: argparse.Namespace, place: Place) -> int:
    answer = Outgoing(text=text_of(arguments.text))
    sent = _with_store(place, lambda store: store.acknowledge(place.me, arguments.message_id, answer))
    _print_one(sent, "acknowledged" if sent.id else "already acknowledged", as_json=arguments.json)
    return 0


def broadcast(arguments: argparse.Namespace, place: Place) -> int:
    mail = Outgoing(text=text_of(arguments.text), summary=arguments.summary, is_urgent=arguments.urgent)
    outcomes = _with_store(place, lambda store: store.broadcast(place.me, place.me.team, mail))
    if arguments.json:
        print_json({"schema": SCHEMA, "outcomes": [outcome_entry(outcome) for outcome in outcomes]})
    else:
        print_table(OUTCOME_TITLES, [outcome_row(outcome) for outcome in outcomes], whole=2)
    return FAILED if any(outcome.error for outcome in outcomes) else 0


def text_of(word: str) -> str:
    """The text of a message: a word of the command line, or all of stdin. Raises Refused."""
    if word != STDIN:
        return word
    data = sys.stdin.buffer.read(LARGEST + 1)
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise Refused("cannot send the text: stdin is not UTF-8, or longer than a message may be") from error


def _print_one(sent: Delivered, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"schema": SCHEMA, **outcome_entry(sent)})
    else:
        print_text(f"{what}: {sent.id} to {sent.to}" if sent.id else what)


def _with_store(place: Place, action: Callable[[MailStore], Awaitable[T]]) -> T:
    async def act() -> T:
        async with _open_store(place) as store:
            result = await action(store)
            # What earlier commands sent: this is the chance to look whether it is still there.
            await store.outbox.settle(time.time())
            return result

    return asyncio.run(act())


@contextlib.asynccontextmanager
async def _open_store(place: Place) -> AsyncIterator[MailStore]:
    store = place.store()
    await store.open()
    try:
        yield store
    finally:
        await store.aclose()
