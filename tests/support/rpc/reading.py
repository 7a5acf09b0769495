"""Reads a channel step by step."""

import asyncio

from codex_mcp.base.tasks import TaskSet
from codex_mcp.rpc.channel import Channel, Frame


class Kept:
    """Keeps the frames of a channel."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.came = asyncio.Event()

    def frame_received(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.came.set()

    def connection_lost(self) -> None:
        self.came.set()


async def receive(channel: Channel) -> list[Frame]:
    """The frames of the next read; none at the end. What comes later stays in the channel."""
    tasks, kept = TaskSet(), Kept()
    tasks.spawn(channel.read(kept), name="read")
    try:
        await kept.came.wait()
    finally:
        await tasks.aclose()
    return kept.frames
