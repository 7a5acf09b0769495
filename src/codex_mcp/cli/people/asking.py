"""Pure. Questions of Codex for a person at a terminal: what is asked, and the command that answers it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import to_builtins

from codex_mcp.base.printable import one_line, visible
from codex_mcp.cli.mcp_client.messages import Change
from codex_mcp.control.asked import Asked
from codex_mcp.wire import control

INDENT: Final = "  "
PROGRAM: Final = "codex-mcp approvals"
NOTHING: Final = "Nothing waits for an answer."


def entry(asked: Asked) -> dict[str, object]:
    """The question as data, for JSON."""
    question: dict[str, object] = to_builtins(asked.question)
    return {**question, "server": {"node": asked.node, "name": asked.server}}


def lines(asked: Asked, now: float, *, whole: bool = False) -> str:
    """The question in words; `whole`: with every change of a patch."""
    question = asked.question
    who = f"agent {one_line(question.agent)}" if question.agent else f"thread {one_line(question.thread)}"
    head = f"{one_line(question.id)}: {who}, {asked.server}{_time(question, now)}"
    body = [*visible(question.message).splitlines(), *(_diff(question.fields) if whole else ())]
    end = [visible(question.receipt.sentence)] if question.receipt is not None else [*ways(question)]
    return "\n".join([head, *(INDENT + line for line in (*body, *end))])


def _time(question: control.Question, now: float) -> str:
    asked = f", asked {max(0, round(now - question.asked_at))} s ago"
    if question.receipt is not None or question.deadline is None:
        return asked
    return f"{asked}, {max(0, round(question.deadline - now))} s left"


def ways(question: control.Question) -> Iterator[str]:
    """How it can be answered."""
    for client in question.asked_of:
        yield f"also asked of {one_line(client.client) or 'a client without a name'}; the first answer counts"
    answer = f"{PROGRAM} answer {shlex.quote(one_line(question.id))}"
    if question.form is not None:
        yield f"answer with: {answer} --content JSON, or denied"
        yield from _fields(question.form)
        return
    yield f"answer with: {answer} DECISION"
    for offer in question.offered:
        yield f"{INDENT}{one_line(offer.decision)}: {one_line(offer.title)}"


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _fields(form: Mapping[str, object]) -> Iterator[str]:
    for name, field in _table(form.get("properties")).items():
        about = _table(field)
        choices = about.get("enum")
        text = str(about.get("description") or about.get("title") or "").partition("\n")[0]
        offered = f" ({', '.join(map(str, choices))})" if isinstance(choices, list) else ""
        yield one_line(f"{INDENT}{name}: {text}{offered}")
    if "url" in form:
        yield one_line(f"{INDENT}open {form['url']}")


def _diff(fields: Mapping[str, object]) -> Iterator[str]:
    for path, change in _table(fields.get("changes")).items():
        yield f"{one_line(path)}:"
        try:
            found = msgspec.convert(change, type=Change)
        except msgspec.ValidationError:
            continue
        yield from (INDENT + visible(line) for line in found.lines)


def closed(asked: Asked) -> str:
    """The end of a question, for one who follows them."""
    receipt = asked.question.receipt
    return f"{one_line(asked.question.id)}: {visible(receipt.sentence) if receipt is not None else 'closed'}"
