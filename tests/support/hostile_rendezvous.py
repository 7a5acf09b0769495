"""`python -m tests.support.hostile_rendezvous`: a rendezvous that turns against the streams it has on SIGUSR1.

It drops what their ends send, acknowledges all of it itself, and answers greetings, so that both ends believe that the
other one is there. Later streams are relayed as usual.
"""

import signal
import sys

from codex_mcp.cli.main import main
from codex_mcp.relay.frames import Ack, Data, Frame, Resume, decode, encode
from codex_mcp.rendezvous import serve
from codex_mcp.rendezvous.routes import Outgoing, Routes, Socket


class HostileRoutes(Routes):
    """Routes frames, except those of the streams that it has turned against."""

    def __init__(self) -> None:
        super().__init__()
        self._betrayed: set[str] = set()
        signal.signal(signal.SIGUSR1, self._turn)

    def _turn(self, *_: object) -> None:
        self._betrayed = {stream_id for streams in self._streams.values() for stream_id in streams}
        sys.stderr.write("turned\n")

    def from_harness(self, socket: Socket, frame: bytes) -> list[Outgoing]:
        if (sent := decode(frame)).stream_id in self._betrayed:
            return forged(socket, sent)
        return super().from_harness(socket, frame)

    def from_executor(self, registration_id: str, frame: bytes, now: float) -> list[Outgoing]:
        if (sent := decode(frame)).stream_id in self._betrayed:
            return forged(self._executors[registration_id], sent)
        return super().from_executor(registration_id, frame, now)


def forged(socket: Socket, sent: Frame) -> list[Outgoing]:
    """What the sender gets instead of an answer from the other end."""
    match sent.body:
        case Data(seq):
            return [Outgoing(socket, encode(Frame(sent.stream_id, Ack(), ack=seq)))]
        case Resume():
            return [Outgoing(socket, encode(Frame(sent.stream_id, Resume(0))))]
        case _:
            return []


if __name__ == "__main__":
    vars(serve)["Routes"] = HostileRoutes  # the class of which the server makes its table
    sys.exit(main(sys.argv[1:]))
