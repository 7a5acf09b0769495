"""A message that is too long to read: whoever waits for it is told."""

import msgspec
import pytest

from codex_mcp.rpc.channel import Frame, UnreadableFrame
from codex_mcp.rpc.errors import AnswerTooLong
from codex_mcp.rpc.peer import Handlers, Peer
from tests.support.core.cores import no_pace
from tests.support.rpc.memory_channel import MemoryChannel


class TooLong(MemoryChannel):
    """Hands up every message that has `long` in it as one that was too long to read."""

    async def receive(self) -> list[Frame]:
        frames = await super().receive()
        return [
            UnreadableFrame("too long", frame) if isinstance(frame, bytes) and b"long" in frame else frame
            for frame in frames
        ]


async def heard_by(handlers: Handlers, *frames: bytes) -> list[str]:
    """What a peer answers to these messages of the other end."""
    near, far = TooLong(), MemoryChannel()
    near._other, far._other = far, near
    peer = Peer(near, handlers, max_requests=4, pace=no_pace)
    for frame in frames:
        far.send(frame)
    near._inbox.put_nowait(None)
    await peer.run()
    await peer.aclose()
    answers: list[str] = []
    while sent := await far.receive():
        answers += [frame.decode() for frame in sent if isinstance(frame, bytes)]
    return answers


async def test_a_request_that_is_too_long_is_refused_by_its_id() -> None:
    handlers = Handlers(lambda request: "well", lambda message: None)
    (answer,) = await heard_by(handlers, b'{"jsonrpc":"2.0","id":7,"method":"long"}')
    message = msgspec.json.decode(answer)
    assert (message["id"], message["error"]["message"]) == (7, "Invalid Request: too long")


async def test_who_can_use_the_outline_of_a_message_that_is_too_long_is_told_and_gets_it() -> None:
    told: list[str] = []
    handlers = Handlers(
        lambda request: told.append(f"asked {request.method}"),
        lambda message: told.append(f"heard {message.method}"),
        lambda message, reason: told.append(f"{type(message).__name__} {reason}"),
    )
    await heard_by(
        handlers,
        b'{"jsonrpc":"2.0","id":7,"method":"long"}',
        b'{"jsonrpc":"2.0","method":"long"}',
        b"nonsense, and long",
    )
    assert told == ["Request too long", "asked long", "Notification too long", "heard long", "Malformed too long"]


async def test_who_waits_for_an_answer_that_is_too_long_is_told() -> None:
    near, far = TooLong(), MemoryChannel()
    near._other, far._other = far, near
    peer = Peer(near, Handlers(lambda request: None, lambda message: None), max_requests=4, pace=no_pace)
    pending = peer.start("m", {})
    far.send(b'{"jsonrpc":"2.0","id":%d,"result":{"very":"long"}}' % pending.id)
    await far.aclose()
    await peer.run()
    with pytest.raises(AnswerTooLong, match="too long"):
        await pending.answer
    await peer.aclose()
