"""Streams on the event loop: timers, resets, and what becomes of them when connections break."""

import asyncio
from collections.abc import Sequence

import pytest

from codex_mcp.relay import stream, stream_driver
from codex_mcp.relay.frames import Data, Frame, Reset, Resume, decode
from codex_mcp.relay.records import MAX_MESSAGE_BYTES
from codex_mcp.relay.stream import RelayStream, reset_frame
from codex_mcp.relay.stream_driver import StreamDriver
from tests.support.patience import PATIENCE
from tests.support.relay import paired_ciphers


class Owner:
    """Keeps what happened; its frames go to the other owner, if there is one."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.messages: list[bytes] = []
        self.ends: list[str] = []
        self.far: StreamDriver | None = None
        self.over = asyncio.Event()
        self.has_written = asyncio.Event()

    def write(self, frames: Sequence[bytes]) -> None:
        self.written += frames
        self.has_written.set()
        for frame in frames if self.far is not None else ():
            assert self.far is not None
            self.far.frame_received(decode(frame))

    def messages_received(self, messages: Sequence[bytes]) -> None:
        self.messages += messages

    def stream_ended(self, reason: str) -> None:
        self.ends.append(reason)
        self.over.set()


def paired(*, greeted: bool = True) -> tuple[Owner, StreamDriver, Owner, StreamDriver]:
    ours, theirs = paired_ciphers()
    near, far = Owner(), Owner()
    near_driver, far_driver = StreamDriver(RelayStream("s", ours), near), StreamDriver(RelayStream("s", theirs), far)
    near.far, far.far = far_driver, near_driver
    if greeted:
        near_driver.greet()
    return near, near_driver, far, far_driver


async def ended(*drivers: StreamDriver) -> None:
    for driver in drivers:
        driver.end("the test is over")


async def test_messages_pass_and_are_acknowledged_in_time() -> None:
    near, driver, far, far_driver = paired()
    assert driver.can_resume
    far.has_written.clear()
    driver.send(b"hello")
    assert far.messages == [b"hello"]
    async with asyncio.timeout(PATIENCE):
        await far.has_written.wait()  # the acknowledgement, by the timer
    driver.send(b"more")
    assert (far.messages, driver.queued_bytes) == ([b"hello", b"more"], 0)
    await ended(driver, far_driver)
    assert near.ends == far.ends == ["the test is over"]


async def test_a_reset_ends_both_sides_once() -> None:
    near, driver, far, far_driver = paired()
    driver.reset("enough")
    driver.reset("again")
    assert near.ends == ["enough"]
    assert far.ends == ["the other side ended the stream: noise_relay_protocol_error"]
    far_driver.send(b"too late")
    far_driver.frame_received(Frame("s", Resume(0)))
    far_driver.greet()
    far_driver.connection_lost()
    far_driver.connection_resumed()
    assert decode(far.written[-1]).body == Reset("noise_relay_protocol_error")


async def test_a_reset_is_answered_with_a_reset_so_that_a_forged_one_is_noticed_by_both_sides() -> None:
    near, driver, far, _ = paired()
    driver.frame_received(Frame("s", Reset("forged by the relay")))
    assert near.ends == ["the other side ended the stream: forged by the relay"]
    assert near.written[-1] == far.written[-1] == reset_frame("s")
    assert far.ends == ["the other side ended the stream: noise_relay_protocol_error"]


async def test_a_violation_of_the_protocol_resets_the_stream() -> None:
    near, driver, _, far_driver = paired()
    driver.frame_received(Frame("s", Data(0, b"forged and long enough")))
    assert near.ends == ["a message is not authentic"]
    assert near.written[-1] == reset_frame("s")
    await ended(far_driver)
    near, driver, _, far_driver = paired()
    driver.send(bytes(MAX_MESSAGE_BYTES + 1))
    assert "cannot send a message" in near.ends[0]
    assert decode(near.written[-1]).body == Reset("noise_relay_protocol_error")
    await ended(far_driver)


async def test_a_stream_continues_on_a_new_connection() -> None:
    near, driver, far, far_driver = paired()
    near.far = None
    driver.send(b"lost on the way")
    driver.connection_lost()
    driver.connection_lost()
    near.far = far_driver
    driver.connection_resumed()
    assert far.messages == [b"lost on the way"]
    assert near.ends == []
    await ended(driver, far_driver)


async def test_without_acknowledgements_a_broken_connection_ends_the_stream() -> None:
    near, driver, _, far_driver = paired(greeted=False)
    driver.connection_lost()
    assert near.ends == ["the connection to the rendezvous broke"]
    await ended(far_driver)


async def test_a_stream_without_a_new_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_driver, "SUSPENDED_SECONDS", 0.01)
    near, driver, _, far_driver = paired()
    driver.connection_lost()
    async with asyncio.timeout(PATIENCE):
        await near.over.wait()
    assert near.ends == ["no new connection in 30 seconds"]
    await ended(far_driver)


async def test_a_gap_that_stays_open_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "GIVE_UP", 0.01)
    near, driver, far, far_driver = paired()
    near.far = None
    driver.send(b"lost")
    driver.send(b"comes")
    far_driver.frame_received(decode(near.written[-1]))
    async with asyncio.timeout(PATIENCE):
        await far.over.wait()
    assert "has been missing" in far.ends[0]
    await ended(driver)
