import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from codex_mcp.base.errors import Explained, Refused
from codex_mcp.mail.address import Address
from codex_mcp.mail.inbox_file import read_inbox
from codex_mcp.mail.message import IdKind, Outgoing
from codex_mcp.mail.owners import owner_of, this_process
from codex_mcp.mail.registration import NewMember, Owner, registered
from codex_mcp.mail.retention import Retention
from codex_mcp.mail.store_types import UnknownMessage, UnknownRecipient
from codex_mcp.mail.ulid import LENGTH
from codex_mcp.state.contract import Unavailable
from tests.support.json_values import FINITE_VALUES
from tests.support.mail.fixtures import FIXTURES, config_bytes, inbox_bytes
from tests.support.mail.folders import ALICE, BOB, CAROL, TEAM, leftovers, make_team, member, opened, records, until
from tests.support.patience import PATIENCE

HELLO = Outgoing(text="hello")


def files_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def inboxes(tmp_path: Path) -> Path:
    return make_team(tmp_path)


async def test_a_message_is_sent_read_and_marked(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        assert sent.id is not None
        assert len(sent.id) == LENGTH
        (message,) = (await store.read(BOB)).messages
        assert (message.id, message.sender, message.sender_team, message.text) == (sent.id, "alice", TEAM, "hello")
        assert await store.pending(BOB) == 1, "reading does not mark"
        assert await store.mark(BOB, [sent.id, "other"]) == [sent.id]
        assert await store.mark(BOB, [sent.id]) == []
        assert await store.pending(BOB) == 0
    assert records(inboxes, "bob")[0]["read"] is True
    assert leftovers(inboxes) == []
    assert (inboxes / "bob.json").stat().st_mode & 0o777 == 0o600


async def test_an_unknown_recipient_is_refused_with_the_known_ones(tmp_path: Path, inboxes: Path) -> None:
    (inboxes / "carol.json").write_text("[]")
    async with opened(tmp_path) as store:
        with pytest.raises(UnknownRecipient, match=r"the team has no bbo; it has alice, bob, carol$"):
            await store.send(ALICE, Address("bbo", TEAM), HELLO)
        with pytest.raises(UnknownRecipient, match=r"there is no team beta; the teams are alpha$"):
            await store.send(ALICE, Address("bob", "beta"), HELLO)
        assert await store.known(TEAM) == ["alice", "bob", "carol"]
        await store.send(ALICE, Address("dave", "beta"), HELLO, allow_unknown=True)
        assert await store.teams() == ["alpha", "beta"]
    assert not (inboxes / "bbo.json").exists()


async def test_a_long_list_of_names_is_cut(tmp_path: Path) -> None:
    make_team(tmp_path, *(member(f"agent-{number}") for number in range(40)))
    async with opened(tmp_path) as store:
        with pytest.raises(UnknownRecipient, match=r"agent-29 and 10 more$"):
            await store.send(ALICE, BOB, HELLO)


@pytest.mark.parametrize("to", [Address("../../x", TEAM), Address("bob", ".."), Address("bob", "../alpha")])
async def test_no_address_leaves_the_folder(tmp_path: Path, to: Address) -> None:
    make_team(tmp_path)
    async with opened(tmp_path) as store:
        for attempt in (store.send(ALICE, to, HELLO, allow_unknown=True), store.send(to, BOB, HELLO), store.read(to)):
            with pytest.raises(Refused, match="as the name of"):
                await attempt
    assert files_below(tmp_path / "teams") == ["config.json"]


async def test_a_link_in_place_of_an_inbox_is_not_followed(tmp_path: Path, inboxes: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('[{"from": "x", "text": "secret"}]')
    (inboxes / "bob.json").symlink_to(secret)
    async with opened(tmp_path) as store:
        with pytest.raises(Explained, match=r"cannot use the mail in .*bob\.json"):
            await store.read(BOB)
        with pytest.raises(Explained, match="cannot use the mail"):
            await store.send(ALICE, BOB, HELLO)
        assert await store.outbox.settle(10**12) is None
    assert json.loads(secret.read_text())[0]["text"] == "secret"
    assert leftovers(inboxes) == []


async def test_nothing_is_cut_and_what_is_too_large_is_refused(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        await store.send(ALICE, BOB, Outgoing(text="é" * 2**19))
        assert len((await store.read(BOB)).messages[0].text) == 2**19
        with pytest.raises(Refused, match=r"has 1048577 bytes, and 1048576 are allowed; put it in a file"):
            await store.send(ALICE, BOB, Outgoing(text="é" * 2**19 + "x"))
        with pytest.raises(Refused, match="half of a surrogate pair"):
            await store.send(ALICE, BOB, Outgoing(text="\ud83e"))
        with pytest.raises(Refused, match="it is empty"):
            await store.broadcast(ALICE, TEAM, Outgoing(text=" \n"))
    assert len(records(inboxes, "bob")) == 1


async def test_a_broadcast_reports_on_every_member(tmp_path: Path) -> None:
    inboxes = make_team(tmp_path, *map(member, ("alice", "bob", "carol")))
    (inboxes / "carol.json").mkdir()
    (inboxes / "dave.json").write_text("[]")
    async with opened(tmp_path) as store:
        to_bob, to_carol = await store.broadcast(ALICE, TEAM, HELLO)
        assert (to_bob.to, to_bob.error) == (BOB, None)
        assert (to_carol.to, to_carol.id) == (CAROL, None)
        assert "carol.json" in (to_carol.error or "")
        with pytest.raises(UnknownRecipient, match="cannot send to team beta: it does not exist; the teams are alpha"):
            await store.broadcast(ALICE, "beta", HELLO)
        with pytest.raises(Refused, match="as the name of a team"):
            await store.broadcast(ALICE, "..", HELLO)
        assert await store.pending(Address("dave", TEAM)) == 0, "not a member"
        (inboxes.parent / "config.json").unlink()
        (inboxes / "carol.json").rmdir()
        assert [outcome.to.agent for outcome in await store.broadcast(ALICE, TEAM, HELLO)] == ["bob", "dave"]


async def test_a_message_is_acknowledged_once_and_answered(tmp_path: Path, inboxes: Path) -> None:
    (inboxes / "bob.json").write_bytes(inbox_bytes("atm-legacy"))
    async with opened(tmp_path) as store:
        pending = (await store.read(BOB)).messages[1]
        (tmp_path / "teams" / "beta").mkdir()
        answered = await store.acknowledge(BOB, pending.id, Outgoing(text="done", hops=2))
        assert answered.to == Address("arch", "beta")
        (answer,) = (await store.read(answered.to)).messages
        assert (answer.text, answer.acknowledges, answer.hops, answer.sender) == ("done", pending.id, 2, "bob")
        assert (await store.acknowledge(BOB, pending.id, HELLO)).id is None
        assert len((await store.read(answered.to)).messages) == 1
        with pytest.raises(UnknownMessage, match="cannot find message 'nothing' in the inbox of bob@alpha"):
            await store.acknowledge(BOB, "nothing", HELLO)
    record = records(inboxes, "bob")[1]
    assert "pendingAckAt" not in record
    assert "acknowledgedAt" in record
    others = [record for place, record in enumerate(records(inboxes, "bob")) if place != 1]
    assert others == [record for place, record in enumerate(json.loads(inbox_bytes("atm-legacy"))) if place != 1]


@pytest.mark.parametrize("cut", [0, 60], ids=["emptied", "cut"])
async def test_a_mark_waits_for_a_writer_that_holds_the_lock_and_writes_in_place(
    tmp_path: Path, inboxes: Path, cut: int
) -> None:
    inbox, tried = inboxes / "bob.json", inboxes / "bob.lock"
    async with opened(tmp_path) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        assert sent.id is not None
        whole = inbox.read_bytes()
        os.mkdir(f"{inbox}.lock")
        inbox.write_bytes(whole[:cut])
        tried.unlink()
        async with asyncio.TaskGroup() as tasks:
            marking = tasks.create_task(store.mark(BOB, [sent.id]))
            await until(lambda: marking.done() or tried.exists())  # its first try for the locks, after its first look
            inbox.write_bytes(whole)
            os.rmdir(f"{inbox}.lock")
        assert marking.result() == [sent.id]
        assert await store.pending(BOB) == 0


async def test_a_message_cannot_have_a_team_made(tmp_path: Path, inboxes: Path) -> None:
    (inboxes / "bob.json").write_bytes(inbox_bytes("atm-forward"))
    async with opened(tmp_path) as store:
        with pytest.raises(UnknownRecipient, match="there is no team beta"):
            await store.acknowledge(BOB, "01JCQ9V3E8ZK4N7W2R5T6Y8M0A", HELLO)
    assert json.loads(inbox_bytes("atm-forward")) == records(inboxes, "bob")


async def test_pruning_removes_old_read_messages_only(tmp_path: Path, inboxes: Path) -> None:
    old = {"from": "a", "text": "b", "timestamp": "2026-01-01T00:00:00Z", "read": True}
    (inboxes / "bob.json").write_text(json.dumps([7, {**old, "msg_id": "1"}, {**old, "read": False, "msg_id": "2"}]))
    async with opened(tmp_path) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        await store.mark(BOB, [sent.id or ""])
        assert await store.prune(BOB, Retention(keep=0)) == 1
        assert await store.prune(BOB, Retention(keep=0)) == 0
    assert [record if record == 7 else record["msg_id"] for record in records(inboxes, "bob")][:2] == [7, "2"]
    assert len(records(inboxes, "bob")) == 3


@pytest.mark.parametrize("name", [path.stem for path in sorted((FIXTURES / "inboxes").iterdir())])
async def test_every_file_takes_new_mail_and_keeps_what_it_had(name: str, tmp_path: Path, inboxes: Path) -> None:
    data = inbox_bytes(name)
    (inboxes / "bob.json").write_bytes(data)
    before = read_inbox(data)
    async with opened(tmp_path) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        after = (await store.read(BOB)).messages
        assert [message.id for message in after] == [*(message.id for message in before.messages), sent.id]
    aside = [file for file in os.listdir(inboxes) if ".json.corrupt-" in file]
    assert len(aside) == (name in ("truncated", "wrong-root"))
    for file in aside:
        assert (inboxes / file).read_bytes() == data
    if not aside and before.messages:
        assert (inboxes / "bob.json").read_bytes().startswith(data.rstrip()[:-1].rstrip())


FOREIGN = FINITE_VALUES | st.dictionaries(
    st.sampled_from(["from", "text", "read", "metadata", "msg_id"]), FINITE_VALUES
)


@given(st.lists(FOREIGN, max_size=4), st.sampled_from([None, 0, 2]), st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_write_leaves_every_foreign_record_as_it_is(
    tmp_path_factory: pytest.TempPathFactory,
    foreign: list[object],
    indent: int | None,
    is_ascii: bool,  # noqa: FBT001
) -> None:
    folder = tmp_path_factory.mktemp("team")
    inboxes = make_team(folder)
    sources = [json.dumps(value, indent=indent, ensure_ascii=is_ascii) for value in foreign]
    text = f"[{', '.join(sources)}]\n"
    (inboxes / "bob.json").write_text(text)
    async with opened(folder) as store:
        sent = await store.send(ALICE, BOB, HELLO)
        await store.mark(BOB, [sent.id or ""])
        await store.acknowledge(BOB, sent.id or "", HELLO)
        await store.prune(BOB, Retention())
    written = (inboxes / "bob.json").read_text()
    assert written.startswith(text.rstrip()[:-1])
    assert json.loads(written)[:-1] == foreign


async def test_a_message_without_an_id_can_be_marked(tmp_path: Path, inboxes: Path) -> None:
    (inboxes / "bob.json").write_bytes(inbox_bytes("idless-twins"))
    async with opened(tmp_path) as store:
        one, other = (await store.read(BOB)).messages
        assert one.id_kind is IdKind.DERIVED
        assert await store.mark(BOB, [other.id]) == [other.id]
    assert [record["read"] for record in records(inboxes, "bob")] == [False, True]


async def test_an_agent_joins_a_team_and_leaves_it_and_the_file_is_as_before(tmp_path: Path, inboxes: Path) -> None:
    path = inboxes.parent / "config.json"
    path.write_bytes(config_bytes("captured-with-teammate"))
    dave = NewMember(agent_id="dave@alpha", name="dave", agent_type="codex", model="m", joined_at=1, cwd="/w")
    us = this_process()
    async with opened(tmp_path) as store:
        assert await store.register(TEAM, [dave], us, PATIENCE) == frozenset({"dave"})
        assert await store.known(TEAM) == ["team-lead", "alice", "dave"]
        assert await store.register(TEAM, [], us, PATIENCE) == frozenset()
        assert path.read_bytes() == config_bytes("captured-with-teammate")
        path.write_bytes(config_bytes("truncated"))
        assert await store.register(TEAM, [dave], us, PATIENCE) is None
        assert path.read_bytes() == config_bytes("truncated")
        assert await store.register("beta", [dave], us, PATIENCE) == frozenset()
        with pytest.raises(Refused, match="as the name of a team"):
            await store.register("..", [dave], us, PATIENCE)


async def test_entries_of_a_server_that_died_are_removed_and_those_of_one_that_lives_are_not(
    tmp_path: Path, inboxes: Path
) -> None:
    path = inboxes.parent / "config.json"
    path.write_bytes(config_bytes("captured-with-teammate"))
    us = this_process()
    dead = replace(us, proc_start="1")
    far = replace(dead, pid_space="elsewhere")

    def agent(name: str) -> NewMember:
        return NewMember(agent_id=f"{name}@alpha", name=name, agent_type="codex", model="m", joined_at=1, cwd="/w")

    async with opened(tmp_path) as store:
        other = await asyncio.create_subprocess_exec("sleep", "1000")
        try:
            for name, owner in (("one", dead), ("two", far), ("three", owner_of(other.pid))):
                path.write_bytes(joined(path.read_bytes(), agent(name), owner))
            await store.register(TEAM, [], us, PATIENCE)
            assert await store.known(TEAM) == ["team-lead", "alice", "two", "three"]
        finally:
            other.kill()
            await other.wait()
        await store.register(TEAM, [], us, PATIENCE)
        assert await store.known(TEAM) == ["team-lead", "alice", "two"]


def joined(data: bytes, agent: NewMember, owner: Owner) -> bytes:
    found = registered(data, [agent], owner, frozenset())
    assert found is not None
    return found.data


async def test_a_message_that_cannot_be_recorded_is_not_written(tmp_path: Path, inboxes: Path) -> None:
    async with opened(tmp_path) as store:
        await store.database.write(lambda db: db.execute("DROP TABLE outgoing"))
        with pytest.raises(Unavailable, match="no such table"):
            await store.send(ALICE, BOB, HELLO)
    assert files_below(inboxes) == []


async def test_a_folder_that_cannot_hold_the_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(Unavailable, match=r"The mail's database .*mail\.db cannot be used"):
        async with opened(tmp_path):
            raise AssertionError("it opened")
