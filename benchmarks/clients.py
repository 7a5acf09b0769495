"""The two kinds of conversation that are measured: with an MCP server, and with a bare app-server."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from benchmarks.lines import Heard, LineProcess, NoAnswer, Program
from benchmarks.replay import Recording
from codex_mcp.codex.app_server import CLIENT
from codex_mcp.wire.app import requests

PROMPT = "Say that you are done."
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
}
ELICITATION_IS_NOT_EXPECTED = "cannot go on: the server asks a question, and nobody is here to answer"

_encode = msgspec.json.encode


class _Structured(Struct, rename="camel"):
    thread_id: str
    content: str


class _ToolResult(Struct, rename="camel"):
    structured_content: _Structured
    is_error: bool | None = False


class _InThread(Struct, rename="camel"):
    thread_id: str = ""


_tool_result = msgspec.json.Decoder(_ToolResult)


class McpClient(LineProcess):
    """A client of `codex mcp-server` or of ours; it cannot tell them apart."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._next_id = 0

    def request(self, method: str, params: object = None) -> int:
        """Send a request; return its id."""
        self._next_id += 1
        message = {"jsonrpc": "2.0", "id": self._next_id, "method": method}
        self.send(_encode(message if params is None else {**message, "params": params}) + b"\n")
        return self._next_id

    def initialize(self, client: str = "benchmarks") -> None:
        """Shake hands."""
        self.answer(self.request("initialize", {**INITIALIZE, "clientInfo": {"name": client, "version": "1"}}))
        self.send(_encode({"jsonrpc": "2.0", "method": "notifications/initialized"}) + b"\n")

    def answer(self, request_id: int) -> Raw:
        """Wait for the answer to one request."""
        return self.answers([request_id])[request_id]

    def answers(self, request_ids: Sequence[int]) -> dict[int, Raw]:
        """Wait for all these answers, in whatever order they come."""
        found: dict[int, Raw] = {}
        missing = set(request_ids)
        while missing:
            heard = self.hear(_is_for_us)
            if not heard.is_answer:
                raise NoAnswer(ELICITATION_IS_NOT_EXPECTED)
            if isinstance(heard.id, int) and heard.id in missing:
                missing.remove(heard.id)
                found[heard.id] = heard.result
        return found

    def ping(self, number: int) -> None:
        """Send so many pings at once, and wait for all answers."""
        first = self._next_id + 1
        self._next_id += number
        ids = range(first, first + number)
        self.send(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % each for each in ids))
        for _ in ids:
            self.hear(_is_for_us)

    def start_threads(self, number: int, prompt: str = PROMPT) -> list[str]:
        """Run one turn in each of so many new threads, all at once; return the threads."""
        return self._turns([("codex", {"prompt": prompt})] * number)

    def reply(self, threads: Sequence[str], prompt: str = PROMPT) -> None:
        """Run one turn in each of these threads, all at once."""
        self._turns([("codex-reply", {"threadId": thread, "prompt": prompt}) for thread in threads])

    def _turns(self, calls: Sequence[tuple[str, dict[str, str]]]) -> list[str]:
        ids = [self.request("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
        found = self.answers(ids)
        results = [_tool_result.decode(found[each]) for each in ids]
        if any(result.is_error or not result.structured_content.content for result in results):
            raise NoAnswer(f"cannot go on: a turn failed: {results}")
        return [result.structured_content.thread_id for result in results]


def _is_for_us(heard: Heard) -> bool:
    return heard.id is not None


class CoreClient(LineProcess):
    """A client of a bare `codex app-server`, which asks what ours would ask."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._cwd = str(program.cwd)
        self._next_id = 0

    def initialize(self) -> None:
        """Shake hands."""
        self.ask("initialize", requests.Initialize(CLIENT, requests.ClientCapabilities()))
        self.send(_encode({"method": "initialized"}) + b"\n")

    def start_thread(self, prompt: str = PROMPT) -> str:
        """Run one turn in a new thread; return the thread."""
        opened = self.ask("thread/start", requests.ThreadStart(cwd=self._cwd))
        thread = msgspec.json.decode(opened, type=requests.ThreadOpened).thread.id
        self.reply(thread, prompt)
        return thread

    def reply(self, thread: str, prompt: str = PROMPT) -> None:
        """Run one turn in this thread."""
        self.ask("turn/start", requests.TurnStart(thread, [requests.TextInput(prompt)]))
        self.hear(
            lambda heard: (
                heard.method == "turn/completed"
                and msgspec.json.decode(heard.params, type=_InThread).thread_id == thread
            )
        )

    def record(self) -> Recording:
        """Run a turn in a new thread, and keep everything that is said."""
        opened = self.ask("thread/start", requests.ThreadStart(cwd=self._cwd))
        thread = msgspec.json.decode(opened, type=requests.ThreadOpened).thread.id
        started = self.ask("turn/start", requests.TurnStart(thread, [requests.TextInput(PROMPT)]))
        turn_id = msgspec.json.decode(started, type=requests.TurnStartResponse).turn.id
        said: list[Raw] = []

        def is_last(heard: Heard) -> bool:
            said.append(Raw(_encode({"method": heard.method, "params": heard.params})))
            return heard.method == "turn/completed"

        self.hear(is_last)
        return Recording(opened, started, turn_id, said)

    def ask(self, method: str, params: object) -> Raw:
        """Send a request and wait for its result."""
        self._next_id += 1
        number = self._next_id
        self.send(_encode({"id": number, "method": method, "params": params}) + b"\n")
        return self.hear(lambda heard: heard.is_answer and heard.id == number).result


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def milliseconds(self) -> float:
        """Since it was made."""
        return (time.perf_counter() - self._began) * 1000
