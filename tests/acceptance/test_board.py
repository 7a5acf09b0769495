"""What a client is being asked is on the board, where another can answer it: on the real Codex, in both eras of MCP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from codex_mcp.access.seal import KEY_BYTES
from codex_mcp.base.tasks import TaskSet
from codex_mcp.mcp.methods import handle_notification
from codex_mcp.mcp.session import Session
from codex_mcp.mcp.tools.product import plain_product
from codex_mcp.rpc.peer import Handlers, Peer
from codex_mcp.threads.open_questions import Board
from codex_mcp.threads.questions.board import Answer, Entry, State, Verdict, Via
from codex_mcp.threads.questions.decisions import Approved, Denied
from tests.support.core.cores import scripted_threads
from tests.support.rpc.memory_channel import memory_pair
from tests.support.servers.mcp_session import FarEnd, Json, no_hurry
from tests.support.settings import make_settings

SCRIPT = Path(__file__).parents[1] / "support/scripts/questions.toml"
PREFIX = "io.modelcontextprotocol/"
STATELESS = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientInfo": {"name": "tests", "version": "1"},
    f"{PREFIX}clientCapabilities": {"elicitation": {}},
}
ASKS = {"sandbox": "read-only", "approval-policy": "on-request"}
MIRA = Answer(Approved(), "mira", Via.TERMINAL)
RACES = 100


class Scene:
    """A client, and the board of the server that it speaks with."""

    def __init__(self, far: FarEnd, board: Board, work: Path) -> None:
        self.far = far
        self.board = board
        self.work = work

    async def introduce(self) -> None:
        client = {"name": "tests", "version": "1"}
        about = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}, "clientInfo": client}
        await self.far.ask("initialize", about, 1)
        self.far.notify("notifications/initialized", {})

    def call(self, request_id: int, prompt: str, **more: Any) -> None:
        params = {"name": "codex", "arguments": {"prompt": prompt, "cwd": str(self.work), **ASKS}, **more}
        self.far.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params})

    async def hears(self, method: str) -> Json:
        """The next message of this method; other notifications are passed over."""
        while (message := await self.far.next()).get("method") != method:
            assert "id" not in message, message
        return message

    async def result(self, request_id: int) -> Json:
        """The result of this call; notifications are passed over."""
        while (message := await self.far.next()).get("id") != request_id:
            assert "id" not in message, message
        result: Json = message["result"]
        return result

    def asked(self) -> Entry:
        """The only open question."""
        (entry,) = self.board.open_questions()
        return entry


@contextlib.asynccontextmanager
async def scene(folder: Path, script: Path = SCRIPT) -> AsyncIterator[Scene]:
    settings = make_settings(codex_home=str(folder / "home/.codex"))
    work = folder / "work"
    work.mkdir()
    async with scripted_threads(folder, script=script) as (threads, _model):
        ours, theirs = memory_pair()
        handlers = Handlers(
            lambda request: product.methods.handle(session, request), lambda note: handle_notification(session, note)
        )
        peer, tasks = Peer(ours, handlers, max_requests=8, pace=no_hurry), TaskSet()
        product = plain_product(threads, settings, bytes(KEY_BYTES))
        session = Session(peer, product.tools, settings.calls)
        tasks.spawn(peer.run(), name="session")
        try:
            yield Scene(FarEnd(theirs), threads.board, work)
        finally:
            await product.aclose()
            await threads.aclose()
            await peer.aclose()
            await tasks.aclose()


def asked_of(entry: Entry) -> list[tuple[str, Via]]:
    return [(each.client, each.via) for each in entry.asked_of]


async def test_an_answer_at_the_board_withdraws_the_dialog_of_the_client(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        await at.introduce()
        at.call(7, "[[scene: escalate]]")
        question = await at.hears("elicitation/create")
        entry = at.asked()
        assert asked_of(entry) == [("tests", Via.ELICITATION)]
        assert question["params"]["message"].startswith("Allow Codex to run")
        at.board.decide(entry.id, MIRA, digest=entry.digest)
        withdrawn = await at.hears("notifications/cancelled")
        assert withdrawn["params"] == {"requestId": question["id"], "reason": "the question is no longer open"}
        at.far.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
        assert (await at.result(7))["structuredContent"]["content"] == "It ran."
        closed = at.board.find(entry.id)
        assert closed is not None
        assert closed.receipt is not None
        assert (closed.state, closed.receipt.by, closed.receipt.via) == (State.DECIDED, "mira", Via.TERMINAL)


async def test_an_answer_at_the_board_goes_before_one_that_a_repeated_call_brings(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.call(7, "[[scene: escalate]]", _meta=STATELESS)
        required = await at.result(7)
        assert required["resultType"] == "input_required"
        entry = at.asked()
        assert asked_of(entry) == [("tests", Via.INPUT_REQUIRED)]
        at.board.decide(entry.id, MIRA)
        answers = {key: {"action": "decline"} for key in required["inputRequests"]}
        brought = {"inputResponses": answers, "requestState": required["requestState"], "_meta": STATELESS}
        at.call(8, "[[scene: escalate]]", **brought)
        told = (await at.result(8))["structuredContent"]
        assert told["content"] == "It ran."
        (warning,) = told["warnings"]
        assert warning.startswith(
            "The answer that came with this call was not used. It was answered (approved) by mira "
        )


async def test_an_answer_that_a_repeated_call_brings_is_the_clients(tmp_path: Path) -> None:
    async with scene(tmp_path) as at:
        at.call(7, "[[scene: escalate]]", _meta=STATELESS)
        required = await at.result(7)
        entry = at.asked()
        answers = {key: {"action": "decline"} for key in required["inputRequests"]}
        brought = {"inputResponses": answers, "requestState": required["requestState"], "_meta": STATELESS}
        for request_id in (8, 9):  # a request may be repeated
            at.call(request_id, "[[scene: escalate]]", **brought)
            told = (await at.result(request_id))["structuredContent"]
            assert (told["content"], "warnings" in told) == ("It was refused.", False)
        verdict = at.board.decide(entry.id, MIRA)
        assert isinstance(verdict, Verdict)
        assert (verdict.used, verdict.by, verdict.via) == (False, "tests", "input_required")


async def test_of_two_answers_at_once_exactly_one_is_used_and_the_other_is_told_by_whom(tmp_path: Path) -> None:
    """The client declines and the terminal approves, one a little earlier than the other."""
    steps = ", ".join(f'{{ run = "touch made-{number}", escalate = true }}' for number in range(RACES))
    script = tmp_path / "races.toml"
    script.write_text(f'[scenes.races]\nsteps = [{steps}, {{ say = "Over." }}]\n')
    used: list[str] = []
    async with scene(tmp_path, script) as at:
        await at.introduce()
        at.call(7, "[[scene: races]]")
        for number in range(RACES):
            question = await at.hears("elicitation/create")
            entry = at.asked()
            at.far.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
            for _ in range(number % 10):  # so that each comes first at times
                await asyncio.sleep(0)
            verdict = at.board.decide(entry.id, MIRA)
            assert isinstance(verdict, Verdict)
            closed = at.board.find(entry.id)
            assert closed is not None
            assert closed.receipt is not None
            assert verdict.used == (closed.receipt.by == "mira")
            assert verdict.by == closed.receipt.by
            assert closed.receipt.decision == (Approved() if verdict.used else Denied())
            assert verdict.used or "by tests" in verdict.sentence
            used.append(closed.receipt.by)
        content = (await at.result(7))["structuredContent"]["content"]
    assert content == "Over."
    assert set(used) == {"mira", "tests"}, "each has been first"
    assert {file.name for file in at.work.iterdir()} == {
        f"made-{number}" for number, first in enumerate(used) if first == "mira"
    }, "what was approved ran, and nothing else"
    assert [entry.id for entry in at.board.open_questions()] == []
