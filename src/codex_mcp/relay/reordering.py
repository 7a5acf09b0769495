"""Pure. Puts data frames back into their order, drops doubles, stitches segments, and says what has arrived.

seq is           what happens
---------------  ------------------------------------------------------------
below the next   dropped: it was here before
the next         delivered, with those behind it that were waiting
in the window    kept until the ones before it have come; a double is dropped
beyond           an error: an honest sender waits for our acknowledgement
"""

from __future__ import annotations

from typing import Final

from codex_mcp.relay.errors import RelayError
from codex_mcp.relay.frames import MAX_U32, Data
from codex_mcp.relay.records import SEALED_BYTES

WINDOW: Final = 64
"""How far ahead of the next frame one may be, as in Codex."""

WINDOW_BYTES: Final = 1024 * 1024
"""Payload that waits for an earlier frame, as in Codex."""

ACK_BITS: Final = 32


class Reordering:
    def __init__(self) -> None:
        self.next_seq = 0
        self._waiting: dict[int, Data] = {}
        self._waiting_bytes = 0
        self._segments: list[bytes] = []
        self._count = 1

    @property
    def has_gap(self) -> bool:
        return bool(self._waiting)

    def acknowledgement(self) -> tuple[int, int]:
        """`ack`, the last frame of those without a gap, and `ack_bits`, bit i of which stands for ack + 1 + i.

        Before the first frame both are 0: what came early is not mentioned, since `ack` 0 also means "the first came".
        """
        if self.next_seq == 0:
            return 0, 0
        if not self._waiting:
            return self.next_seq - 1, 0
        bits = sum(1 << (seq - self.next_seq) for seq in self._waiting if seq - self.next_seq < ACK_BITS)
        return self.next_seq - 1, bits

    def received(self, data: Data) -> list[bytes]:
        """The payloads, in order, that can be opened now. Raises RelayError."""
        if data.seq < self.next_seq or data.seq in self._waiting:
            return []
        if data.seq >= self.next_seq + WINDOW:
            raise RelayError(f"frame {data.seq} came while {self.next_seq} is missing: it is beyond the window")
        if data.seq == MAX_U32:
            raise RelayError("the sequence of frames is used up")
        if data.seq > self.next_seq:
            self._keep(data)
            return []
        payloads = self._stitched(data)
        while (following := self._waiting.pop(self.next_seq, None)) is not None:
            self._waiting_bytes -= len(following.payload)
            payloads += self._stitched(following)
        return payloads

    def _keep(self, data: Data) -> None:
        self._waiting_bytes += len(data.payload)
        if self._waiting_bytes > WINDOW_BYTES:
            raise RelayError(f"more than {WINDOW_BYTES} bytes wait for frame {self.next_seq}")
        self._waiting[data.seq] = data

    def _stitched(self, data: Data) -> list[bytes]:
        self.next_seq = data.seq + 1
        if data.segment_count == 1 and not self._segments:
            return [data.payload]
        if data.segment_index != len(self._segments) or (self._segments and data.segment_count != self._count):
            raise RelayError(f"frame {data.seq} is not the next segment of its record")
        self._segments.append(data.payload)
        self._count = data.segment_count
        if sum(map(len, self._segments)) > SEALED_BYTES:
            raise RelayError(f"the segments of a record have more than {SEALED_BYTES} bytes")
        if len(self._segments) < data.segment_count:
            return []
        record, self._segments = b"".join(self._segments), []
        return [record]
