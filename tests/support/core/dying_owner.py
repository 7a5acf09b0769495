"""A program that gives one thread prompts, and dies when it is told to: `python -m tests.support.core.dying_owner`.

Its core outlives it. It writes each turn down before it is sent, and each answer once; the next one goes on from there.
Each step is counted, and the program kills itself at the step of which its last argument has the number or the name.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from codex_mcp.codex.core import CoreError, ThreadSpec, Told, TurnSpec
from codex_mcp.codex.launch import launcher, outliving
from codex_mcp.codex.surviving.terms import Survival
from codex_mcp.threads.left.rejoining import Rejoining
from codex_mcp.threads.left.turns import LeftTurn, LeftTurns
from codex_mcp.threads.questions.board import Answer, Via
from codex_mcp.threads.questions.decisions import Approved, Decision
from codex_mcp.threads.questions.questions import Question
from codex_mcp.threads.questions.tool_calls import tool_answer
from codex_mcp.threads.thread import Thread
from codex_mcp.threads.threads import Threads
from codex_mcp.threads.turn import Turn
from codex_mcp.wire.app.questions import ToolCallRequest
from tests.support.core.cores import Watcher, environment_below, no_pace, settings_below
from tests.support.core.surviving import GRACE
from tests.support.patience import PATIENCE
from tests.threads.test_thread import open_thread

TOOL = {
    "type": "function",
    "name": "post",
    "description": "Post something.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
}


class Note(Struct, frozen=True):
    """What is written down before a turn is sent."""

    thread_id: str
    number: int
    left: LeftTurns


class Owner:
    def __init__(self, folder: Path, overrides: tuple[str, ...], die_at: str) -> None:
        self._folder = folder
        self._die_at = die_at
        self._steps = 0
        self._number = 0
        settings = settings_below(folder, overrides=overrides)
        survival = Survival(str(folder / "state"), GRACE)
        launch = outliving(launcher(settings.core, environment_below(folder)), survival, settings.core.codex_home)
        self._threads = Threads(settings.core, settings.calls, launch, no_pace)
        self._threads.keep_journal(self)
        self._threads.tool_calls.answer_with(self._call)
        self._threads.tool_calls.answer_once(self)

    def step(self, name: str) -> None:
        """Something has happened, or is about to."""
        self._steps += 1
        if self._die_at in (str(self._steps), name):
            with (self._folder / "deaths").open("a") as file:
                file.write(f"{name}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    async def sending(self, thread: Thread, turn: Turn) -> None:
        """Write it down."""
        self.step("about to be written")
        left = LeftTurn(turn.name, turn.spec, turn.place.source, is_sent=True)
        self._write(Note(thread.id, self._number, LeftTurns((left,), thread.meter.total)))
        self.step("written")
        asyncio.get_running_loop().call_soon(self.step, "sent")

    async def answer(self, _: str, call_id: str) -> object | None:
        """What this call was answered before."""
        self.step("called")
        path = self._folder / f"{call_id}.answer"
        return json.loads(path.read_text()) if path.exists() else None

    async def keep(self, _: str, call_id: str, answer: object) -> None:
        """Keep it."""
        draft = self._folder / f"{call_id}.draft"
        draft.write_text(json.dumps(answer))
        draft.replace(self._folder / f"{call_id}.answer")
        self.step("answer kept")

    async def _call(self, _: str, asked: ToolCallRequest) -> object:
        """An effect that is done once for each call, as mail is."""
        self.step("about to do it")
        with contextlib.suppress(FileExistsError):
            (self._folder / f"{asked.call_id}.effect").touch(exist_ok=False)
        self.step("done")
        return tool_answer("done")

    def _write(self, note: Note | None) -> None:
        path = self._folder / "note.json"
        draft = path.with_suffix(".draft")
        draft.write_bytes(msgspec.json.encode(note))
        draft.replace(path)

    def _note(self) -> Note | None:
        path = self._folder / "note.json"
        return msgspec.json.decode(path.read_bytes(), type=Note | None) if path.exists() else None

    async def run(self, prompts: list[str]) -> None:
        """Give the thread these prompts, but those that were answered already."""
        note = self._note()
        thread = await self._thread(note)
        self._threads.observers.readers[thread.id] = [self._told]
        if note is not None and note.thread_id == thread.id and note.number not in (*self._answered(), -1):
            self._number = note.number
            turn = thread.turn_named(note.left.turns[0].name)
            assert turn is not None, "it was taken back"
            self.step("taken back")
            await self._approve(turn)
            await self._end(thread, turn)
        for number, prompt in enumerate(prompts):
            if number not in self._answered():
                self._number = number
                turn = thread.submit(TurnSpec(prompt), Watcher(self._yes), full_events=False)
                await self._end(thread, turn)
        await self._threads.aclose()

    async def _thread(self, note: Note | None) -> Thread:
        thread = None if note is None else await self._left(note)
        if thread is None:
            thread = await open_thread(self._threads, self._folder, sandbox="workspace-write", tools=(TOOL,))
            self._write(Note(thread.id, -1, LeftTurns(())))
        return thread

    async def _left(self, note: Note) -> Thread | None:
        """The thread that was left; None if it had no prompt when it was left, and is no more."""
        self.step("about to be taken back")
        left = LeftTurns(()) if note.number in (*self._answered(), -1) else note.left
        spec = ThreadSpec(cwd=str(self._folder / "work"), sandbox="workspace-write")
        try:
            thread = await Rejoining(self._threads, PATIENCE).rejoin(note.thread_id, "local", spec, left)
        except CoreError:
            assert note.number <= 0, "it has a prompt"
            return None
        assert isinstance(thread, Thread)
        return thread

    async def _approve(self, turn: Turn) -> None:
        while not turn.ended:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            turn.watch(waiter)
            turn.parked.watch(waiter)
            await waiter
            for question_id in list(turn.parked.open):
                self._threads.board.decide(question_id, Answer(await self._yes(None), "test", Via.ELICITATION))
            if not turn.ended:
                await asyncio.sleep(0)

    async def _yes(self, _: Question | None) -> Decision:
        self.step("about to be approved")
        asyncio.get_running_loop().call_soon(self.step, "approved")
        return Approved()

    async def _end(self, thread: Thread, turn: Turn) -> None:
        outcome = await turn.wait()
        await turn.left.wait()
        self.step("ended")
        used = 0 if outcome.usage is None else outcome.usage.total_tokens
        row = {"number": self._number, "status": outcome.status, "content": outcome.content, "tokens": used}
        with (self._folder / "answers").open("a") as file:
            file.write(json.dumps(row) + "\n")
        self.step("answered")

    def _answered(self) -> set[int]:
        path = self._folder / "answers"
        return {json.loads(line)["number"] for line in path.read_text().splitlines()} if path.exists() else set()

    def _told(self, told: Told) -> None:
        self.step(f"told {getattr(told, 'method', '')}")


def main() -> None:
    """FOLDER, a file with overrides and prompts as JSON, and the step."""
    folder, plan, die_at = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), sys.argv[3]
    asyncio.run(Owner(folder, tuple(plan["overrides"]), die_at).run(plan["prompts"]))


if __name__ == "__main__":
    main()
