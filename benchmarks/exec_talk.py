"""A client of an exec-server without an event loop: the least that is in the way."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct

from benchmarks.exec_frames import Frames, framed, is_news, output_size
from benchmarks.lines import NoAnswer

PATIENCE = 60.0
"""Seconds without what we wait for until it is taken for a hang."""

READ_BYTES = 1 << 20
ENVIRONMENT = {"PATH": os.defpath}

HANDSHAKE = (
    b"GET %b HTTP/1.1\r\nHost: %b\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)

QUICK_ACKNOWLEDGEMENT: int = getattr(socket, "TCP_QUICKACK", 0)
"""Linux has it; elsewhere it is 0, and left alone."""


class _Answer(Struct):
    id: int | str | None = None
    error: Raw = Raw()


_answer = msgspec.json.Decoder(_Answer)
_encode = msgspec.json.encode


class ExecTalk:
    """One connection after the handshake, in a session of its own."""

    def __init__(self, url: str, *, is_plain: bool = False) -> None:
        """A plain client leaves it to the kernel when to acknowledge; the others acknowledge at once."""
        self._is_plain = is_plain or not QUICK_ACKNOWLEDGEMENT
        self._frames = Frames()
        self._messages: deque[bytes] = deque()
        self._last_id = 0
        self._last_process = 0
        host, _, port = urlsplit(url).netloc.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._shake_hands(host)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    @property
    def last_process(self) -> str:
        """The name of the process that was started last."""
        return f"p{self._last_process}"

    def _shake_hands(self, host: str) -> None:
        self._socket.sendall(HANDSHAKE % (b"/", host.encode()))
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += self._received()
        self._messages += self._frames.feed(heard.partition(b"\r\n\r\n")[2])
        self.call("initialize", {"clientName": "benchmarks"})
        self._socket.sendall(framed(b'{"method":"initialized"}'))

    # Requests.

    def ask(self, method: str, params: object) -> int:
        """Send a request; return its id."""
        return self.ask_all([(method, params)])

    def ask_all(self, requests: Sequence[tuple[str, object]]) -> int:
        """Send several in one go; return the id of the last."""
        self.send(self.framed(requests))
        return self._last_id

    def framed(self, requests: Sequence[tuple[str, object]]) -> bytes:
        """Several requests as they are sent, for those who have prepared them in time."""
        frames = []
        for method, params in requests:
            self._last_id += 1
            frames.append(framed(_encode({"id": self._last_id, "method": method, "params": params})))
        return b"".join(frames)

    def send(self, frames: bytes) -> None:
        """Send what is framed."""
        self._socket.sendall(frames)

    def call(self, method: str, params: object) -> bytes:
        """Ask, and wait for the answer."""
        return self.answer(self.ask(method, params))

    def answer(self, request_id: int) -> bytes:
        """Wait for one answer; what else comes is forgotten."""
        return self.hear(lambda message: is_answer(message) and _id_of(message) == request_id)

    def hear(self, wanted: Callable[[bytes], bool]) -> bytes:
        """The next message that is wanted; the others are forgotten."""
        while True:
            while self._messages:
                message = self._messages.popleft()
                if wanted(message):
                    return message
            self._messages += self._frames.feed(self._received())

    def hear_answers(self, number: int) -> None:
        """So many answers, whatever they are."""
        for _ in range(number):
            _id_of(self.hear(is_answer))

    # Processes.

    def process(self, argv: Sequence[str], cwd: Path, **more: object) -> tuple[str, object]:
        """The request that starts a process under a new name."""
        self._last_process += 1
        fields = {"processId": self.last_process, "argv": argv, "cwd": cwd.as_uri(), "env": ENVIRONMENT}
        return "process/start", {**fields, "tty": False, **more}

    def run_all(self, requests: Sequence[tuple[str, object]], size: int = 0) -> None:
        """Start processes, and wait until all are closed and have written so many bytes together."""
        self.ask_all(requests)
        unanswered, open_processes, missing = len(requests), len(requests), size
        while unanswered or open_processes or missing > 0:
            message = self.hear(lambda _: True)
            if is_answer(message):
                _id_of(message)
                unanswered -= 1
            elif is_news(message, b"process/closed"):
                open_processes -= 1
            else:
                missing -= output_size(message)

    def _received(self) -> bytes:
        try:
            data = self._socket.recv(READ_BYTES)
        except TimeoutError as exc:
            raise NoAnswer(f"cannot go on: nothing came within {PATIENCE:g} seconds") from exc
        if not data:
            raise NoAnswer("cannot go on: the server has closed the connection")
        if not self._is_plain:
            # The kernel forgets the wish, so that it is repeated.
            self._socket.setsockopt(socket.IPPROTO_TCP, QUICK_ACKNOWLEDGEMENT, 1)
        return data


def is_answer(message: bytes) -> bool:
    """It answers a request."""
    return not message.startswith(b'{"method"')


def _id_of(message: bytes) -> int | str | None:
    answer = _answer.decode(message)
    if answer.error:
        raise NoAnswer(f"cannot go on: the server refused: {bytes(answer.error).decode()}")
    return answer.id
