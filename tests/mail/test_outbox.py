"""What happens to a message after it was sent: programs without locks overwrite it, senders die, teams disappear."""

import asyncio
import json
import logging
import time
from pathlib import Path

import pytest

from codex_mcp.base.tasks import TaskSet
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.resending import MOST_WRITES, SENDING
from codex_mcp.mail.store import MailStore
from tests.support.mail.folders import ALICE, BOB, leftovers, make_team, member, opened, records, until

HELLO = Outgoing(text="hello")


class HandClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


async def settled(store: MailStore, clock: HandClock) -> None:
    """Let time pass until nothing is left to do."""
    while (due := await store.outbox.settle(clock.now)) is not None:
        clock.now = due


async def test_a_message_that_was_overwritten_comes_back_once(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        (inboxes / "bob.json").write_text('[{"from": "lockless", "text": "mine"}]')
        await settled(store, clock)
        assert [message.id for message in (await store.read(BOB)).messages][1:] == [sent.id]
    assert [record["from"] for record in records(inboxes, "bob")] == ["lockless", "alice"]


async def test_a_message_that_is_overwritten_later_comes_back_too(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        clock.now += 0.3
        due = await store.outbox.settle(clock.now)
        assert due == pytest.approx(clock.now + 2)
        (inboxes / "bob.json").unlink()
        await settled(store, clock)
    assert len(records(inboxes, "bob")) == 1


async def test_a_message_that_is_there_is_left_alone(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        before = (inboxes / "bob.json").stat()
        await settled(store, clock)
        assert (inboxes / "bob.json").stat() == before


async def test_what_claude_code_has_consumed_is_never_sent_again(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path, member("alice"), member("bob", is_external=False))
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        (inboxes / "bob.json").write_text("[]")
        assert await store.outbox.settle(clock.now + 3600) is None
    assert records(inboxes, "bob") == []


async def test_a_message_that_others_always_overwrite_is_given_up_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    writes = 0
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        with caplog.at_level(logging.ERROR):
            while (due := await store.outbox.settle(clock.now)) is not None:
                writes += records(inboxes, "bob") != []
                (inboxes / "bob.json").write_text("[]")
                clock.now = due
    assert writes == MOST_WRITES
    assert "is lost" in caplog.text


async def test_a_team_that_is_gone_ends_it(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        inboxes.rename(tmp_path / "deleted")
        clock.now += 1
        assert await store.outbox.settle(clock.now) is None


async def test_an_inbox_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        await store.send(ALICE, BOB, HELLO)
        (inboxes / "bob.json").unlink()
        (inboxes / "bob.json").mkdir()
        clock.now += 1
        assert await store.outbox.settle(clock.now) == clock.now + SENDING
        (inboxes / "bob.json").rmdir()
        await settled(store, clock)
    assert len(records(inboxes, "bob")) == 1
    assert leftovers(inboxes) == []


@pytest.mark.parametrize("is_external", [True, False])
async def test_a_sender_that_died_before_its_write_is_replaced(*, tmp_path: Path, is_external: bool) -> None:
    inboxes = make_team(tmp_path, member("alice"), member("bob", is_external=is_external))
    clock = HandClock()
    async with opened(tmp_path, clock) as store:
        (inboxes / "bob.json.tmp.01ID").write_text("")
        record = json.dumps({"from": "alice", "text": "x", "metadata": {"atm": {"messageId": "01ID"}}})
        await store.outbox.intend("01ID", BOB, record, is_rechecked=is_external)
        assert await store.outbox.settle(clock.now) is not None, "it may be alive"
        clock.now += SENDING
        await settled(store, clock)
        assert [message.id for message in (await store.read(BOB)).messages] == ["01ID"]
    assert leftovers(inboxes) == []


@pytest.mark.parametrize("is_external", [True, False])
async def test_what_a_dead_sender_had_displaced_is_restored_where_nothing_is_consumed(
    *, tmp_path: Path, is_external: bool
) -> None:
    inboxes = make_team(tmp_path, member("alice"), member("bob", is_external=is_external))
    clock = HandClock()
    old, read, theirs = (
        {"from": "c", "text": text, "msg_id": text, "read": text == "read"} for text in ("old", "read", "theirs")
    )
    ours = {"from": "alice", "text": "x", "metadata": {"atm": {"messageId": "01ID"}}}
    async with opened(tmp_path, clock) as store:
        (inboxes / "bob.json").write_text(json.dumps([old, ours]))
        (inboxes / "bob.json.tmp.01ID").write_text(json.dumps([old, read, theirs]))
        (inboxes / "bob.json.tmp.01ID.again").write_text("[")
        await store.outbox.intend("01ID", BOB, json.dumps(ours), is_rechecked=is_external)
        clock.now += SENDING
        await settled(store, clock)
    assert records(inboxes, "bob") == ([old, ours, theirs] if is_external else [old, ours])
    assert leftovers(inboxes) == []


async def test_a_server_settles_by_itself(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path)
    async with opened(tmp_path) as store:
        tasks = TaskSet()
        tasks.spawn(store.outbox.run(), name="outbox")
        await store.send(ALICE, BOB, HELLO)
        (inboxes / "bob.json").unlink()
        await asyncio.wait_for(until((inboxes / "bob.json").exists), 30)
        await tasks.aclose()
