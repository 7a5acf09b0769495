"""One agent, and callers who do anything in any order: every request is answered once, and what is said is true."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.methods import handle_notification
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tools.product import team_product
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.state.contract import Store
from codex_mcp.team.mail.team_mail import MailPlace
from codex_mcp.threads.threads import Threads
from tests.support.core.cores import Changes, scripted_threads
from tests.support.patience import PATIENCE
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, Json, no_hurry
from tests.support.settings import make_settings
from tests.support.state.memory import MemoryStore, World
from tests.support.team.team_server import say

AGENT = "arch"
ACTIONS = ("say", "say", "gate", "gate", "fail", "cancel", "release", "close", "resume", "kill", "look", "wait")


class Caller:
    """Sends requests, and counts their answers."""

    def __init__(self, far: FarEnd, threads: Threads, model: ScriptedModel) -> None:
        self.far = far
        self.threads = threads
        self.model = model
        self.answers: dict[int, list[Json]] = {}
        self.changes = Changes()
        self.codex_id = ""
        self.is_active = False
        self.gates: list[str] = []

    async def listen(self) -> None:
        """Hear everything until the end."""
        while True:
            message = await self.far.next()
            if "method" not in message:
                self.answers[message["id"]].append(message)
                self.changes.tell()

    def call(self, tool: str, **arguments: Any) -> int:
        """Send a call; return its number."""
        number = len(self.answers) + 1
        self.answers[number] = []
        params = {"name": tool, "arguments": arguments}
        self.far.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        return number

    async def result(self, number: int) -> Json:
        """Wait for the answer to a call."""
        await self.changes.until(lambda: bool(self.answers[number]))
        result: Json = self.answers[number][0]["result"]
        return result

    def open_calls(self) -> list[int]:
        """Those that wait."""
        return [number for number, answers in self.answers.items() if not answers]

    # -- what a caller may do -----------------------------------------------------------------------------------------

    async def say(self) -> None:
        """Ask for something that ends by itself."""
        self.call("codex-reply", identity=AGENT, prompt=say("yes"))

    async def fail(self) -> None:
        """Ask for something that the model cannot do."""
        self.call("codex-reply", identity=AGENT, prompt="[[scene: fail]]")

    async def gate(self) -> None:
        """Ask for something that takes until it is released, stopped, or out of time."""
        self.gates.append(f"gate-{len(self.answers)}")
        self.call("codex-reply", codex_id=self.codex_id, prompt=f"[[scene: gate name={self.gates[-1]}]]")

    async def cancel(self) -> None:
        """Take back the newest call that waits."""
        if waiting := self.open_calls():
            self.far.notify("notifications/cancelled", {"requestId": waiting[-1]})

    async def release(self) -> None:
        """Let the model go on."""
        if self.gates:
            self.model.release(self.gates.pop(0))

    async def close(self) -> None:
        """Close it: then no call waits any longer."""
        waiting = self.open_calls()
        result = await self.result(self.call("codex_close", codex_id=self.codex_id))
        how = result["structuredContent"]["status"]
        assert how in (("closed", "interrupted") if self.is_active else ("already_closed",)), how
        self.is_active = False
        for number in waiting:
            await self.result(number)

    async def resume(self) -> None:
        """Bring it back, or give it one thing more to do."""
        result = await self.result(self.call("codex", codex_id=self.codex_id, prompt=say("back"), background=True))
        text = result["content"][0]["text"]
        if result.get("isError") and "time limit" not in text:  # it came back, and ran out of time before we were told
            assert "Codex ended" in text, result  # killed again while it came back
            return
        assert result["structuredContent"]["codex_id"] == self.codex_id
        self.is_active = True

    async def kill(self) -> None:
        """Kill the core."""
        if self.threads.supervisor.pid is not None:
            with contextlib.suppress(ProcessLookupError):  # it is dead already, and we have not heard of it yet
                os.kill(self.threads.supervisor.pid, signal.SIGKILL)

    async def wait(self) -> None:
        """Collect what there is."""
        await self.result(self.call("codex_wait", **{"timeout-seconds": 0}))

    async def look(self) -> None:
        """What is said of it is true."""
        listed = await self.result(self.call("codex_threads", identity=AGENT))
        (row,) = listed["structuredContent"]["threads"]
        assert row["codex_id"] == self.codex_id
        if self.is_active:
            assert (row["status"], row["state"] in ("busy", "idle")) == ("active", True), row
        else:
            assert (row["status"] in ("closed", "interrupted"), row["state"]) == (True, "closed"), row


@contextlib.asynccontextmanager
async def caller_of_a_team(folder: Path, **changed: Any) -> AsyncIterator[Caller]:
    """A caller and one agent that has been started."""

    async def open_store() -> Store:
        return MemoryStore(world)

    world, tasks = World(), TaskSet()
    ours, theirs = memory_pair()
    chosen = make_settings(codex_home=str(folder / "home"), state_dir=str(folder / "state"), **changed)
    async with scripted_threads(folder, **changed) as (threads, model):
        product = team_product({}, open_store, MailPlace(str(folder / "teams")))(threads, chosen, bytes(KEY_BYTES))
        handlers = Handlers(
            lambda request: product.methods.handle(session, request), lambda note: handle_notification(session, note)
        )
        peer = Peer(ours, handlers, max_requests=1000, pace=no_hurry)
        session = Session(peer, product.tools, chosen.calls)
        tasks.spawn(peer.run(), name="session")
        caller = Caller(FarEnd(theirs), threads, model)
        tasks.spawn(caller.listen(), name="caller")
        started = await caller.result(caller.call("codex", identity=AGENT, prompt=say("hello"), cwd=str(folder)))
        caller.codex_id, caller.is_active = started["structuredContent"]["codex_id"], True
        try:
            yield caller
        finally:
            await product.aclose()
            await threads.aclose()
            await peer.aclose()
            await tasks.aclose()


@settings(max_examples=12)
@given(actions=st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=16), limit=st.sampled_from([0.0, 0.05]))
async def test_whatever_callers_do_every_request_is_answered_once_and_the_state_is_true(
    actions: list[str], limit: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with caller_of_a_team(Path(folder), turn_timeout=limit, summary_timeout=5.0) as caller:
            for action in actions:
                await getattr(caller, action)()
            for gate in caller.gates:
                caller.model.release(gate)
            async with asyncio.timeout(PATIENCE):
                for number in caller.open_calls():
                    await caller.result(number)
            await caller.look()
            if caller.is_active:
                await caller.result(caller.call("codex_wait", ids=[AGENT], **{"timeout-seconds": 0}))
            await caller.close()
            await caller.look()
        assert {number: len(answers) for number, answers in caller.answers.items() if len(answers) != 1} == {}
