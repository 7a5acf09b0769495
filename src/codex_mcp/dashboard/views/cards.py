"""Pure. A question of Codex as a card: everything that is asked, what can be answered, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.printable import one_line, visible
from codex_mcp.control.asked import Asked
from codex_mcp.dashboard.views.diffs import File, files_of
from codex_mcp.dashboard.views.facts import AgentFacts, Silent
from codex_mcp.dashboard.views.forms import Field, Posted, content_of, fields_of
from codex_mcp.dashboard.views.hints import Hinted, hinted
from codex_mcp.dashboard.views.wants import want_of
from codex_mcp.threads.questions.permissions import permission_lines
from codex_mcp.wire import control

NEGATIVE: Final = ("denied", "abort")

RULES: Final = (
    "approved_execpolicy_amendment",
    "approved_mcp_policy_amendment",
    "network_policy_allow",
    "network_policy_deny",
)
"""Decisions that are kept for later questions; their buttons are quiet."""

LOCAL: Final = ("", "local")

AGO: Final = re.compile(r" \d+ s ago")
"""In the sentence of a receipt: true only when it was told. The page counts from its time."""

NOT_FLAT: Final = (
    "This form cannot be shown here. Answer it in a terminal: codex-mcp approvals answer {} --content JSON"
)


class Fact(Struct, frozen=True):
    label: str
    lines: Sequence[str]
    is_code: bool = False


class Offer(Struct, frozen=True):
    decision: str
    title: str
    style: str = "plain"
    """`main`, `plain` or `quiet`."""


class Receipt(Struct, frozen=True):
    state: str
    decision: str
    sentence: str
    is_approval: bool
    at: float


class Card(Struct, frozen=True, kw_only=True):
    id: str
    href: str
    name: str
    words: str
    task: str
    server: str
    asked_at: float
    deadline: float | None
    without: str
    """What happens at the deadline."""
    command: str
    hinted: Hinted
    """The command, with what is worth a second look."""
    is_stdin: bool
    text: str
    """A question or message in full."""
    url: str
    facts: Sequence[Fact]
    files: Sequence[File]
    fields: Sequence[Field]
    offers: Sequence[Offer]
    denials: Sequence[Offer]
    unfit: str
    also: Sequence[str]
    """Clients that are being asked as well."""
    digest: str
    href_thread: str
    """Its agent's page, or that of its thread."""
    silent: str = ""
    """Why its server cannot be answered at the moment."""
    receipt: Receipt | None = None
    can_ask_again: bool = False
    """Nobody answered in time, and its agent runs and is idle."""

    @property
    def added(self) -> int:
        return sum(each.added for each in self.files)

    @property
    def removed(self) -> int:
        return sum(each.removed for each in self.files)


def href_of(question_id: str) -> str:
    return f"/ui/needs-you/{question_id}"


def name_of(question: control.Question) -> str:
    return one_line(question.agent) or f"thread {one_line(question.thread)}"


def card_of(asked: Asked, agent: AgentFacts | None = None, silent: Silent | None = None) -> Card:
    """`silent` is its server, if that does not answer."""
    question = asked.question
    given, form = question.fields, question.form or {}
    fields = fields_of(question)
    url = form.get("url")
    command = visible(_text(given, "command_line")) if question.kind == "exec" else ""
    return Card(
        id=question.id,
        href=href_of(question.id),
        name=name_of(question),
        words=want_of(question).words,
        task="" if agent is None else agent.title,
        server=asked.server,
        asked_at=question.asked_at,
        deadline=question.deadline,
        without="goes on without you" if question.form is not None else "denied",
        command=command,
        hinted=hinted(command, visible(_text(given, "cwd"))),
        is_stdin=bool(given.get("is_stdin")),
        text=visible(_text(given, "message")) if question.kind == "mcp" else _unknown_text(question),
        url=visible(url) if isinstance(url, str) else "",
        facts=list(_facts(question)),
        files=files_of(given.get("changes")) if question.kind == "patch" else [],
        fields=fields or [],
        offers=_offers(question, can_fill=fields is not None),
        denials=_denials(question),
        unfit=NOT_FLAT.format(question.id) if fields is None else "",
        also=[one_line(each.client) or "a client without a name" for each in question.asked_of],
        digest=question.digest,
        href_thread=f"/ui/threads/{quote(question.thread if agent is None else agent.codex_id, safe=':')}",
        silent="" if silent is None else one_line(silent.why),
        receipt=_receipt(question.receipt),
        can_ask_again=_has_expired(question) and agent is not None and agent.status == "active" and not agent.is_busy,
    )


def _unknown_text(question: control.Question) -> str:
    """A question of a kind that this version does not know is shown as the server words it."""
    known = question.kind in ("exec", "patch", "permissions", "user_input")
    return "" if known else visible(question.message)


def _facts(question: control.Question) -> Iterator[Fact]:
    given = question.fields
    if asker := _text(given, "asker"):
        yield Fact("Asked by", [one_line(asker)])
    if isinstance(network := given.get("network"), dict):
        yield Fact("Host", [one_line(f"{network.get('host')} ({network.get('protocol')})")], is_code=True)
    if question.reason:
        yield Fact("It says", [f"“{visible(question.reason)}”"])
    if cwd := _text(given, "cwd"):
        environment = _text(given, "environment")
        where = visible(cwd) + (f" on {one_line(environment)}" if environment not in LOCAL else "")
        yield Fact("Where", [where], is_code=True)
    if isinstance(permissions := given.get("permissions"), dict) and (lines := permission_lines(permissions)):
        yield Fact("It would get", lines)
    if root := _text(given, "grant_root"):
        yield Fact("If you approve", [f"writing below {one_line(root)} is allowed as well"])
    if server := _text(given, "server_name"):
        yield Fact("Server", [one_line(server)])
    meta = given.get("meta")
    if given.get("is_tool_approval") and isinstance(meta, dict) and (arguments := meta.get("tool_params")):
        text = msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()
        yield Fact("Arguments", visible(text).splitlines(), is_code=True)


def _offers(question: control.Question, *, can_fill: bool) -> list[Offer]:
    if question.form is not None:
        if not can_fill:
            return []
        opens = "url" in question.form
        return [Offer("approved" if opens else "", "I have opened it" if opens else "Answer", "main")]
    approvals = [each for each in question.offered if each.decision not in NEGATIVE]
    return [Offer(each.decision, one_line(each.title), _style(each.decision, at)) for at, each in enumerate(approvals)]


def _style(decision: str, at: int) -> str:
    if decision in RULES:
        return "quiet"
    return "main" if at == 0 else "plain"


def _denials(question: control.Question) -> list[Offer]:
    found = [Offer(each.decision, one_line(each.title)) for each in question.offered if each.decision in NEGATIVE]
    return found or [Offer("denied", "Deny, and let Codex go on"), Offer("abort", "Deny, and stop the turn")]


def _has_expired(question: control.Question) -> bool:
    return question.receipt is not None and question.receipt.state == "expired"


def _receipt(receipt: control.Receipt | None) -> Receipt | None:
    if receipt is None:
        return None
    is_approval = receipt.state == "decided" and receipt.decision not in (*NEGATIVE, "network_policy_deny")
    sentence = AGO.sub("", visible(receipt.sentence), count=1)
    return Receipt(receipt.state, receipt.decision, sentence, is_approval, receipt.at)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def given_in(question: control.Question, posted: Posted) -> control.Given:
    """The answer that a posted form means. Raises Refused."""
    decision = (posted.get("decision") or [""])[-1]
    reason = (posted.get("reason") or [""])[0].strip()
    if decision:
        return control.Given(decision=decision, reason=reason or None if decision == "denied" else None)
    fields = fields_of(question)
    if question.form is None or fields is None:
        raise Refused("choose one of the decisions")
    return control.Given(content=content_of(fields, posted))
