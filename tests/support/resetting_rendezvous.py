"""`python -m tests.support.resetting_rendezvous`: a rendezvous that forges a reset behind one frame.

On SIGUSR1 it reads `order` in its home: towards which end, and behind which frame for that end, counted from then on.
The frame and the reset leave together. Behind frame 0 means at once, for the streams that it has.
"""

import os
import signal
import sys
from pathlib import Path

from codex_mcp.cli.main import main
from codex_mcp.relay.frames import Frame, Reset, encode, read_header
from codex_mcp.rendezvous import serve
from codex_mcp.rendezvous.routes import Outgoing, Routes, Socket

ORDER = Path(os.environ["HOME"]) / "order"


class ResettingRoutes(Routes):
    """Routes frames, and forges a reset when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self._towards = ""
        self._left = -1
        signal.signal(signal.SIGUSR1, self._arm)

    def _arm(self, *_: object) -> None:
        self._towards, behind = ORDER.read_text().split()
        self._left = int(behind)
        sys.stderr.write(f"armed: {self._towards} {behind}\n")

    def from_harness(self, socket: Socket, frame: bytes) -> list[Outgoing]:
        return self._attacked("executor", super().from_harness(socket, frame))

    def from_executor(self, registration_id: str, frame: bytes, now: float) -> list[Outgoing]:
        return self._attacked("harness", super().from_executor(registration_id, frame, now))

    def expire(self, now: float) -> list[Outgoing]:
        if self._left:
            return super().expire(now)
        forged = [
            Outgoing(socket, self._reset(stream.id))
            for streams in self._streams.values()
            for stream in streams.values()
            for socket in [stream.harness if self._towards == "harness" else self._executors[stream.registration_id]]
            if socket is not None
        ]
        self._left = -1
        return super().expire(now) + forged

    def _attacked(self, towards: str, outgoing: list[Outgoing]) -> list[Outgoing]:
        result: list[Outgoing] = []
        for each in outgoing:
            result.append(each)
            if towards == self._towards and self._left > 0:
                self._left -= 1
                if not self._left:
                    self._left = -1
                    result.append(Outgoing(each.socket, self._reset(read_header(each.frame).stream_id)))
        return result

    def _reset(self, stream_id: str) -> bytes:
        sys.stderr.write("forged a reset\n")
        return encode(Frame(stream_id, Reset("forged")))


if __name__ == "__main__":
    vars(serve)["Routes"] = ResettingRoutes  # the class of which the server makes its table
    sys.exit(main(sys.argv[1:]))
