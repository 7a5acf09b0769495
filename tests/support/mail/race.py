"""Writers of one inbox in processes of their own, released together, and what is left of their messages.

`python -m tests.support.mail.race KIND FOLDER COUNT` is one of them: it says that it is ready, waits for its stdin, and
prints a `Report`. Ours reports each version that it put in place and what that version lacks of the one it replaced;
the others report which versions they have read. So a lost message is lost through us, or by the others alone.
"""

import asyncio
import contextlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec
from msgspec import Struct

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address
from codex_mcp.mail.files import exchange
from codex_mcp.mail.files.placing import placing
from codex_mcp.mail.inbox_file import read_inbox
from codex_mcp.mail.message import Outgoing
from tests.support.mail.folders import BOB, opened
from tests.support.mail.foreign_writers import digest, write_messages
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[3]
OURS = "ours"

LONGEST_PAUSE = 0.004
"""Seconds: long enough for another program to read or replace the file."""


class Placed(Struct, frozen=True):
    """A version of ours that stood at the path, and the messages that it lacks of what it displaced.

    One that is not checked was replaced by a better one before others could open it.
    """

    version: str
    is_checked: bool
    missing: frozenset[str] = frozenset()


class Report(Struct, frozen=True):
    """What a writer has done."""

    sent: list[str]
    placed: list[Placed] = []
    read: frozenset[str] = frozenset()


class Observed:
    """Our `placing`, as it runs."""

    def __init__(self) -> None:
        self.placed: list[Placed] = []

    def placing(self, new: bytes, base: bytes, change: Callable[[bytes], bytes]) -> Generator[bytes, bytes, bool]:
        """Do the same, and remember it."""
        steps = placing(new, base, change)
        ours, theirs = next(steps), base
        while True:
            displaced = yield ours
            try:
                better = steps.send(displaced)
            except StopIteration as stop:
                self.placed.append(Placed(digest(ours), is_checked=True, missing=_ids(theirs) - _ids(ours)))
                return bool(stop.value)
            self.placed.append(Placed(digest(ours), is_checked=False, missing=_ids(displaced) - _ids(ours)))
            ours, theirs = better, displaced


def _ids(data: bytes) -> frozenset[str]:
    return frozenset(message.id for message in read_inbox(data).messages)


def hesitate(name: str) -> None:
    """Let others come in between: stop for a moment, often, after this function."""
    function = getattr(exchange, name)

    def hesitating(*args: object) -> object:
        found = function(*args)
        time.sleep(max(0.0, random.uniform(-LONGEST_PAUSE, LONGEST_PAUSE)))
        return found

    setattr(exchange, name, hesitating)


async def send_messages(folder: Path, count: int) -> Report:
    """Our writer, with its outbox at work."""
    observed = Observed()
    for name in ("_is_same", "_exchange"):
        hesitate(name)
    setattr(exchange, placing.__name__, observed.placing)
    async with opened(folder) as store:
        tasks = TaskSet()
        tasks.spawn(store.outbox.run(), name="outbox")
        sent = [await store.send(Address("o", "alpha"), BOB, Outgoing(text=str(number))) for number in range(count)]
        await tasks.aclose()
        return Report([one.id or "" for one in sent], observed.placed)


class Left:
    """What is in the inbox in the end, of each kind of writer."""

    def __init__(self, reports: list[tuple[str, Report]], found: Counter[str]) -> None:
        sent: dict[str, list[str]] = {kind: [] for kind, _ in reports}
        for kind, report in reports:
            sent[kind] += report.sent
        self.sent = {kind: len(ids) for kind, ids in sent.items()}
        self.lost = {kind: sum(found[one] == 0 for one in ids) for kind, ids in sent.items()}
        self.doubled = {kind: sum(found[one] > 1 for one in ids) for kind, ids in sent.items()}
        placed = [one for _, report in reports for one in report.placed]
        read = {version for _, report in reports for version in report.read}
        self.through_us = {
            message for one in placed if one.is_checked or one.version in read for message in one.missing
        }
        self.in_between = sum(not one.is_checked for one in placed)
        """How often another program wrote between our last look and the exchange."""


async def race(folder: Path, kinds: list[str], count: int) -> Left:
    """Run these writers against each other; then let our outbox finish."""
    words = [[sys.executable, "-m", "tests.support.mail.race", kind, str(folder), str(count)] for kind in kinds]
    pipe = asyncio.subprocess.PIPE
    children = [await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, cwd=ROOT) for argv in words]
    try:
        async with asyncio.timeout(4 * PATIENCE):
            for child in children:
                assert child.stdout is not None
                assert await child.stdout.readline() == b"ready\n"
            told = await asyncio.gather(*(child.communicate(b"go\n") for child in children))
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    reports = [msgspec.json.decode(words, type=Report) for words, _ in told]
    return Left(list(zip(kinds, reports, strict=True)), await _found(folder))


async def _found(folder: Path) -> Counter[str]:
    now = time.time() + 60
    async with opened(folder, lambda: now) as store:
        due: float | None = now
        while due is not None:
            now = due
            due = await store.outbox.settle(now)
        records = json.loads((folder / "teams" / "alpha" / "inboxes" / "bob.json").read_bytes())
    return Counter(_id(record) for record in records)


def _id(record: dict[str, object]) -> str:
    metadata = record.get("metadata")
    own = metadata["atm"]["messageId"] if isinstance(metadata, dict) else None
    return str(own or record.get("message_id") or record.get("msg_id"))


def main() -> None:
    """One writer."""
    kind, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    inbox = folder / "teams" / "alpha" / "inboxes" / "bob.json"
    if kind == OURS:
        report = asyncio.run(send_messages(folder, count))
    else:
        sent, read = write_messages(kind, inbox, count)
        report = Report(sent, read=frozenset(read))
    sys.stdout.write(msgspec.json.encode(report).decode())


if __name__ == "__main__":
    main()
