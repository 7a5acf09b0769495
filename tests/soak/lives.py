"""Random lives of clients: any revision, reader and habit. Each answer is seen by the client's model exactly once, and
its thread can be continued with what the model was shown."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from codex_mcp.mcp.known_clients import CLIENTS, Shows, known_client
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.scenarios import THREAD
from tests.support.http.client import connect
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import BOTH, SESSION, Door, Json, call, initialize, notification, stateless
from tests.support.patience import PATIENCE

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "stateless")

NAMES = (*CLIENTS, "qwen-cli-mcp-client-codex", "some-program", "")

MOST_WAITS = 20
"""Calls of `codex_wait` for one answer; one that needs more is lost."""

LINES = (0, 0, 0, 0, 150, 1_000)
"""How long an answer is. Some clients hold less than the longer ones."""

REST = re.compile(r'threadIds\\*": \[\\*"([-0-9a-f]{36})\\*"\], \\*"offset\\*": (\d+)')
"""The call that returns the rest of an answer, as a model is shown it: in words, or in words within JSON."""


class Life:
    """One client with its habits. `play` fails if it is told something twice or never."""

    def __init__(self, port: int, model: ScriptedModel, seed: int) -> None:
        self._dice = random.Random(seed)
        self._seed = seed
        self._model = model
        self._name = self._dice.choice(NAMES)
        self._revision = self._dice.choice(REVISIONS)
        self._capabilities: Json = self._dice.choice([{}, {"elicitation": {}}, {"roots": {}}])
        known = known_client(self._name)
        self._hangs_up_to_cancel = known.hangs_up_to_cancel
        shows = known.shows
        if shows is Shows.UNKNOWN:
            shows = self._dice.choice([Shows.TEXT, Shows.DATA])
        self._shows = shows
        self._shows_of_errors = shows if known.shows_of_errors is Shows.UNKNOWN else known.shows_of_errors
        # A caller without a session is known by what it says of itself: each life is another one.
        self._door = Door(port, accept=BOTH, user_agent=f"life {seed}")
        self._numbers = 0
        self._answers: list[str] = []
        """What its model must be told once: how each answer begins, and how it ends."""
        self.shown: list[str] = []
        """What its model was shown, in order."""

    def __repr__(self) -> str:
        return f"life {self._seed}: {self._name!r}, {self._revision}, {self._shows}"

    @property
    def _is_stateless(self) -> bool:
        return self._revision == "stateless"

    async def play(self) -> None:
        if not self._is_stateless:
            hello = initialize(self._revision, self._capabilities)
            hello["params"]["clientInfo"]["name"] = self._name
            answer = await self._door.ask("POST", hello)
            self._door.headers |= {SESSION: answer.headers[SESSION], "mcp-protocol-version": self._revision}
            await self._door.ask("POST", notification("notifications/initialized"))
        for number in range(self._dice.randint(1, 3)):
            await self._turn(f"answer-{self._seed}-{number}-", thread=None)
            if self._dice.random() < 0.5:
                threads = THREAD.findall(self.shown[-1])
                assert threads, f"{self!r} cannot continue with {self.shown[-1]}"
                await self._turn(f"reply-{self._seed}-{number}-", thread=threads[0])
        await self._show(await self._result("codex_wait", {}))
        told = {token: sum(shown.count(token) for shown in self.shown) for token in self._answers}
        assert set(told.values()) == {1}, f"{self!r} was told {told}: {self.shown}"

    async def _turn(self, token: str, thread: str | None) -> None:
        """Give a prompt in one of many ways, and see to it that its answer is shown."""
        tool = "codex" if thread is None else "codex-reply"
        more: Json = {} if thread is None else {"threadId": thread}
        habits = ["waits", "cancels afterwards", "background", "fails"]
        habits += [] if self._is_stateless else ["times out"]
        habits += [] if self._is_stateless and self._hangs_up_to_cancel else ["hangs up"]
        habit = self._dice.choice(habits)
        if habit in ("waits", "cancels afterwards", "fails"):
            prompt = self._failure(token) if habit == "fails" else f'[[scene: say text="{self._answer(token)}"]]'
            await self._show(await self._result(tool, {"prompt": prompt, **more}))
            if habit == "cancels afterwards" and not self._is_stateless:
                await self._cancel(self._numbers, "AbortError: The operation was aborted.")
        else:
            gated = {"prompt": f'[[scene: gate name={token} text="{self._answer(token)}"]]', **more}
            if habit == "background":
                await self._show(await self._result(tool, {**gated, "background": True}))
            else:
                await self._give_up(tool, gated, hangs_up=habit == "hangs up", gate=token)
            self._model.release(token)
        for _ in range(MOST_WAITS):
            if any(token in shown for shown in self.shown):
                await self._read_on()
                return
            await self._show(await self._result("codex_wait", {"timeout-seconds": 10}))
        raise AssertionError(f"{self!r} was never told {token} ({habit}): {self.shown}")

    def _failure(self, token: str) -> str:
        self._answers.append(token)
        return f'[[scene: error message="{token}"]]'

    def _answer(self, token: str) -> str:
        ends = token[::-1]
        self._answers += [token, ends]
        filling = (f"line {number} of many, for it has a lot to say" for number in range(self._dice.choice(LINES)))
        return "\n".join([token, *filling, ends])

    async def _read_on(self) -> None:
        """Fetch the rest of long answers for as long as the model is shown where that begins."""
        rests = REST.findall(self.shown[-1])
        while rests:
            thread, offset = rests.pop()
            await self._show(await self._result("codex_wait", {"threadIds": [thread], "offset": int(offset)}))
            rests += REST.findall(self.shown[-1])

    async def _give_up(self, tool: str, arguments: Json, *, hangs_up: bool, gate: str) -> None:
        async with connect(self._door.port) as wire:
            message, headers = self._message(tool, arguments)
            self._door._send(wire, "POST", message, headers)
            await self._model.wait_for_gate(gate)
            if not hangs_up:
                await self._cancel(
                    message["id"], self._dice.choice(["timed out after 5s", "-32001: Request timed out"])
                )
                await wire.read_answer()  # nobody is shown it
        for _ in range(2):  # by then the server knows
            await Door(self._door.port, "/readyz").ask("GET")

    async def _cancel(self, request_id: int, reason: str) -> None:
        cancelled = notification("notifications/cancelled", requestId=request_id, reason=reason)
        assert (await self._door.ask("POST", cancelled)).status == 202

    def _message(self, tool: str, arguments: Json) -> tuple[Json, dict[str, str]]:
        self._numbers += 1
        message = call(self._numbers, tool, arguments)
        if self._dice.random() < 0.5:
            message["params"]["_meta"] = {"progressToken": self._numbers}
        if not self._is_stateless:
            return message, {}
        message, headers = stateless(message, **self._capabilities)
        message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"] = {"name": self._name, "version": "1"}
        return message, headers

    async def _result(self, tool: str, arguments: Json) -> Json:
        """Call a tool on a connection of its own, closed as soon as the answer was read."""
        message, headers = self._message(tool, arguments)
        answer = await self._door.ask("POST", message, **headers)
        texts = [answer.body.decode()]
        if answer.headers["content-type"] == "text/event-stream":
            texts = [line.removeprefix("data: ") for line in texts[0].splitlines() if line.startswith("data: {")]
        (result,) = [found["result"] for found in map(msgspec.json.decode, texts) if found.get("id") == message["id"]]
        return dict(result)

    async def _show(self, result: Json) -> None:
        text = "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
        data = msgspec.json.encode(result.get("structuredContent")).decode()
        shows = self._shows_of_errors if result.get("isError") else self._shows
        self.shown.append({Shows.TEXT: text, Shows.DATA: data}.get(shows, f"{text}\n{data}"))


@asynccontextmanager
async def lively_server(folder: Path) -> AsyncIterator[tuple[int, ScriptedModel]]:
    async with scripted_http_server(folder, "--quiet-time", "0.2") as (server, model):
        yield server.port, model


async def lives(port: int, model: ScriptedModel, seeds: range, at_once: int) -> None:
    """Play a life for each seed, a few at a time."""
    free = asyncio.Semaphore(at_once)

    async def play(seed: int) -> None:
        async with free, asyncio.timeout(4 * PATIENCE):
            await Life(port, model, seed).play()

    async with asyncio.TaskGroup() as group:
        for seed in seeds:
            group.create_task(play(seed))
