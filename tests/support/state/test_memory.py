"""What only the model in memory can do: nodes that die or fall silent on command."""

from codex_mcp.state.contract import Claim, OwnedBy, Renewed, TakenOver
from tests.support.state.memory import MemoryStore, World


async def test_a_killed_node_can_be_taken_over_at_once() -> None:
    world = World()
    one, two = MemoryStore(world), MemoryStore(world)
    node = await one.leases.join()
    await two.leases.join()
    await one.leases.claim("t")
    world.kill(node.id)
    assert [claim.thread for claim in await two.leases.take(node.id)] == ["t"]


async def test_a_stopped_node_comes_back_if_nobody_was_faster() -> None:
    world = World()
    one, two = MemoryStore(world), MemoryStore(world)
    node = await one.leases.join()
    await two.leases.join()
    await one.leases.claim("t")
    world.stop(node.id)
    assert await one.leases.renew() == Renewed()
    assert isinstance(await two.leases.claim("t"), OwnedBy)
    world.stop(node.id)
    assert isinstance(await two.leases.claim("t"), Claim)
    assert await one.leases.renew() == Renewed()
    world.stop(node.id)
    assert await two.leases.take(node.id) == []
    assert await one.leases.renew() == TakenOver()
