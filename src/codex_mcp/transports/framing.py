"""Pure. Splits bytes into frames, which end at a newline or after Content-Length bytes.

The reader accepts both, message by message: only the first bytes of a message tell which one it is.

    state    input                            becomes
    -------  -------------------------------  -----------------------------------------------
    LINE     "Content-…:" at a line's start   HEADERS
    LINE     line feed                        the line is a frame; blank lines are skipped
    LINE     more than the limit, no line feed  SKIP_LINE
    HEADERS  a blank line                     BODY, or SKIP_BODY if over the limit
    HEADERS  no usable Content-Length         LINE, and one `UnreadableFrame`
    HEADERS  a line over the limit            LINE and one `UnreadableFrame`, or SKIP_LINE
    BODY     all its bytes                    a frame, LINE
    SKIP_*   the end of what is skipped       LINE, and one `UnreadableFrame` with the outline of what was skipped
    SKIP_*   the end of the stream            one `UnreadableFrame`
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from codex_mcp.rpc.channel import Frame, UnreadableFrame
from codex_mcp.transports.outline import Outline

MAX_HEADER_BYTES: Final = 4096
"""Two short headers are expected; more means that the client speaks another protocol."""


_is_header: Final = re.compile(b"content-", re.IGNORECASE).match


class Style(StrEnum):
    LINES = "lines"
    CONTENT_LENGTH = "content-length"


class ReaderState(StrEnum):
    """What the reader is in the middle of."""

    LINE = "line"
    HEADERS = "headers"
    BODY = "body"
    SKIP_LINE = "skip-line"
    SKIP_BODY = "skip-body"


def encode(frame: bytes, style: Style) -> bytes:
    if style is Style.LINES:
        return frame + b"\n"
    return b"Content-Length: %d\r\n\r\n%b" % (len(frame), frame)


class FrameReader:
    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.style = Style.LINES
        """The style of the newest frame: answer in this one."""
        self._state = ReaderState.LINE
        self._parts: list[bytes] = []
        self._size = 0
        self._body_left = 0
        self._headers: list[bytes] = []
        self._outline = Outline()

    def __repr__(self) -> str:
        return f"<FrameReader {self._state}, {self._size} bytes held>"

    def accept_up_to(self, max_bytes: int) -> None:
        """Accept frames of this size from now on."""
        self.max_bytes = max_bytes

    def feed(self, data: bytes) -> list[Frame]:
        """Take what was read; return the frames that are now complete."""
        frames: list[Frame] = []
        if self._state is ReaderState.LINE:  # the common case in one split: complete lines without headers
            *lines, data = data.split(b"\n")
            if self._parts and lines:
                lines[0] = b"".join([*self._parts, lines[0]])
                self._reset(ReaderState.LINE)
            for index, line in enumerate(lines):
                if len(line) > self.max_bytes or _is_header(line):
                    data = b"\n".join([*lines[index:], data])
                    break
                if line := line.strip():
                    self.style = Style.LINES
                    frames.append(line)
        while data:
            if self._state in (ReaderState.BODY, ReaderState.SKIP_BODY):
                data = self._feed_body(data, frames)
            else:
                data = self._feed_line(data, frames)
        return frames

    def end(self) -> list[Frame]:
        """The stream ended; a last line without a line feed still counts."""
        line = b"".join(self._parts).strip()
        state = self._state
        self._reset(ReaderState.LINE)
        if state in (ReaderState.SKIP_LINE, ReaderState.SKIP_BODY):
            return [self._too_large()]
        return [line] if state is ReaderState.LINE and line else []

    def _reset(self, state: ReaderState) -> None:
        self._state = state
        self._parts = []
        self._size = 0

    def _feed_line(self, data: bytes, frames: list[Frame]) -> bytes:
        end = data.find(b"\n")
        if end < 0:
            self._hold(data)
            return b""
        if self._state is ReaderState.SKIP_LINE:
            self._outline.feed(data[:end])
            self._skipped(frames)
            return data[end + 1 :]
        line = data[:end] if not self._parts else b"".join([*self._parts, data[:end]])
        state = self._state
        self._reset(state)
        if len(line) > self.max_bytes:
            self._give_up(ReaderState.SKIP_LINE, [line])
            self._skipped(frames)
        elif state is ReaderState.HEADERS or _is_header(line):
            self._header_received(line.strip(), frames)
        elif line := line.strip():
            self.style = Style.LINES
            frames.append(line)
        return data[end + 1 :]

    def _hold(self, data: bytes) -> None:
        """Keep a part of a line, unless the line is already too long."""
        if self._state is ReaderState.SKIP_LINE:
            self._outline.feed(data)
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size > self.max_bytes:
            self._give_up(ReaderState.SKIP_LINE, self._parts)

    def _give_up(self, state: ReaderState, parts: list[bytes]) -> None:
        """A message is too long: keep only its outline, and drop any headers before it."""
        self._headers = []
        self._outline = Outline()
        for part in parts:
            self._outline.feed(part)
        self._reset(state)

    def _skipped(self, frames: list[Frame]) -> None:
        frames.append(self._too_large(self._outline.text()))
        self._outline = Outline()
        self._reset(ReaderState.LINE)

    def _too_large(self, outline: bytes = b"") -> UnreadableFrame:
        return UnreadableFrame(f"the message is larger than {self.max_bytes} bytes", outline)

    def _header_received(self, line: bytes, frames: list[Frame]) -> None:
        if line:
            self._state = ReaderState.HEADERS
            self._headers.append(line)
            if sum(map(len, self._headers)) > MAX_HEADER_BYTES:
                frames.append(UnreadableFrame(f"the headers of the message are larger than {MAX_HEADER_BYTES} bytes"))
                self._headers = []
                self._state = ReaderState.LINE
            return
        length = _content_length(self._headers)
        self._headers = []
        self.style = Style.CONTENT_LENGTH
        if length is None:
            frames.append(UnreadableFrame("the headers of the message have no usable Content-Length"))
            self._state = ReaderState.LINE
        elif length > self.max_bytes:
            self._give_up(ReaderState.SKIP_BODY, [])
            self._body_left = length
        else:
            self._body_left = length
            self._state = ReaderState.BODY if length else ReaderState.LINE

    def _feed_body(self, data: bytes, frames: list[Frame]) -> bytes:
        taken, rest = data[: self._body_left], data[self._body_left :]
        self._body_left -= len(taken)
        if self._state is ReaderState.BODY:
            self._parts.append(taken)
        else:
            self._outline.feed(taken)
        if self._body_left == 0:
            if self._state is ReaderState.BODY:
                frames.append(b"".join(self._parts))
                self._reset(ReaderState.LINE)
            else:
                self._skipped(frames)
        return rest


def _content_length(headers: list[bytes]) -> int | None:
    for header in headers:
        name, _, value = header.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return None
