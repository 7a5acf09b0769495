"""What changes is written, together if it comes together, and nothing is written that another server owns."""

import asyncio
import json
from pathlib import Path

import pytest

from codex_mcp.state.contract import Claim, OwnedBy, Store, Unavailable
from codex_mcp.state.embedded.store import open_store
from codex_mcp.team.agent import AgentStatus
from codex_mcp.team.records import record_writer as writer_module
from codex_mcp.team.records.agent_store import EVENTS, read_agents
from codex_mcp.team.records.record_writer import RecordWriter
from codex_mcp.team.records.registry import RegistryFile
from codex_mcp.team.roster import Member
from tests.support.patience import PATIENCE
from tests.support.state.memory import MemoryStore, World
from tests.support.state.statements import counted_statements
from tests.team.test_agent import agent


class Broken(MemoryStore):
    """A store whose disk is full for a while."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.is_full = False
        self.written = asyncio.Event()
        put = self.records.put

        async def full_or_not(claim: Claim, kind: str, key: str, body: bytes) -> None:
            if self.is_full:
                raise Unavailable("the disk is full")
            await put(claim, kind, key, body)
            self.written.set()

        self.records.put = full_or_not  # type: ignore[method-assign]


async def owned(store: Store) -> Member:
    member = Member(agent())
    claim = await store.leases.claim(member.agent.codex_id)
    assert not isinstance(claim, OwnedBy)
    member.take_claim(claim)
    return member


def shown(folder: Path) -> list[str]:
    return [entry["last_error"] for entry in json.loads((folder / "registry.json").read_text())["sessions"]]


async def test_the_last_of_many_changes_is_in_the_store_and_in_the_registry(tmp_path: Path) -> None:
    store = MemoryStore(World())
    fenced: list[Claim] = []
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), fenced.append)
    member = await owned(store)
    for number in range(50):
        member.touch(last_error=str(number))
        writer.note(member, {"number": number})
    await writer.flush()
    assert [each.last_error for each in await writer.agents()] == shown(tmp_path) == ["49"]
    assert len(await store.journal.read(member.agent.codex_id, EVENTS)) == 50
    await writer.finish(member)
    assert await store.leases.owner(member.agent.codex_id) is None
    await writer.aclose()
    await writer.flush()
    assert fenced == []
    await store.aclose()


async def test_a_short_turn_is_written_at_once_and_its_answer_waits_for_one_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "PAUSE", 1000.0)
    statements = counted_statements(monkeypatch)
    store = await open_store(str(tmp_path))
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    member = await owned(store)
    writer.note(member)
    await writer.flush()
    for number in range(3):
        statements.clear()
        member.touch(last_error=f"begins {number}")
        writer.note(member)
        for _ in range(10):
            await asyncio.sleep(0)
        member.touch(last_error=f"has ended {number}")
        writer.note(member, {"event": "turn"})
        await writer.keep()
        assert statements.count("COMMIT") == 1
        assert [each.last_error for each in await read_agents(store)] == [f"has ended {number}"]
        assert len(await store.journal.read(member.agent.codex_id, EVENTS)) == number + 1
    await writer.aclose()
    await store.aclose()


async def test_what_another_server_owns_by_now_is_told_and_not_written(tmp_path: Path) -> None:
    world = World()
    ours, theirs = MemoryStore(world), MemoryStore(world)
    node = await ours.leases.join()
    await theirs.leases.join()
    fenced: list[Claim] = []
    writer = RecordWriter(ours, RegistryFile(str(tmp_path)), fenced.append)
    member = await owned(ours)
    world.kill(node.id)
    await owned(theirs)
    writer.note(member)
    await writer.flush()
    assert fenced == [member.claim]
    assert await writer.agents() == []
    await writer.aclose()
    await theirs.aclose()


async def test_what_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    store = Broken(World())
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    member = await owned(store)
    store.is_full = True
    writer.note(member)
    await writer.flush()
    assert writer.trouble == "the disk is full"
    store.is_full = False
    await writer.flush()
    assert [writer.trouble, len(await writer.agents())] == [None, 1]
    await writer.drop(member)
    await writer.flush()
    assert await writer.agents() == []
    await writer.aclose()
    await store.aclose()


async def test_an_end_that_could_not_be_written_is_shown_at_once_and_written_as_soon_as_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_module, "RETRY", 0.01)
    store = Broken(World())
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    member = await owned(store)
    assert member.claim is not None
    await store.records.bind(member.claim, member.agent.team, member.agent.identity)
    writer.note(member)
    await writer.flush()
    store.is_full = True
    member.touch(status=AgentStatus.CLOSED, owner=None)
    await writer.finish(member)
    assert [each.status for each in await read_agents(store)] == [AgentStatus.ACTIVE]
    assert [each.status for each in await writer.agents()] == [
        AgentStatus.CLOSED
    ]  # though the disk does not say so yet
    store.written.clear()
    store.is_full = False
    async with asyncio.timeout(PATIENCE):
        await store.written.wait()  # without being asked
    await writer.flush()
    assert [each.status for each in await read_agents(store)] == [AgentStatus.CLOSED]
    assert await store.records.bindings(member.agent.team) == []
    assert caplog.text.count("cannot write the agents' records: the disk is full") <= 1  # however often it was tried
    assert await store.leases.owner(member.agent.codex_id) is None
    await writer.aclose()
    await store.aclose()


async def test_an_end_that_could_not_be_written_is_forgotten_when_the_agent_is_back(tmp_path: Path) -> None:
    store = Broken(World())
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    ended = await owned(store)
    store.is_full = True
    ended.touch(status=AgentStatus.CLOSED, owner=None)
    await writer.finish(ended)
    store.is_full = False
    back = await owned(store)
    writer.note(back)
    await writer.flush()
    assert [each.status for each in await writer.agents()] == [AgentStatus.ACTIVE]
    assert await store.leases.owner(back.agent.codex_id) is not None
    await writer.aclose()
    await store.aclose()


@pytest.mark.parametrize("body", [b"no json", b"{}"])
async def test_a_record_that_cannot_be_read_hides_no_other(tmp_path: Path, body: bytes) -> None:
    store = MemoryStore(World())
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    member = await owned(store)
    assert member.claim is not None
    await store.records.put(member.claim, "agent", "odd", body)
    writer.note(member)
    await writer.flush()
    assert [each.codex_id for each in await writer.agents()] == [member.agent.codex_id]
    await writer.aclose()
    await store.aclose()


async def test_an_unexpected_error_is_logged_and_no_caller_waits_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore(World())
    await store.leases.join()
    writer = RecordWriter(store, RegistryFile(str(tmp_path)), lambda _: None)
    member = await owned(store)
    member.touch(last_error="\ud800")  # half of a character, which cannot be written
    writer.note(member)
    await writer.flush()
    assert writer.trouble
    assert "cannot write the agents' records" in caplog.text
    member.touch(last_error="whole")
    writer.note(member)
    await writer.flush()
    assert shown(tmp_path) == ["whole"]
    await writer.aclose()
