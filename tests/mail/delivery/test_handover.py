import json
from pathlib import Path

import pytest

from codex_mcp.mail.delivery.envelope import EnvelopeLimits
from codex_mcp.mail.delivery.handover import Handover, MailBatch
from codex_mcp.mail.message import Outgoing
from codex_mcp.mail.store import MailStore
from tests.support.mail.fixtures import inbox_bytes
from tests.support.mail.folders import ALICE, BOB, make_team, opened, records


@pytest.fixture
def inboxes(tmp_path: Path) -> Path:
    return make_team(tmp_path)


async def send(store: MailStore, *texts: str) -> None:
    for text in texts:
        await store.send(ALICE, BOB, Outgoing(text=text))


async def batch_of(store: MailStore, handover: Handover) -> MailBatch:
    batch = await handover.next_batch(BOB, (await store.read(BOB)).messages)
    assert batch is not None
    return batch


def texts(batch: MailBatch) -> list[str]:
    return [message.text for message in batch.messages]


async def test_mail_is_marked_read_when_its_turn_has_started(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits(messages=2))
        await send(store, "one", "two", "three")
        batch = await batch_of(store, handover)
        assert texts(batch) == ["one", "two"]
        assert "1 more messages wait" in batch.text
        assert [record["read"] for record in records(inboxes, "bob")] == [False] * 3
        await handover.turn_started(batch)
        assert [record["read"] for record in records(inboxes, "bob")] == [True, True, False]
        batch = await batch_of(store, handover)
        assert (texts(batch), batch.redelivered) == (["three"], frozenset())
        await handover.turn_started(batch)
        assert await handover.next_batch(BOB, (await store.read(BOB)).messages) is None


async def test_urgent_mail_goes_first_and_says_so(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits(messages=2))
        await send(store, "one", "two")
        await store.send(ALICE, BOB, Outgoing(text="fire", is_urgent=True))
        batch = await batch_of(store, handover)
        assert texts(batch) == ["fire", "one"]
        assert batch.text.count('"urgent": true') == 1


async def test_mail_whose_turn_was_refused_comes_again_as_new(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits())
        await send(store, "one")
        await handover.turn_refused(await batch_of(store, handover))
        batch = await batch_of(store, handover)
        assert batch.redelivered == frozenset()
        assert '"redelivered": false' in batch.text
    assert records(inboxes, "bob")[0]["read"] is False


async def test_mail_whose_turn_is_unknown_comes_again_and_says_so(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits())
        await send(store, "one")
        first = await batch_of(store, handover)
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits())
        await send(store, "two")
        again = await batch_of(store, handover)
        assert texts(again) == ["one", "two"]
        assert again.redelivered == {first.messages[0].id}
        assert again.text.count('"redelivered": true') == 1
    assert len(records(inboxes, "bob")) == 2


async def test_a_read_mark_that_another_program_undid_is_made_again_without_a_delivery(
    tmp_path: Path, inboxes: Path
) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits(messages=1))
        await send(store, "one", "two")
        await handover.turn_started(await batch_of(store, handover))
        undone = (inboxes / "bob.json").read_text().replace('"read": true', '"read": false')
        (inboxes / "bob.json").write_text(undone)
        assert texts(await batch_of(store, handover)) == ["two"]
        assert [record["read"] for record in records(inboxes, "bob")] == [True, False]


async def test_twins_without_an_id_are_both_delivered_even_if_one_disappears(tmp_path: Path, inboxes: Path) -> None:
    (inboxes / "bob.json").write_bytes(inbox_bytes("idless-twins"))
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits(messages=1))
        await handover.turn_started(await batch_of(store, handover))
        read, unread = records(inboxes, "bob")
        assert (read["read"], unread["read"]) == (True, False)
        (inboxes / "bob.json").write_text(json.dumps([unread]))
        batch = await batch_of(store, handover)
        assert (texts(batch), batch.redelivered) == (["native old shape"], frozenset())


async def test_unwanted_mail_waits(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits())
        await send(store, "one", "two")
        inbox = (await store.read(BOB)).messages
        batch = await handover.next_batch(BOB, inbox, lambda message: message.text == "two")
        assert batch is not None
        assert texts(batch) == ["two"]
        await handover.turn_started(batch)
    assert [record["read"] for record in records(inboxes, "bob")] == [False, True]


async def test_what_is_no_longer_in_the_inbox_is_forgotten(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        handover = Handover(store, EnvelopeLimits())
        await send(store, "one", "two")
        await handover.turn_started(await batch_of(store, handover))
        assert await rows(store) == 2
    (inboxes / "bob.json").write_text("[]")
    async with opened(tmp_path) as store:
        assert await Handover(store, EnvelopeLimits()).next_batch(BOB, (await store.read(BOB)).messages) is None
        assert await rows(store) == 0


async def rows(store: MailStore) -> int:
    count: int = (await store.database.write(lambda db: db.execute("SELECT count(*) FROM delivery").fetchone()))[0]
    return count
