"""Team mail beside a plain rewrite of the JSON file, without locks, fsync and record; how soon a write is noticed; and
how soon it has begun a turn of an idle agent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from pathlib import Path

import msgspec

from benchmarks.clients import McpClient, Stopwatch
from benchmarks.place import Place
from benchmarks.rows import Aim, Row, Unit
from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.store import MailStore
from codex_mcp.mail.watch import changes

ROUNDS = 5
SECONDS = 20.0
APPENDS = 50
FULL = 1000
"""Messages in an inbox at which Claude Code becomes slow."""

WAKINGS = 20
IDENTITIES = 50
POLLING = 5000.0
"""Milliseconds: what the server that we replace waits between two looks."""

WAKING = Aim(at_most=100)
BOB, ALICE = Address("bob", "alpha"), Address("alice", "alpha")


def run(place: Place) -> list[Row]:
    """In turn: a plain writer and ours, into an empty inbox and into one with a thousand messages."""
    return asyncio.run(_run(place))


async def _run(place: Place) -> list[Row]:
    rows = []
    for before in (0, FULL):
        theirs, ours = [], []
        for number in place.effort.rounds(ROUNDS, SECONDS):
            folder = place.folder / f"mail-{before}-{number}"
            theirs.append(_plain(_filled(folder / "plain", before)))
            ours.append(await _ours(folder / "ours", before))
        what = f"mail: appends to an inbox with {before:,} messages; theirs: a plain rewrite"
        rows.append(Row(what, Unit.PER_SECOND, theirs, ours))
    woken = [await _woken(place.folder / f"mail-watch-{number}") for number in place.effort.rounds(ROUNDS, SECONDS)]
    slowest = [max(one) for one in woken]
    what = f"mail: file written → noticed, slowest of {WAKINGS}, {IDENTITIES} inboxes; theirs: polling"
    rows.append(Row(what, Unit.MILLISECONDS, [POLLING] * len(slowest), slowest, WAKING))
    begun = []
    for number in place.effort.rounds(ROUNDS, SECONDS):
        begun.extend(await asyncio.to_thread(_begun, place, number))
    what = "mail: file written → turn of an idle agent begun and mail marked, p95; theirs: polling"
    return [*rows, Row(what, Unit.MILLISECONDS, [POLLING] * len(begun), begun, WAKING, part=0.95)]


def _filled(folder: Path, count: int) -> Path:
    inboxes = folder / "teams" / "alpha" / "inboxes"
    inboxes.mkdir(parents=True)
    records = [{"from": "alice", "text": "x" * 500, "msg_id": str(number), "read": True} for number in range(count)]
    (inboxes / "bob.json").write_text(json.dumps(records, indent=2))
    return inboxes / "bob.json"


def _plain(inbox: Path) -> float:
    watch = Stopwatch()
    for number in range(APPENDS):
        records = json.loads(inbox.read_bytes())
        records.append({"from": "alice", "text": "hello", "msg_id": f"new-{number}", "read": False})
        draft = inbox.with_suffix(".tmp")
        draft.write_text(json.dumps(records, indent=2))
        draft.replace(inbox)
    return APPENDS / watch.milliseconds() * 1000


async def _ours(folder: Path, before: int) -> float:
    _filled(folder, before)
    store = MailStore(str(folder / "teams"), str(folder / "state"))
    await store.open()
    try:
        watch = Stopwatch()
        for _ in range(APPENDS):
            await store.send(ALICE, BOB, Outgoing(text="hello"))
        return APPENDS / watch.milliseconds() * 1000
    finally:
        await store.aclose()


async def _woken(folder: Path) -> list[float]:
    inbox = _filled(folder, 0)
    agents = [Address(f"agent-{number}", "alpha") for number in range(IDENTITIES)]
    took = []
    async with contextlib.aclosing(changes(Layout(str(folder / "teams")), lambda: [BOB, *agents])) as changed:
        await anext(changed)
        for number in range(WAKINGS):
            waiting = asyncio.ensure_future(anext(changed))
            await asyncio.sleep(0.05)  # until it waits
            draft = inbox.with_suffix(".tmp")
            draft.write_text(f"[{number}]")
            began = time.perf_counter()
            os.replace(draft, inbox)
            await waiting
            took.append((time.perf_counter() - began) * 1000)
    return took


def _begun(place: Place, number: int) -> list[float]:
    """The mark in the inbox follows the core's word that the turn has begun, and is seen from outside."""
    program = place.team("--summary-timeout", "0", home=f"mail-{number}")
    inbox = Path(program.env["HOME"]) / ".claude/teams/default/inboxes/codex.json"
    inbox.parent.mkdir(parents=True)
    with McpClient(program) as server:
        server.initialize()
        server.start_threads(1)
        return [_until_read(server, inbox, number) for number in range(WAKINGS)]


def _until_read(server: McpClient, inbox: Path, number: int) -> float:
    listing = {"name": "codex_threads", "arguments": {}}
    while b'"state":"idle"' not in bytes(server.answer(server.request("tools/call", listing))).replace(b" ", b""):
        pass
    # Each from another sender: two that write to each other often are held back.
    mail = {"from": f"sender-{number}", "text": "hello", "msg_id": f"new-{number}", "read": False}
    draft = inbox.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.encode([*_records(inbox), mail]))
    watch = Stopwatch()
    os.replace(draft, inbox)
    while not all(record["read"] for record in _records(inbox)):
        time.sleep(0.0005)
    return watch.milliseconds()


def _records(inbox: Path) -> list[dict[str, object]]:
    return msgspec.json.decode(inbox.read_bytes(), type=list[dict[str, object]]) if inbox.exists() else []
