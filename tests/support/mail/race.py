"""Writers of one inbox in processes of their own, released together, and what is left of their messages.

`python -m tests.support.mail.race KIND FOLDER COUNT` is one of them: it says that it is ready, waits for its stdin, and
prints the ids that it sent.
"""

import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.address import Address
from codex_mcp.mail.store_types import Outgoing
from tests.support.mail.folders import BOB, opened
from tests.support.mail.foreign_writers import write_messages
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[3]
OURS = "ours"


async def send_messages(folder: Path, count: int) -> list[str]:
    """Our writer, with its outbox at work."""
    async with opened(folder) as store:
        tasks = TaskSet()
        tasks.spawn(store.outbox.run(), name="outbox")
        sent = [await store.send(Address("o", "alpha"), BOB, Outgoing(text=str(number))) for number in range(count)]
        await tasks.aclose()
        return [one.id or "" for one in sent]


class Left:
    """What is in the inbox in the end, of each kind of writer."""

    def __init__(self, sent: dict[str, list[str]], found: Counter[str]) -> None:
        self.sent = {kind: len(ids) for kind, ids in sent.items()}
        self.lost = {kind: sum(found[one] == 0 for one in ids) for kind, ids in sent.items()}
        self.doubled = {kind: sum(found[one] > 1 for one in ids) for kind, ids in sent.items()}


async def race(folder: Path, kinds: list[str], count: int) -> Left:
    """Run these writers against each other; then let our outbox finish."""
    words = [[sys.executable, "-m", "tests.support.mail.race", kind, str(folder), str(count)] for kind in kinds]
    pipe = asyncio.subprocess.PIPE
    children = [await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, cwd=ROOT) for argv in words]
    sent: dict[str, list[str]] = {kind: [] for kind in kinds}
    try:
        async with asyncio.timeout(4 * PATIENCE):
            for child in children:
                assert child.stdout is not None
                assert await child.stdout.readline() == b"ready\n"
            for kind, (told, _) in zip(
                kinds, await asyncio.gather(*(child.communicate(b"go\n") for child in children)), strict=True
            ):
                sent[kind] += json.loads(told)
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()
    return Left(sent, await _found(folder))


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
    ids = asyncio.run(send_messages(folder, count)) if kind == OURS else write_messages(kind, inbox, count)
    sys.stdout.write(json.dumps(ids))


if __name__ == "__main__":
    main()
