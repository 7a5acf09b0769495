"""A process of ours is killed (SIGKILL) at every step that changes a file or the database; then another one goes on."""

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

from codex_mcp.mail.inbox_file import read_inbox
from codex_mcp.mail.message import Message
from tests.support.mail.fixtures import inbox_bytes
from tests.support.mail.folders import leftovers, opened
from tests.support.mail.scenes import TEXT, THEIRS, deliver, inbox_of, let_locks_age
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]


def runs(folder: Path, *words: str) -> list[Path]:
    """Die at every step of a scene. The folders of the runs; the last one did not die."""
    scene, *rest = words
    argv = [sys.executable, "-m", "tests.support.mail.dying", scene, str(folder), *rest]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=4 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    found = sorted(folder.iterdir())
    assert len(found) == int(done.stdout)
    assert len(found) > 15, "not all steps were seen"
    return found


async def go_on(folder: Path) -> bool:
    """The next process settles what the dead one left. Returns whether anything was left."""
    let_locks_age(folder)
    now = time.time() + 60
    async with opened(folder, lambda: now) as store:
        (rows,) = await store.database.write(lambda db: db.execute("SELECT count(*) FROM outgoing").fetchone())
        due: float | None = now
        while due is not None:
            now = due
            due = await store.outbox.settle(now)
    return bool(rows)


def messages(folder: Path) -> tuple[Message, ...]:
    return read_inbox(inbox_of(folder).read_bytes()).messages


@pytest.mark.parametrize(
    ("scene", "inbox"), [("send", "mixed"), ("send-to-claude", "mixed"), ("send-to-broken", "truncated")]
)
def test_no_message_is_lost_or_doubled_whenever_its_sender_dies(tmp_path: Path, scene: str, inbox: str) -> None:
    before = read_inbox(inbox_bytes(inbox)).messages
    counts = set()
    recovered = 0
    for folder in runs(tmp_path, scene):
        already = sum(message.text == TEXT for message in messages(folder))
        was_intended = asyncio.run(go_on(folder))
        was_accepted = (folder / "accepted").exists()
        texts = [message.text for message in messages(folder)]
        assert texts[: len(before)] == [message.text for message in before], folder
        count = len(texts) - len(before)
        assert count == texts.count(TEXT), folder
        assert count <= 1, folder
        if was_accepted or was_intended:
            assert count == 1, folder
        counts.add((count, was_accepted))
        recovered += count - already
        kept = [path for path in inbox_of(folder).parent.iterdir() if ".corrupt-" in path.name]
        assert scene != "send-to-broken" or count == 0 or kept[0].read_bytes() == inbox_bytes(inbox)
        if was_intended or was_accepted:
            drafts = [name for name in leftovers(inbox_of(folder).parent) if ".tmp." in name]
            assert drafts == [], folder
    assert counts == {(0, False), (1, False), (1, True)}
    assert recovered > 0, "no message of a dead sender was sent by the next process"


def test_what_another_program_wrote_meanwhile_survives_whenever_the_sender_dies(tmp_path: Path) -> None:
    before = [message.text for message in read_inbox(inbox_bytes("mixed")).messages]
    restored = 0
    for folder in runs(tmp_path, "send-in-between"):
        already = [message.text for message in messages(folder)]
        has_left_work = asyncio.run(go_on(folder))
        texts = [message.text for message in messages(folder)]
        assert texts[: len(before)] == before, folder
        assert texts.count(THEIRS) == (folder / "theirs").exists(), folder
        assert texts.count(TEXT) == (has_left_work or (folder / "accepted").exists()), folder
        assert [name for name in leftovers(inbox_of(folder).parent) if ".tmp." in name] == [] or not has_left_work
        restored += THEIRS not in already and THEIRS in texts
    assert restored, "no sender died while the version of the other program was displaced"


@pytest.mark.parametrize("crashes", [1, 2])
def test_mail_is_redelivered_at_most_once_per_crash_and_says_so(tmp_path: Path, crashes: int) -> None:
    ids = [message.id for message in read_inbox(inbox_bytes("one-bad-record")).messages]
    again = 0
    for folder in runs(tmp_path, "deliver", *(["twice"] if crashes > 1 else [])):
        let_locks_age(folder)
        asyncio.run(deliver(folder))
        turns: defaultdict[str, list[bool]] = defaultdict(list)
        for line in (folder / "core.jsonl").read_text().splitlines():
            for message_id, is_redelivered in json.loads(line).items():
                turns[message_id].append(is_redelivered)
        assert sorted(turns) == sorted(ids), f"lost in {folder}"
        for flags in turns.values():
            assert len(flags) <= 1 + crashes, folder
            assert all(flags[1:]), f"not flagged in {folder}"
            again += len(flags) - 1
        assert all(message.is_read for message in messages(folder)), folder
    assert again, "no crash came between the delivery and its record"
