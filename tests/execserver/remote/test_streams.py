"""An executor and harnesses that do not play by the rules, through a real rendezvous."""

import asyncio
import random
from pathlib import Path

from codex_mcp.base.tasks import TaskSet
from codex_mcp.execclient.client import ExecServerClient
from codex_mcp.relay.admission import MAX_PENDING, MAX_STREAMS
from codex_mcp.relay.frames import Body, Data, Frame, Handshake, Reset, Resume, encode
from codex_mcp.relay.handshake import FIRST_BYTES
from codex_mcp.relay.identity import new_keys
from codex_mcp.rendezvous.routes import MAX_REFUSED, TOO_MANY
from tests.support.patience import PATIENCE
from tests.support.raw_harness import REFUSED, RawHarness, an_executor, raw_harness
from tests.support.rendezvous import (
    ONLINE,
    RunningExecutor,
    RunningRendezvous,
    TcpProxy,
    as_harness,
    relay_url,
)


async def test_failed_handshakes_cost_their_harness_its_connection_and_others_nothing(tmp_path: Path) -> None:
    async with (
        an_executor(tmp_path) as rendezvous,
        ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
    ):
        other = await raw_harness(rendezvous)
        for _ in range(2):
            bad = await raw_harness(rendezvous)
            for number in range(MAX_REFUSED):
                assert await bad.asked(Handshake(bytes(FIRST_BYTES)), f"bad-{number}") == REFUSED
            await bad.is_closed()
            await bad.aclose()
        assert isinstance(await opened(other), Handshake)
        assert (await client.environment_status()).status == "ready"
        await other.aclose()


async def test_a_handshake_is_good_once(tmp_path: Path) -> None:
    async with an_executor(tmp_path) as rendezvous:
        harness = await raw_harness(rendezvous)
        assert isinstance(await harness.asked(Handshake(harness.first)), Handshake)
        assert await harness.asked(Data(0, b"not sealed with the keys of this stream")) == REFUSED
        assert await harness.asked(Handshake(harness.first)) == REFUSED
        await harness.aclose()


async def test_a_harness_whose_key_the_registry_did_not_see_is_refused(tmp_path: Path) -> None:
    async with an_executor(tmp_path) as rendezvous:
        harness = await raw_harness(rendezvous, speaks_as=new_keys())
        assert await harness.asked(Handshake(harness.first)) == REFUSED
        other = await raw_harness(rendezvous)
        assert await harness.asked(Handshake(other.first)) == REFUSED
        assert isinstance(await other.asked(Handshake(other.first)), Handshake)
        for each in (harness, other):
            await each.aclose()


async def test_data_of_a_stream_that_is_over_is_answered_with_a_reset(tmp_path: Path) -> None:
    async with an_executor(tmp_path) as rendezvous:
        harness = await raw_harness(rendezvous)
        assert await harness.asked(Resume(3)) == REFUSED
        await harness.aclose()


async def opened(harness: RawHarness) -> Body:
    return await harness.asked(Handshake(harness.first))


async def test_an_executor_serves_128_streams_and_the_next_one_after_one_of_them_ended(tmp_path: Path) -> None:
    async with an_executor(tmp_path) as rendezvous:
        harnesses: list[RawHarness] = []
        while len(harnesses) < MAX_STREAMS:
            batch = [await raw_harness(rendezvous) for _ in range(MAX_PENDING // 2)]
            harnesses += batch
            answers = await asyncio.gather(*map(opened, batch))
            assert all(isinstance(answer, Handshake) for answer in answers)
        late = [await raw_harness(rendezvous) for _ in range(3)]
        assert await asyncio.gather(*map(opened, late)) == [Reset(TOO_MANY)] * 3
        assert await harnesses[0].asked(Data(0, b"not sealed with the keys of this stream")) == REFUSED
        following = await raw_harness(rendezvous)
        assert isinstance(await opened(following), Handshake)
        for each in (*harnesses, *late, following):
            await each.aclose()


async def test_an_executor_asks_about_32_harnesses_at_once_and_refuses_the_others(tmp_path: Path) -> None:
    async with (
        RunningRendezvous(tmp_path / "rendezvous") as rendezvous,
        TcpProxy(rendezvous.port) as wire,
        RunningExecutor(wire.url, tmp_path / "executor"),
    ):
        await rendezvous.said(ONLINE)
        harnesses = [await raw_harness(rendezvous) for _ in range(MAX_PENDING + 4)]
        wire.gate.clear()  # the executor's questions wait
        tasks = TaskSet()
        answers = [tasks.spawn(opened(harness), name="handshake") for harness in harnesses]
        async with asyncio.timeout(PATIENCE):
            refused: set[asyncio.Task[Body]] = set()
            while len(refused) < 4:
                pending = [answer for answer in answers if not answer.done()]
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                refused = {answer for answer in answers if answer.done()}
        wire.gate.set()
        bodies = await asyncio.gather(*answers)
        assert [each.result() for each in refused] == [REFUSED] * 4
        assert sum(isinstance(body, Handshake) for body in bodies) == MAX_PENDING
        for harness in harnesses:
            await harness.aclose()


async def test_a_reset_while_the_registry_is_asked_ends_the_stream_and_is_answered(tmp_path: Path) -> None:
    async with (
        RunningRendezvous(tmp_path / "rendezvous") as rendezvous,
        TcpProxy(rendezvous.port) as wire,
        RunningExecutor(wire.url, tmp_path / "executor") as executor,
    ):
        await rendezvous.said(ONLINE)
        harness, other = await raw_harness(rendezvous), await raw_harness(rendezvous)
        wire.gate.clear()  # the executor's questions wait
        knocks = wire.accepted
        harness.send_raw(encode(Frame(harness.stream_id, Handshake(harness.first))))
        await wire.knocks(knocks + 1)
        # Two, because the rendezvous forgets the stream with the first; the other harness shows that both were read.
        harness.send_raw(encode(Frame(harness.stream_id, Reset("no longer"))))
        assert await other.asked(Data(0, b"of a stream that is over"), other.stream_id) is not None
        wire.gate.set()
        assert isinstance(await opened(other), Handshake)
        assert f"relay {harness.stream_id}: opened" not in executor.stderr
        for each in (harness, other):
            await each.aclose()


async def test_any_frames_leave_the_other_streams_alone(tmp_path: Path) -> None:
    chance = random.Random(13)
    async with (
        an_executor(tmp_path) as rendezvous,
        ExecServerClient(relay_url(rendezvous.url), as_harness()) as client,
    ):
        harness = await raw_harness(rendezvous)
        assert isinstance(await opened(harness), Handshake)
        for number in range(1000):
            bodies: list[Body] = [
                Handshake(chance.randbytes(chance.choice([1, FIRST_BYTES, 8000]))),
                Handshake(harness.first),
                Data(chance.getrandbits(32), chance.randbytes(50)),
                Resume(chance.getrandbits(32)),
                Reset("over"),
            ]
            stream_id = chance.choice([harness.stream_id, "another", f"new-{number % 20}"])
            raw = bytearray(
                encode(Frame(stream_id, chance.choice(bodies), chance.getrandbits(3), chance.getrandbits(32)))
            )
            for _ in range(chance.randint(0, 2)):
                raw[chance.randrange(len(raw))] = chance.getrandbits(8)
            harness.send_raw(bytes(raw[: chance.choice([len(raw), chance.randrange(len(raw))])]))
            if number % 100 == 0:
                await harness.aclose()  # the rendezvous may have closed it
                harness = await raw_harness(rendezvous)
                assert isinstance(await opened(harness), Handshake)
                assert (await client.environment_status()).status == "ready"
        process = await client.start(["echo", "well"])
        assert await process.wait() == 0
        await harness.aclose()
