"""The scripted model: a loopback Responses API that plays a script to the real Codex.

It keeps no state between two requests, except how often a step with `times` has failed. So any number of threads,
retries, resumes and restarts of Codex can use the same model.
"""

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Self

import msgspec

from codex_mcp.base.errors import Refused
from codex_mcp.scripted_model.actions import (
    Abort,
    Action,
    Hold,
    HoldForever,
    Pause,
    Refuse,
    Send,
    actions,
    error_body,
    in_large_writes,
)
from codex_mcp.scripted_model.connection import HOST, Connection, Listening
from codex_mcp.scripted_model.gates import Gates
from codex_mcp.scripted_model.http import HttpRequest
from codex_mcp.scripted_model.playing import FAILURES, Response, play
from codex_mcp.scripted_model.request import ModelRequest, read_request
from codex_mcp.scripted_model.script import Script
from codex_mcp.scripted_model.whole import WholeAnswer

KEPT_REQUESTS = 128
"""Requests kept in `requests`, each some 50 kB. The oldest is dropped first."""

KEPT_COUNTS = 100_000
"""Requests kept in `counts`, each some 100 bytes. The oldest is dropped first."""

KEPT_FAILURES = 10_000
"""Steps whose failures are counted. The oldest is forgotten first, and would fail again."""

PROVIDER = "scripted"
"""The id of the model provider in Codex's configuration."""

NO_OUTBOUND_CALLS = ("features.plugins=false", "features.apps=false", "analytics.enabled=false")
"""Codex makes network calls for these even with its own model provider replaced."""

FailureKey = tuple[str, int, str, int]


class SeenRequest(msgspec.Struct, frozen=True):
    thread: str
    scene: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        return msgspec.json.decode(self.body, type=dict[str, object])


class Counted(msgspec.Struct):
    """A request, and what its answer used."""

    session: str
    thread: str
    turn: str
    scene: str
    tokens: int | None = None
    """None until all of the answer was sent: of a request that fails or is interrupted, nobody knows them."""


class ScriptedModel:
    """`async with ScriptedModel(script) as model:` and give `model.codex_overrides()` to Codex."""

    def __init__(self, script: Script, port: int = 0) -> None:
        self.requests: deque[SeenRequest] = deque(maxlen=KEPT_REQUESTS)
        self.counts: deque[Counted] = deque(maxlen=KEPT_COUNTS)
        self._script = script
        self._came = asyncio.Event()
        self._gates = Gates()
        self._failures: OrderedDict[FailureKey, int] = OrderedDict()
        self._listening = Listening(self._answer, port)

    async def __aenter__(self) -> Self:
        """Listen. Raises Refused if the port is taken."""
        try:
            await self._listening.open()
        except OSError as exc:
            port = self._listening.port
            raise Refused(f"cannot start the scripted model on port {port}: {exc.strerror or exc}") from exc
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop listening, and break every connection at once. May be called twice."""
        await self._listening.aclose()

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self._listening.port}/v1"

    def codex_overrides(self, *, retries: int = 0) -> list[str]:
        """The `-c key=value` strings that make Codex use this model, without an account or network calls."""
        provider = (
            f'{{name="Scripted model", base_url="{self.base_url}", wire_api="responses", '
            f'experimental_bearer_token="{PROVIDER}", request_max_retries={retries}, stream_max_retries={retries}}}'
        )
        return [
            f'model="{self._script.model}"',
            f'model_provider="{PROVIDER}"',
            f"model_providers.{PROVIDER}={provider}",
            *NO_OUTBOUND_CALLS,
        ]

    def release(self, gate: str) -> None:
        self._gates.open(gate)

    def shut(self, gate: str) -> None:
        self._gates.shut(gate)

    async def wait_for_gate(self, gate: str, number: int = 1) -> None:
        await self._gates.wait_for(gate, number)

    async def wait_for_scene(self, scene: str, number: int = 1) -> None:
        """Wait until this scene has answered at least `number` of the kept requests."""
        while sum(seen.scene == scene for seen in self.requests) < number:
            await self._came.wait()

    async def _answer(self, request: HttpRequest, connection: Connection) -> None:
        # The client may disconnect at any time; then there is nothing left to do.
        with suppress(ConnectionError):
            match request.method, request.path.strip("/").split("/"):
                case "POST", [*_, "responses"]:
                    await self._play(request, connection)
                case "GET", [*_, "models"]:
                    models = [{"id": self._script.model, "object": "model", "owned_by": PROVIDER}]
                    await connection.answer(200, msgspec.json.encode({"object": "list", "data": models}))
                case "GET", ["gates"]:
                    await connection.answer(200, msgspec.json.encode({"waiting": self._gates.waiting()}))
                case "POST", ["gates", gate]:
                    self.release(gate)
                    await connection.answer(200, b"{}")
                case "DELETE", ["gates", gate]:
                    self.shut(gate)
                    await connection.answer(200, b"{}")
                case _:
                    text = f"cannot {request.method} {request.path}: the scripted model has no such address"
                    await connection.answer(404, error_body(404, text, None))

    async def _play(self, request: HttpRequest, connection: Connection) -> None:
        try:
            told = read_request(request.body, request.headers)
            message = (told.thread, told.message)
            response = play(self._script, told, lambda scene, index: self._failures.get((*message, scene, index), 0))
        except Refused as exc:
            # Plain text: Codex shows the body of a 400 unchanged, so the user sees this sentence.
            await connection.answer(400, str(exc).encode(), {"content-type": "text/plain; charset=utf-8"})
            return
        self.requests.append(SeenRequest(told.thread, response.scene, request.headers, request.body))
        came, self._came = self._came, asyncio.Event()
        came.set()
        counted = Counted(told.session, told.thread, told.turn, response.scene)
        self.counts.append(counted)
        self._count_failure(told, response)
        answering = connection if told.is_streamed else WholeAnswer(connection, told.model)
        is_sent = await self._perform(actions(response, told, secrets.token_hex(8)), response.headers, answering)
        if is_sent and not _fails(response):
            counted.tokens = response.usage["input"] + response.usage["output"]

    async def _perform(
        self, todo: Iterator[Action], headers: Mapping[str, str], connection: Connection | WholeAnswer
    ) -> bool:
        """Whether all of the answer was sent."""
        streaming = False
        for action in in_large_writes(todo):
            match action:
                case Send(data):
                    if not streaming:
                        await connection.begin_stream(headers)
                        streaming = True
                    await connection.send(data)
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Hold(gate, file):
                    await self._gates.pass_through(gate, file)
                case HoldForever():
                    await connection.closed.wait()
                case Refuse(status, more, body):
                    await connection.answer(status, body, more)
                    return False
                case Abort():
                    await connection.hang_up()
                    return False
        await connection.end_stream()
        return True

    def _count_failure(self, request: ModelRequest, response: Response) -> None:
        if not _fails(response):
            return
        key = (request.thread, request.message, response.scene, response.beats[-1].index)
        self._failures[key] = self._failures.get(key, 0) + 1
        self._failures.move_to_end(key)
        while len(self._failures) > KEPT_FAILURES:
            self._failures.popitem(last=False)


def _fails(response: Response) -> bool:
    return bool(response.beats) and isinstance(response.beats[-1].step, FAILURES)
