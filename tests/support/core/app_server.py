"""A real `codex app-server` for tests: started with a home of its own, spoken to in JSON lines, ended with the test."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from codex_cli_bin import bundled_codex_path

from tests.support.patience import PATIENCE
from tests.support.servers.child import Child

Json = dict[str, Any]

PASSED_ON = ("PATH", "LANG")
"""What Codex gets of our environment; nothing that could hold a key."""


class AppServerError(Exception):
    """The app-server answered a request with an error."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of the app-server to its client, such as one for an approval."""

    id: int | str
    method: str
    params: Json


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that is over."""

    id: str
    status: str
    error: Json | None
    items: list[Json]

    @property
    def text(self) -> str:
        """What the model said last."""
        return next((item["text"] for item in reversed(self.items) if item["type"] == "agentMessage"), "")

    def items_of(self, kind: str) -> list[Json]:
        """The completed items of one type, in order."""
        return [item for item in self.items if item["type"] == kind]


class AppServer(Child):
    """`async with AppServer(home, overrides) as server:`; below `home` are its HOME and CODEX_HOME."""

    def __init__(
        self,
        home: Path,
        overrides: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        codex: Path | None = None,
    ) -> None:
        """`codex` is the program, if not the wheel's."""
        # A CODEX_HOME below the temporary folder would cost Codex its helpers, and sandboxed terminals with them.
        codex_home, temporary = home / ".codex", home / "temporary"
        for folder in (codex_home, temporary):
            folder.mkdir(parents=True, exist_ok=True)
        private = {"HOME": str(home), "CODEX_HOME": str(codex_home), "TMPDIR": str(temporary)}
        inherited = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        words = [word for override in overrides for word in ("-c", override)]
        argv = [str(codex or bundled_codex_path()), "app-server", *words]
        super().__init__(argv, {**inherited, **private, **(env or {})}, Path.cwd())
        self.messages: list[Json] = []
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._arrived = asyncio.Condition()
        self._asked: asyncio.Queue[Asked] = asyncio.Queue()

    async def begin(self) -> None:
        """Introduce ourselves."""
        self.spawn_reader(self._read())
        client = {"name": "tests", "title": "tests", "version": "0"}
        await self.request("initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})
        await self.notify("initialized")

    async def ask_to_end(self) -> None:
        """Close its stdin, as a client does."""
        self.close_stdin()

    async def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request and wait for its result. Raises AppServerError."""
        number = len(self._answers) + 1
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        await self._send({"id": number, "method": method, "params": params or {}})
        async with asyncio.timeout(PATIENCE):
            message = await answer
        if "error" in message:
            raise AppServerError(f"{method}: {message['error']['message']}")
        result: Json = message["result"]
        return result

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        await self._send({"method": method, "params": params or {}})

    async def wait_for(self, method: str, where: Callable[[Json], bool] = lambda params: True) -> Json:
        """The params of the first message of this method for which `where` holds, past or to come."""

        def found() -> Json | None:
            fitting = (m["params"] for m in self.messages if m["method"] == method and where(m["params"]))
            return next(fitting, None)

        async with asyncio.timeout(PATIENCE), self._arrived:
            await self._arrived.wait_for(lambda: found() is not None)
        params = found()
        assert params is not None
        return params

    async def asked(self) -> Asked:
        """The next request of the app-server to us."""
        async with asyncio.timeout(PATIENCE):
            return await self._asked.get()

    async def answer(self, asked: Asked, result: Json) -> None:
        """Answer a request of the app-server."""
        await self._send({"id": asked.id, "result": result})

    async def start_thread(self, **params: object) -> str:
        """Start a thread; `params` as in thread/start."""
        result = await self.request("thread/start", params)
        thread_id: str = result["thread"]["id"]
        return thread_id

    async def start_turn(self, thread: str, text: str, **params: object) -> str:
        """Start a turn and return its id at once; `params` as in turn/start."""
        prompt = [{"type": "text", "text": text}]
        result = await self.request("turn/start", {"threadId": thread, "input": prompt, **params})
        turn_id: str = result["turn"]["id"]
        return turn_id

    async def finish_turn(self, turn: str) -> Turn:
        """Wait until a turn is over."""
        done = (await self.wait_for("turn/completed", lambda params: params["turn"]["id"] == turn))["turn"]
        items = [
            message["params"]["item"]
            for message in self.messages
            if message["method"] == "item/completed" and message["params"]["turnId"] == turn
        ]
        return Turn(turn, done["status"], done["error"], items)

    async def run_turn(self, thread: str, text: str, **params: object) -> Turn:
        """Start a turn and wait until it is over."""
        return await self.finish_turn(await self.start_turn(thread, text, **params))

    async def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.write(msgspec.json.encode(message) + b"\n")
        await self.process.stdin.drain()

    async def _read(self) -> None:
        while line := await self.stdout.readline():
            message = msgspec.json.decode(line)
            if "method" not in message:
                self._answers[message["id"]].set_result(message)
                continue
            async with self._arrived:
                self.messages.append(message)
                self._arrived.notify_all()
            if "id" in message:
                self._asked.put_nowait(Asked(message["id"], message["method"], message["params"]))
