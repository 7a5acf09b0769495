"""Requests to the registry that no honest client sends, over real sockets: each gets one answer and leaves nothing."""

import asyncio
import json
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codex_mcp.relay.bodies import BASE, MAX_BODY_BYTES, Connected, Failed, Registered, Validated
from codex_mcp.relay.handshake import PROFILE
from codex_mcp.relay.keys import public_key_object
from tests.support.patience import PATIENCE
from tests.support.processes import descriptors, resident_kib
from tests.support.relay import private_keys
from tests.support.rendezvous import RunningRendezvous

PRINCIPALS: Final = 40
"""Each may send 200 requests per second."""

ANSWERS: Final = {"register": Registered, "validate": Validated, "connect": Connected}
STATUSES: Final = {200, 400, 403, 404, 409, 413}

GROWTH_KIB: Final = 6 * 1024
"""What a thousand odd requests may leave behind: what the interpreter does not give back, and no more."""

KEY: Final[dict[str, str]] = msgspec.to_builtins(public_key_object(private_keys("harness").public))
BODIES: Final[dict[str, dict[str, Any]]] = {
    "register": {"security_profile": PROFILE, "executor_public_key": KEY},
    "validate": {
        "executor_registration_id": "r",
        "harness_public_key": KEY,
        "harness_key_authorization": "a.b",
    },
    "connect": {"harness_public_key": KEY},
}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


def _changed(body: dict[str, Any], path: tuple[str, ...], value: object) -> dict[str, Any]:
    name, *rest = path
    return {**body, name: _changed(body[name], tuple(rest), value) if rest else value}


def _paths(body: dict[str, Any]) -> list[tuple[str, ...]]:
    inner = [(name, *path) for name, value in body.items() if isinstance(value, dict) for path in _paths(value)]
    return [*((name,) for name in body), *inner]


@st.composite
def bodies(draw: st.DrawFn, what: str) -> bytes:
    """A good body with one thing wrong, or no such body at all."""
    good = BODIES[what]
    text = json.dumps(good)
    match draw(
        st.sampled_from(["good", "value", "missing", "double", "cut", "bytes", "encoding", "deep", "size", "any"])
    ):
        case "value":
            return json.dumps(_changed(good, draw(st.sampled_from(_paths(good))), draw(anything))).encode()
        case "missing":
            gone = draw(st.sampled_from(sorted(good)))
            return json.dumps({name: value for name, value in good.items() if name != gone}).encode()
        case "double":
            return f"{text[:-1]}, {text[1:]}".encode()
        case "cut":
            return text.encode()[: draw(st.integers(0, len(text)))]
        case "bytes":
            at = draw(st.integers(0, len(text)))
            return text[:at].encode() + draw(st.binary(min_size=1, max_size=8)) + text[at:].encode()
        case "encoding":
            return text.encode(draw(st.sampled_from(["utf-16", "utf-32", "utf-8-sig", "cp037"])))
        case "deep":
            depth = draw(st.sampled_from([100, 10_000]))
            return b'{"security_profile":' + b"[" * depth + b"]" * depth + b"}"
        case "size":
            room = draw(st.sampled_from([MAX_BODY_BYTES, MAX_BODY_BYTES + 1, 4 * MAX_BODY_BYTES])) - len(text)
            return text.encode() + b" " * room
        case "any":
            return draw(st.binary(max_size=200)) + json.dumps(draw(anything)).encode()
        case _:
            return text.encode()


names = st.text("abcXYZ-_09", min_size=1, max_size=12)
odd_paths = st.text(min_size=1, max_size=70).map(lambda text: "".join(f"%{byte:02x}" for byte in text.encode()))
values = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60)
headers = st.lists(st.tuples(st.just("x-codex-mcp-name") | names.map(lambda name: f"x-{name}"), values), max_size=4)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, bytes, list[str]]:
    what = draw(st.sampled_from(sorted(BODIES)))
    environment_id = draw(st.just("fuzzed") | names | odd_paths)
    fields = [f"{name}: {value}" for name, value in draw(headers)]
    fields += draw(
        st.sampled_from([[], ["content-type: text/plain"], ["x-forwarded-proto: gopher"], ["expect: nothing"]])
    )
    return f"{BASE}/{environment_id}/{what}", draw(bodies(what)), fields


class Line:
    """A connection that is opened again when the server closes it, as it does after each answer of the registry."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._read = b""
        self.sent = 0

    def asked(self, raw: bytes) -> tuple[int, bytes]:
        """Send one request, and one whose answer is known: exactly two answers must come."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), PATIENCE)
        self._socket.sendall(raw + b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n")
        self.sent += 2
        status, body, is_last = self._answer(self._socket)
        if is_last:
            self.close()
            self.sent -= 1
        else:
            assert self._answer(self._socket) == (200, b"ok\n", False)
            assert self._read == b"", "more was answered than asked"
        return status, body

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket, self._read = None, b""

    def _answer(self, source: socket.socket) -> tuple[int, bytes, bool]:
        head = self._taken(source, lambda: self._read.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in self._read else -1)
        first, *lines = head[:-4].split(b"\r\n")
        found = re.fullmatch(rb"HTTP/1\.1 (\d{3}) [ -~]*", first)
        assert found, f"not a status line: {first!r}"
        fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        (length,) = [value for name, value in fields if name == b"content-length"]
        size = int(length)
        body = self._taken(source, lambda: size if len(self._read) >= size else -1)
        return int(found[1]), body, (b"connection", b"close") in fields

    def _taken(self, source: socket.socket, size: Callable[[], int]) -> bytes:
        while (count := size()) < 0:
            data = source.recv(1 << 16)
            assert data, f"the connection ended within an answer: {self._read!r}"
            self._read += data
        taken, self._read = self._read[:count], self._read[count:]
        return taken


def posted(path: str, body: bytes, fields: list[str], token: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: test", f"authorization: Bearer {token}", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, *fields, "", ""]).encode("latin-1") + body


def token(number: int) -> str:
    return f"the-token-of-fuzzer-{number % PRINCIPALS}"


async def test_any_request_gets_one_answer_and_leaves_nothing(tmp_path: Path) -> None:
    lines = [f"fuzzer-{number} {token(number)} register=* reach=*" for number in range(PRINCIPALS)]
    (tmp_path / "tokens").write_text("\n".join(lines))
    async with RunningRendezvous(tmp_path) as rendezvous:
        line, before = await with_one_connection(rendezvous)

        @settings(max_examples=250, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(requests())
        @example((f"{BASE}/fuzzed/register", b"", []))
        @example((f"{BASE}/fuzzed/connect", json.dumps(BODIES["connect"]).encode(), ["host: two"]))
        def check(request: tuple[str, bytes, list[str]]) -> None:
            path, body, fields = request
            status, answer = line.asked(posted(path, body, fields, token(line.sent // 2)))
            assert status in STATUSES, (status, answer)
            if status == 200:
                msgspec.json.decode(answer, type=ANSWERS[path.rpartition("/")[2]])
            else:
                failure = msgspec.json.decode(answer, type=Failed).error
                assert failure.code
                assert failure.message

        await asyncio.to_thread(check)
        sizes = [resident_kib(rendezvous.process.pid)]
        for _ in range(2):
            await asyncio.to_thread(check)
            sizes.append(resident_kib(rendezvous.process.pid))
        assert line.sent > 700
        assert sizes[-1] < sizes[0] + GROWTH_KIB, sizes
        await asyncio.to_thread(line.close)
        await settled(lambda: descriptors(rendezvous.process.pid) < before, "connections are left")
    assert "Traceback" not in rendezvous.stderr


async def test_what_is_not_http_is_answered_or_closed_and_others_continue(tmp_path: Path) -> None:
    async with RunningRendezvous(tmp_path) as rendezvous:
        line, before = await with_one_connection(rendezvous)
        good = posted(f"{BASE}/build-1/connect", b"{}", [], "the-token-of-alice-for-tests")

        @settings(max_examples=150, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.binary(max_size=60), st.integers(0, len(good)), st.sampled_from(["instead", "into", "before"]))
        @example(b"content-length: 5\r\n", good.index(b"content-length"), "into")
        @example(b"transfer-encoding: chunked\r\n", good.index(b"content-length"), "into")
        @example(b"GET / HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n", 0, "instead")
        def check(junk: bytes, at: int, how: str) -> None:
            raw = {"instead": junk, "into": good[:at] + junk + good[at:], "before": junk + good}[how]
            with socket.create_connection(("127.0.0.1", rendezvous.port), PATIENCE) as wire:
                wire.sendall(raw)
                wire.shutdown(socket.SHUT_WR)
                came = b""
                while data := wire.recv(1 << 16):
                    came += data
            assert not came or re.match(rb"HTTP/1\.1 [234]\d\d ", came), came[:100]

        await asyncio.to_thread(check)
        status, _ = await asyncio.to_thread(line.asked, good)
        assert status == 400
        await asyncio.to_thread(line.close)
        await settled(lambda: descriptors(rendezvous.process.pid) < before, "connections are left")
    assert "Traceback" not in rendezvous.stderr


async def with_one_connection(rendezvous: RunningRendezvous) -> tuple[Line, int]:
    """A connection that was used, and the open files of the rendezvous meanwhile."""
    line = Line(rendezvous.port)
    await asyncio.to_thread(line.asked, b"GET /readyz HTTP/1.1\r\nhost: test\r\n\r\n")
    return line, descriptors(rendezvous.process.pid)


async def settled(is_so: Callable[[], bool], why: str) -> None:
    """Wait until it is so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, why
        await asyncio.sleep(0.01)
