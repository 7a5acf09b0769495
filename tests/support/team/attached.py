"""A program that is attached to an agent as a Codex TUI is, spoken to by hand."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from tests.support.servers.control_socket import HELLO, RawControl, raw_control
from tests.support.servers.mcp_server import Json

APPROVAL = "item/commandExecution/requestApproval"


class AttachedTui:
    """Messages have no `jsonrpc`, as those of Codex."""

    def __init__(self, control: RawControl, attached: Json) -> None:
        self.control = control
        self.thread: str = attached["threadId"]
        self.came: list[Json] = []
        """What was read and was no answer to `ask`."""
        self._next = 0

    def send(self, message: Json) -> None:
        """Send any message."""
        self.control.write(msgspec.json.encode(message) + b"\n")

    def start(self, method: str, **params: object) -> int:
        """Send a request about the thread; its id."""
        self._next += 1
        self.send({"id": self._next, "method": method, "params": {"threadId": self.thread, **params}})
        return self._next

    async def ask(self, method: str, **params: object) -> Json:
        """Send a request; its answer."""
        return await self.answer(self.start(method, **params))

    async def answer(self, number: int) -> Json:
        """The answer to a request."""
        return await self.until(lambda message: message.get("id") == number and "method" not in message)

    async def told(self, method: str) -> Json:
        """The next notification or request of this method."""
        return await self.until(lambda message: message.get("method") == method)

    async def until(self, is_meant: Callable[[Json], bool]) -> Json:
        """The next message that is meant, among those that have come and those that will."""
        for index, message in enumerate(self.came):
            if is_meant(message):
                return self.came.pop(index)
        while (read := await self.control.read()) is not None:
            if is_meant(read):
                return read
            self.came.append(read)
        raise AssertionError(f"the connection has ended; last came {self.came[-3:]}")

    async def at_the_end(self) -> bool:
        """Whether the server has closed the connection, once everything is read."""
        while (read := await self.control.read()) is not None:
            self.came.append(read)
        return True

    async def open(self, **params: object) -> Json:
        """Do what a TUI does first; the conversation."""
        assert "result" in await self.ask("initialize", clientInfo={"name": "codex-tui", "version": "0"})
        self.send({"method": "initialized"})
        opened = await self.ask("thread/resume", excludeTurns=False, **params)
        result: Json = opened["result"]
        return result

    async def type(self, text: str) -> Json:
        """Give a prompt; the answer."""
        return await self.ask("turn/start", input=said(text), clientUserMessageId=f"typed {text}")


def said(text: str) -> list[Json]:
    """A prompt as a TUI sends it."""
    return [{"type": "text", "text": text, "text_elements": []}]


@contextlib.asynccontextmanager
async def attached_tui(
    path: Path, agent: str, *, read_only: bool = False, hello: Json = HELLO
) -> AsyncIterator[AttachedTui]:
    """One that is attached to this agent, by its codex_id."""
    async with raw_control(path, hello) as control:
        answer = await control.ask("control/attach", {"agent": agent, "readOnly": read_only})
        assert "result" in answer, answer
        yield AttachedTui(control, answer["result"])
