"""Takeovers between real processes: killed, stopped and continued, and racing."""

import asyncio
import time
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.state.node_processes import NodeProcess

SHORT_TTL = 1.0
ROUNDS = 200


async def test_what_a_killed_process_owned_can_be_taken_at_once(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path, ttl=3600) as owner, NodeProcess(tmp_path, ttl=3600) as other:
        owner_id = await owner.does("join")
        await other.does("join")
        assert await owner.does("claim", "a")
        assert await owner.does("claim", "b")
        await owner.does("bind", "a", "name")
        assert await other.does("take", owner_id) == []
        await owner.kill()
        # The TTL is an hour: only the free lock can have told.
        assert (await other.does("nodes"))[owner_id][0] is False
        assert await other.does("take", owner_id) == ["a", "b"]
        await other.does("put", "a", "mine")
        assert await other.does("claim", "c")
        assert (await other.asks("bind", "c", "name")).error == "IdentityTaken"


async def test_a_stopped_process_is_taken_over_after_the_ttl_and_finds_itself_fenced(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path, ttl=SHORT_TTL) as owner, NodeProcess(tmp_path, ttl=SHORT_TTL) as other:
        owner_id = await owner.does("join")
        await other.does("join")
        assert await owner.does("claim", "a")
        await owner.does("put", "a", "before")
        owner.stop()
        _, expires = (await other.does("nodes"))[owner_id]
        async with asyncio.timeout(PATIENCE):
            while not (taken := await other.does("take", owner_id)):
                continue
        assert taken == ["a"]
        assert time.monotonic() >= expires
        await other.does("put", "a", "after")
        owner.go_on()
        assert (await owner.asks("put", "a", "late")).error == "Fenced"
        assert (await owner.asks("claim", "b")).error == "LeaseLost"
        async with asyncio.timeout(PATIENCE):
            while (await owner.does("standing")) != [False, 1]:
                continue
        assert await owner.does("join") != owner_id
        assert await owner.does("claim", "b")


async def test_a_stopped_process_of_which_nothing_was_taken_goes_on(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path, ttl=SHORT_TTL) as owner:
        await owner.does("join")
        assert await owner.does("claim", "a")
        owner.stop()
        owner.go_on()
        await owner.does("put", "a", "still mine")


async def test_of_two_processes_that_claim_one_thread_exactly_one_gets_it(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path) as one, NodeProcess(tmp_path) as two:
        await asyncio.gather(one.does("join"), two.does("join"))
        wins = [0, 0]
        for n in range(ROUNDS):
            won = await asyncio.gather(one.does("claim", f"t{n}"), two.does("claim", f"t{n}"))
            assert sorted(won) == [False, True]
            wins[won.index(True)] += 1
        assert sum(wins) == ROUNDS


async def test_of_two_processes_that_want_one_name_or_send_one_request_exactly_one_wins(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path) as one, NodeProcess(tmp_path) as two:
        for node, thread in ((one, "a"), (two, "b")):
            await node.does("join")
            assert await node.does("claim", thread)
        for n in range(ROUNDS):
            answers = await asyncio.gather(one.asks("bind", "a", f"n{n}"), two.asks("bind", "b", f"n{n}"))
            assert sorted(answer.error for answer in answers) == ["", "IdentityTaken"]
            first = await asyncio.gather(one.does("once", "a", f"r{n}"), two.does("once", "b", f"r{n}"))
            assert sorted(first) == [False, True]


async def test_of_two_heirs_exactly_one_takes_over(tmp_path: Path) -> None:
    async with NodeProcess(tmp_path) as one, NodeProcess(tmp_path) as two:
        await asyncio.gather(one.does("join"), two.does("join"))
        for n in range(5):
            async with NodeProcess(tmp_path) as owner:
                owner_id = await owner.does("join")
                assert await owner.does("claim", f"t{n}")
                await owner.kill()
                taken = await asyncio.gather(one.does("take", owner_id), two.does("take", owner_id))
                assert sorted(taken) == [[], [f"t{n}"]]
