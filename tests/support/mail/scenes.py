"""What a process does before it is killed, and how the world goes on: scenes for `dying`."""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from codex_mcp.mail.delivery.envelope import EnvelopeLimits
from codex_mcp.mail.delivery.handover import Handover
from codex_mcp.mail.files import exchange
from codex_mcp.mail.message import Outgoing
from tests.support.mail.fixtures import inbox_bytes
from tests.support.mail.folders import ALICE, BOB, make_team, member, opened

TEXT = "the message of the one that dies"
THEIRS = "the message of another program"

rename = os.rename
"""What another program does is no step of ours."""

Prepare = Callable[[Path], None]
Scene = Callable[[Path], Awaitable[None]]
SceneSet = tuple[Prepare, Scene, Prepare]


def inbox_of(folder: Path) -> Path:
    """Bob's."""
    return folder / "teams" / "alpha" / "inboxes" / "bob.json"


def with_inbox(name: str, *, is_external: bool = True) -> Prepare:
    """Bob has the mail of a fixture; he is ours, or Claude Code's."""

    def prepare(folder: Path) -> None:
        make_team(folder, member("alice"), member("bob", is_external=is_external))
        inbox_of(folder).write_bytes(inbox_bytes(name))

    return prepare


async def send(folder: Path) -> None:
    """Alice sends a message; a file says that she was told so."""
    async with opened(folder) as store:
        await store.send(ALICE, BOB, Outgoing(text=TEXT))
        (folder / "accepted").write_text("")


async def send_while_another_writes(folder: Path) -> None:
    """Alice sends a message, and a program without locks replaces the inbox after her last look at it."""
    look = exchange._is_same

    def last_look(path: str, expected: os.stat_result) -> bool:
        found = look(path, expected)
        if not (folder / "theirs").exists():
            records = [*json.loads(Path(path).read_bytes()), {"from": "carol", "text": THEIRS, "msg_id": "1"}]
            (folder / "theirs").write_text(json.dumps(records))
            shutil.copy(folder / "theirs", f"{path}.theirs")
            rename(f"{path}.theirs", path)
        return found

    setattr(exchange, look.__name__, last_look)
    await send(folder)


async def deliver(folder: Path) -> None:
    """A server gives Bob his mail until there is none; `core.jsonl` is the memory of the core."""
    async with opened(folder) as store:
        handover = Handover(store, EnvelopeLimits(messages=2))
        while batch := await handover.next_batch(BOB, (await store.read(BOB)).messages):
            turn = {message.id: message.id in batch.redelivered for message in batch.messages}
            descriptor = os.open(folder / "core.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(descriptor, json.dumps(turn).encode() + b"\n")
            os.close(descriptor)
            await handover.turn_started(batch)


def let_locks_age(folder: Path) -> None:
    """Ten seconds pass for the locks of the dead. A Codex that is ending may still remove folders of its own."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".json.lock"):
                with contextlib.suppress(FileNotFoundError):
                    os.utime(Path(place, name), (time.time() - 11, time.time() - 11))


SCENES: dict[str, SceneSet] = {
    "send": (with_inbox("mixed"), send, let_locks_age),
    "send-to-claude": (with_inbox("mixed", is_external=False), send, let_locks_age),
    "send-to-broken": (with_inbox("truncated"), send, let_locks_age),
    "send-in-between": (with_inbox("mixed"), send_while_another_writes, let_locks_age),
    "deliver": (with_inbox("one-bad-record"), deliver, let_locks_age),
}
