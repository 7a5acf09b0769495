"""What is drawn of the events of an agent."""

import io
from typing import Any

import msgspec
import pytest

from codex_mcp.cli.demo.screen import Screen
from codex_mcp.cli.people.watched import LEFT_OUT, Watched
from codex_mcp.control.asked import Asked
from codex_mcp.wire import control
from codex_mcp.wire.jsonrpc import Notification
from tests.cli.people.test_asking import asked
from tests.cli.people.test_finding import agent

RECEIPT = control.Receipt(state="decided", decision="approved", by="", via="page", at=1.0, sentence="It was answered.")


def drawn(*messages: tuple[str, Any]) -> tuple[str, Watched]:
    out = io.StringIO()
    watched = Watched(Screen(out), agent("codex:1", "arch", 1.0, thread_id="t"))
    for method, params in messages:
        watched.told(Notification(method, msgspec.Raw(msgspec.json.encode(params))))
    return out.getvalue(), watched


def event(**data: object) -> tuple[str, Any]:
    return "control/event", {"at": "n.1", "topic": "thread:arch", "kind": "event", "data": data}


def asks(question: Asked, kind: str = "opened") -> tuple[str, Any]:
    told = msgspec.to_builtins(question.question)
    return "control/event", {"at": "n.1", "topic": "questions", "kind": f"question.{kind}", "data": told}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (event(type="agent_message", message="done \x1b[31m"), "agent    done \\u{1b}[31m"),
        (event(type="user_message", message="do it \x07"), "prompt   do it \\u{7}"),
        (event(type="turn_aborted", reason="interrupted"), "codex    The turn was stopped (interrupted)."),
        (asks(asked()), "codex    asks: Allow Codex to run `ls`?"),
        (asks(asked()), "         answer with: codex-mcp approvals answer 1f/question-1 DECISION"),
        (asks(asked(message="May I \x9b?")), "asks: May I \\u{9b}?"),
        (asks(asked(agent="dev", thread="u")), ""),
        (asks(asked(receipt=RECEIPT), "closed"), "codex    It was answered."),
        (event(type="warning", message="be careful"), "codex    be careful"),
        (event(type="something new", command=3), ""),
        (("control/resync", {"reason": "slow"}), LEFT_OUT),
        (("control/new", {}), ""),
        (("control/event", {"kind": 3}), ""),
    ],
)
def test_each_event_is_drawn_and_harmless(message: tuple[str, Any], shown: str) -> None:
    text, watched = drawn(message)
    assert shown in text
    assert bool(text) is bool(shown)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert not watched.left.is_set()


def test_the_end_of_the_agent_is_noted() -> None:
    text, watched = drawn(event(codex_id="codex:1", identity="arch", is_here=False))
    assert (text, watched.left.is_set()) == ("", True)
