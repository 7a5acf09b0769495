"""The demo's client, with the real server and with broken ones."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codex_mcp import __version__
from codex_mcp.base.errors import Refused
from codex_mcp.cli.mcp_client.client import ServerLaunch, connect
from codex_mcp.cli.mcp_client.messages import AgentMessage, Decision, Event, Question
from tests.support.servers.mcp_server import TOUR, Setup

ANSWERS_WITH_AN_ERROR = """
import sys
for line in sys.stdin:
    print('{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no, thanks"}}'.replace(
        '"id": 1', line[line.index('"id"'):].partition(",")[0]), flush=True)
"""
ASKS_FOR_OTHER_THINGS = """
import sys
say = lambda text: print(text, flush=True)
first = sys.stdin.readline()
say('{"jsonrpc": "2.0", "id": "a", "method": "ping"}')
say('{"jsonrpc": "2.0", "id": "b", "method": "roots/list"}')
heard = sorted([sys.stdin.readline(), sys.stdin.readline()], key=lambda line: "error" in line)
sys.exit(heard[0] + heard[1])
"""
IGNORES_THE_END = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdin.read(); signal.pause()"


@dataclass(slots=True)
class Listener:
    """Hears everything, and always answers the same."""

    decision: Decision
    events: list[Event] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def event_received(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    async def answer(self, question: Question) -> Decision:
        """Keep it."""
        self.questions.append(question)
        return self.decision


def anyone() -> Listener:
    return Listener(Decision(approved=True))


def launch_of(folder: Path) -> ServerLaunch:
    setup = Setup(folder, flags=["--scripted", str(TOUR)])
    setup.make()
    return ServerLaunch(setup.argv(), setup.env(), str(setup.work))


def broken(program: str, folder: Path) -> ServerLaunch:
    return ServerLaunch([sys.executable, "-c", program], {}, str(folder))


async def test_a_tool_is_called_and_its_events_are_heard(tmp_path: Path) -> None:
    listener = anyone()
    async with connect(launch_of(tmp_path), listener) as client:
        greeting = await client.initialize()
        result = await client.call_tool("codex", {"prompt": '[[scene: say text="one"]]'})
    assert greeting.server_info.version == __version__
    assert result.structured_content is not None
    assert result.structured_content.content == "one"
    assert result.text.startswith("one\n\nthreadId: ")
    assert AgentMessage("one") in listener.events


@pytest.mark.parametrize("approved", [True, False])
async def test_a_question_is_answered_as_decided(tmp_path: Path, *, approved: bool) -> None:
    listener = Listener(Decision(approved=approved))
    arguments = {"prompt": "[[scene: patch]]", "sandbox": "read-only", "approval-policy": "on-request"}
    async with connect(launch_of(tmp_path), listener) as client:
        await client.initialize()
        result = await client.call_tool("codex", arguments)
    [question] = listener.questions
    assert question.codex_changes
    assert result.structured_content is not None
    assert bool(result.structured_content.files_changed) is approved


async def test_a_server_that_cannot_start_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the server ended with exit code 1: the disk is full"):
        async with connect(broken("import sys; sys.exit('the disk is full')", tmp_path), anyone()) as c:
            await c.initialize()


async def test_an_error_of_the_server_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="answered initialize with an error: no, thanks"):
        async with connect(broken(ANSWERS_WITH_AN_ERROR, tmp_path), anyone()) as client:
            await client.initialize()


async def test_a_ping_is_answered_and_what_we_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        async with connect(broken(ASKS_FOR_OTHER_THINGS, tmp_path), anyone()) as client:
            await client.initialize()
    assert "Method not found: roots/list" in str(refused.value)


async def test_a_server_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_mcp.cli.mcp_client.client.END_GRACE", 0.1)
    async with connect(broken(IGNORES_THE_END, tmp_path), anyone()):
        pass
