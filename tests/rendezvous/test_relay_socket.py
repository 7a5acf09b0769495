"""Harnesses wait for an executor that has no room."""

from pathlib import Path

from codex_mcp.relay.frames import MAX_FRAME_BYTES, Data, Handshake, decode
from codex_mcp.rendezvous.relay_socket import MAX_WAITING
from codex_mcp.rendezvous.routes import MAX_STREAMS
from tests.support.relay import private_keys
from tests.support.rendezvous import RunningRendezvous, a_frame, an_executor, received, relay_socket

HARNESS = private_keys("harness").public


async def test_harnesses_wait_for_an_executor_that_does_not_read(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        alice = rendezvous.as_("alice")
        harnesses = [await relay_socket(await alice.connect("build-1", HARNESS)) for _ in range(2)]
        sent = []
        for number in range(3 * MAX_WAITING // 200_000):  # far more than the rendezvous keeps for a socket
            kind = Data(number, bytes(200_000)) if number > 1 else Handshake(b"1")
            sent.append(a_frame(kind, f"s{number % 2}"))
            harnesses[number % 2].send(sent[-1])
        came = [decode(frame) for frame in await received(executor, len(sent))]
        for name in ("s0", "s1"):
            ours = [frame for frame in map(decode, sent) if frame.stream_id == name]
            assert [frame for frame in came if frame.stream_id == name] == ours
        for socket in (executor, *harnesses):
            await socket.aclose()


async def test_one_frame_of_each_of_many_harnesses_is_not_too_much_for_an_executor(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        _, executor = await an_executor(rendezvous)
        alice = rendezvous.as_("alice")
        sockets = [await relay_socket(await alice.connect("build-1", HARNESS)) for _ in range(MAX_STREAMS)]
        for number, socket in enumerate(sockets):
            socket.send(a_frame(Handshake(b"1"), f"s{number}"))
        await received(executor, MAX_STREAMS)
        big = MAX_FRAME_BYTES - 100  # all together twice as much as the rendezvous keeps for a socket
        for number, socket in enumerate(sockets):
            socket.send(a_frame(Data(0, bytes(big)), f"s{number}"))
        for _ in range(20):  # the rendezvous reads what has come, and the executor does not
            await alice.connect("build-1", HARNESS)
        came = {decode(frame).stream_id for frame in await received(executor, MAX_STREAMS)}
        assert len(came) == MAX_STREAMS
        for socket in (executor, *sockets):
            await socket.aclose()
