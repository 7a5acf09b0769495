"""Pure. Open questions in words: what is asked, under which id, and how it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codex_mcp.mcp.asking.elicitation import message_for
from codex_mcp.threads.questions.questions import Question


def listed_question(row: Mapping[str, object]) -> str:
    """A question on the list of `codex_approvals`."""
    asks = f"{row['identity']} asks: {row['question']}"
    owner = row.get("owner")
    if isinstance(owner, Mapping):
        return f"{asks}\n  can be answered only at its own server, process {owner['pid']} on {owner['host']}"
    decisions = row["decisions"]
    words = list(map(str, decisions)) if isinstance(decisions, Sequence) else []
    answer = f'codex_approvals {{"id": "{row["id"]}", "decision": "{words[0] if words else "denied"}"}}'
    return f"{asks}\n  question id: {row['id']}\n  answer with {answer}\n  decisions: {', '.join(words)}" + (
        '; "denied" takes a "reason", which the agent is told' if "denied" in words else ""
    )


def client_question(question: Question) -> str:
    """A question that the client was asked by elicitation."""
    return f"{message_for(question)}\n  The client was asked this (elicitation/create) and has not answered yet."


def fetched_question(question: Question) -> str:
    """A question that only the client that started the turn can fetch, and answer."""
    return (
        f"{message_for(question)}\n  The client that started the turn can answer this, if it supports elicitation: its "
        "next codex_wait returns the question. Without an answer it is denied in a while."
    )
