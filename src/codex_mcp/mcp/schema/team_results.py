"""Pure. The results of the tools of a team, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.base.printable import are_waiting, counted, one_line
from codex_mcp.base.timestamps import format_timestamp
from codex_mcp.git.worktree import Left
from codex_mcp.mcp.asking.elicitation import form_of, message_for, title_of
from codex_mcp.mcp.schema.results import ToolResult, described, refused, written
from codex_mcp.team.agent import Agent, AskedElsewhere, Owner, names_of
from codex_mcp.team.refusals import TeamRefused
from codex_mcp.threads.questions.answers import takes_content, words_of
from codex_mcp.threads.questions.approvals import choices, offered
from codex_mcp.threads.questions.decisions import Decision, NetworkRuled, RuleApproved, word_for
from codex_mcp.threads.questions.questions import Question, ServerQuestion
from codex_mcp.threads.record import Outcome, Status, Stopped

NEXT_STARTS: Final = "{}: {} starts at once. codex_interrupt again stops it."

OwnWork: TypeAlias = Mapping[str, Mapping[str, object]]
"""The fields `goal` and `subagents` of agents, by codex_id."""

ERROR_META = "codex-mcp/error"
"""The `_meta` key of the reason for a refusal."""


class OpenApproval(Struct, frozen=True):
    names: Mapping[str, object]
    """Of the agent, the session or the thread."""
    question: Question

    def described(self) -> dict[str, object]:
        return {
            "id": self.question.id,
            **self.names,
            "question": message_for(self.question),
            "decisions": [word_for(decision) for decision in self._offered] or list(words_of(self.question)),
            **self._rules,
            **self._form,
        }

    @property
    def _offered(self) -> tuple[Decision, ...]:
        return offered(self.question)

    @property
    def _rules(self) -> dict[str, object]:
        """What the decisions that save a rule would save."""
        saving = [decision for decision in self._offered if isinstance(decision, RuleApproved | NetworkRuled)]
        return {"rules": {word_for(each): title_of(self.question, each) for each in saving}} if saving else {}

    @property
    def _form(self) -> dict[str, object]:
        """What a question for data wants to know, or the page that it wants opened."""
        question = self.question
        if isinstance(question, ServerQuestion) and question.url:
            return {"url": question.url}
        return {"form": form_of(question, choices(question))["requestedSchema"]} if takes_content(question) else {}


def describe_question(agent: Agent, question: Question) -> dict[str, object]:
    return OpenApproval(agent_names(agent), question).described()


def agent_names(agent: Agent) -> dict[str, object]:
    """How a listed question names an agent."""
    return {"codex_id": agent.codex_id, "identity": agent.identity}


class Answered(Struct, frozen=True):
    id: str
    names: Mapping[str, object]


def refused_by_team(refusal: TeamRefused, asks: Sequence[str] = ()) -> ToolResult:
    """A refusal with its reason as data; `asks` are the agent's open questions, if they are the cause."""
    meta = {ERROR_META: {"reason": refusal.why, **refusal.facts}}
    return replace(refused("\n\n".join([str(refusal), *asks])), meta=meta)


def threads_result(agents: Sequence[Agent], limit: int, own: OwnWork | None = None) -> ToolResult:
    """The list of agents; `own` is what Codex does by itself, for those that have any."""
    own = own or {}
    shown = sorted(agents, key=lambda agent: agent.last_active, reverse=True)[:limit]
    rows = [{**_row(agent), **own.get(agent.codex_id, {})} for agent in shown]
    lines = [
        f"{agent.identity}  {agent.codex_id}  {agent.thread_state}"
        + (f" ({agent.status})" if not agent.is_active else "")
        + f"  {agent.cwd}"
        + (f" on {agent.branch}" if agent.branch else "")
        + _own_words(own.get(agent.codex_id, {}))
        for agent in shown
    ]
    if len(agents) > len(shown):
        lines.append(f"… and {len(agents) - len(shown)} more")
    return _result({"threads": rows, "total": len(agents)}, lines or ["There are no agents."])


def _own_words(own: Mapping[str, object]) -> str:
    goal, helpers = _map(own.get("goal")), [_map(each) for each in _list(own.get("subagents"))]
    words = [f'goal {goal["status"]}: "{goal["objective"]}"'] if goal else []
    words += [f"sub-agent {each['name']} {each['state']}, {each['tokens']} tokens" for each in helpers]
    return "".join(f"\n  {each}" for each in words)


def _row(agent: Agent) -> dict[str, object]:
    return {
        **names_of(agent),
        "threadId": agent.thread_id,
        "status": agent.status,
        "state": agent.thread_state,
        "role": agent.role,
        "tag": agent.tag,
        "auto_mail": agent.auto_mail,
        "cwd": agent.cwd,
        "repo_name": agent.repo_name,
        "branch": agent.branch,
        "turns": agent.turns,
        "tokens": agent.tokens,
        **({"cost": round(agent.cost, 6)} if agent.cost else {}),
        "last_error": agent.last_error,
        "started_at": format_timestamp(agent.started_at),
        "last_active": format_timestamp(agent.last_active),
        "owner": None if agent.owner is None else _owner(agent.owner),
    }


def _owner(owner: Owner) -> dict[str, object]:
    return {"pid": owner.pid, "host": owner.host}


def status_result(status: Mapping[str, object]) -> ToolResult:
    """The status; its text is a sentence, and a table of the agents that run."""
    core, threads = _map(status.get("core")), _map(status.get("threads"))
    runs = f"Codex {core.get('version')} runs" if core.get("alive") else "Codex does not run; the next call starts it"
    agents = f"{threads.get('busy')} busy and {threads.get('idle')} idle agents of at most {threads.get('limit')}"
    usage = _map(status.get("usage"))
    spent = f"{counted(usage.get('tokens', 0), 'token')} used" + (f", cost {usage['cost']}" if "cost" in usage else "")
    mail, asked = status.get("pending_mail"), status.get("pending_approvals", 0)
    unread = counted(mail, "unread message")
    sentence = f"{runs}. Team {status.get('team')}: {agents}, {unread}, {counted(asked, 'open question')}, {spent}."
    queues, paused, busy = _map(status.get("queues")), _map(status.get("paused")), _list(status.get("busy"))
    goals, helpers = _map(status.get("goals")), _map(status.get("subagents"))
    rows = [
        f"{name}  {codex_id}  {'busy' if name in busy else 'idle'}"
        + (f"  {counted(queues[name], 'prompt')} waiting" if name in queues else "")
        + (f"  paused: {paused[name]}" if name in paused else "")
        + _own_words({"goal": goals.get(name), "subagents": helpers.get(name)})
        for name, codex_id in _map(status.get("identities")).items()
    ]
    return _result(status, [sentence, *map(_rate_limit, _list(status.get("rate_limits"))), *rows])


def _rate_limit(limit: object) -> str:
    used, minutes = _map(limit).get("used_percent"), _map(limit).get("window_minutes")
    shown = f"{used:.0f}" if isinstance(used, int | float) else "?"
    return f"Rate limit of the account{f' per {minutes} minutes' if minutes else ''}: {shown} % used."


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, Sequence) else ()


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def close_result(agent: Agent, how: str, left: Left | None = None) -> ToolResult:
    text = f"Agent {agent.identity} ({agent.codex_id}) is {how.replace('_', ' ')}."
    structured: dict[str, object] = {"closed": True, **names_of(agent), "status": how}
    if left is None:
        return _result(structured, [text])
    worktree = left.worktree
    structured["worktree"] = {
        "branch": worktree.branch,
        "path": None if left.why is None else worktree.path,
        **({} if left.why is None else {"kept_because": left.why}),
        **({"rescued": list(left.rescued)} if left.rescued else {}),
    }
    kept = f"Its branch {worktree.branch} is kept" + "".join(
        f", and {each}, for commits on no branch" for each in left.rescued
    )
    folder = (
        "its worktree is removed"
        if left.why is None
        else f"its worktree is still in {worktree.path}: it has {left.why}"
    )
    return _result(structured, [text, f"{kept}; {folder}."])


def interrupt_result(agent: Agent, outcome: Outcome, waiting: int, besides: Stopped) -> ToolResult:
    """The result of `codex_interrupt`: the turn that was stopped, with what was said in it."""
    name = f"{agent.identity} ({agent.codex_id})"
    if outcome.status is Status.INTERRUPTED:
        text = f"The turn of agent {name} was stopped after {outcome.seconds:.0f} s ({outcome.activity})."
    else:
        text = f"The turn of agent {name} had just ended."
    follows = [NEXT_STARTS.format(are_waiting(waiting), "it" if waiting == 1 else "the first one")] if waiting else []
    stopped = _besides(besides)
    lines = [text, *follows, *stopped]
    outcome = replace(outcome, warnings=(*outcome.warnings, *follows))
    if outcome.content:
        lines.append(outcome.content)
    return _result(described(outcome, {**names_of(agent), **({"stopped": stopped} if stopped else {})}), lines)


def quiet_result(agent: Agent, besides: Stopped) -> ToolResult:
    """The result of `codex_interrupt` if only that ran which Codex had begun by itself."""
    stopped = _besides(besides)
    lines = [f"Agent {agent.identity} ({agent.codex_id}) ran no turn of a caller.", *stopped]
    told = {"threadId": agent.thread_id, "status": Status.INTERRUPTED, "content": " ".join(lines), "stopped": stopped}
    return _result({**names_of(agent), **told}, lines)


def _besides(stopped: Stopped) -> list[str]:
    goals = [f'Its goal is paused: "{goal}".' for goal in stopped.goals]
    were = "was" if stopped.turns == 1 else "were"
    also = f"{counted(stopped.turns, 'turn')} of goals and sub-agents {were} stopped as well."
    return [*goals, also] if stopped.turns else goals


def stopped_result(outcome: Outcome) -> ToolResult:
    """The result of `codex_interrupt` for the thread of a review."""
    stopped = outcome.status is Status.INTERRUPTED
    text = f"The review was stopped after {outcome.seconds:.0f} s." if stopped else "The review had just ended."
    return _result(described(outcome), [text, *([outcome.content] if outcome.content else [])])


def idle_result(agent: Agent) -> ToolResult:
    status, says = ("closed", "is closed") if agent.is_closed else ("idle", "runs no turn")
    text = f"Agent {agent.identity} ({agent.codex_id}) {says}; nothing was stopped."
    return _result({**names_of(agent), "threadId": agent.thread_id, "status": status, "content": text}, [text])


def approvals_result(
    approvals: Iterable[OpenApproval], elsewhere: Iterable[AskedElsewhere] = (), answered: Answered | None = None
) -> ToolResult:
    rows = [*(approval.described() for approval in approvals), *map(_asked_elsewhere, elsewhere)]
    structured: dict[str, object] = {"approvals": rows}
    lines = [listed_question(row) for row in rows]
    if answered is not None:
        structured["answered"] = answered.id
        ids, thread_id = answered.names.get("codex_id"), answered.names.get("threadId")
        collect = f'codex_wait {{"ids": ["{ids}"]}}' if ids else f'codex_wait {{"threadIds": ["{thread_id}"]}}'
        lines.insert(0, f"Answered {answered.id}. Collect the agent's answer with {collect}.")
    return _result(structured, lines or ["Nothing waits for an answer."])


def listed_question(row: Mapping[str, object]) -> str:
    asks = f"{_asker(row)} asks: {row['question']}"
    owner, decisions = row.get("owner"), row.get("decisions")
    if isinstance(owner, Mapping) and not decisions:
        return f"{asks}\n  can be answered only at its own server, process {owner['pid']} on {owner['host']}"
    words = list(map(str, decisions)) if isinstance(decisions, Sequence) else []
    fields = _fields(row)
    answer = f'codex_approvals {{"id": "{row["id"]}", "decision": "{words[0] if words else "denied"}"}}'
    if fields:
        answer = f'codex_approvals {{"id": "{row["id"]}", "content": {{{next(iter(fields))}: …}}}}'
    rules = row.get("rules")
    saved = [f"\n  {word}: {what}" for word, what in rules.items()] if isinstance(rules, Mapping) else []
    data = [f"\n  content: {', '.join(fields.values())}"] if fields else []
    opened = [f"\n  the page to open: {one_line(str(row['url']))}"] if "url" in row else []
    by = _map(owner)
    runs = [f"\n  its server, process {by['pid']} on {by['host']}, gets the answer"] if by else []
    told = '; "denied" takes a "reason", which the agent is told' if "denied" in words else ""
    return f"{asks}\n  question id: {row['id']}\n  answer with {answer}\n  decisions: {', '.join(words)}" + "".join(
        [told, *saved, *data, *opened, *runs]
    )


def _asker(row: Mapping[str, object]) -> str:
    if "identity" in row:
        return str(row["identity"])
    return f"session {row['sessionId']}" if "sessionId" in row else f"thread {row.get('threadId')}"


def _fields(row: Mapping[str, object]) -> dict[str, str]:
    """The fields of a form, each with what may be said there."""
    form = _map(row.get("form"))
    required = _list(form.get("required"))
    fields: dict[str, str] = {}
    for name, field in _map(form.get("properties")).items():
        shown = msgspec.json.encode(one_line(name)).decode()
        choices = ", ".join(one_line(str(choice)) for choice in _list(_map(field).get("enum")))
        must = " (required)" if name in required else ""
        fields[shown] = shown + (f" (one of: {choices})" if choices else "") + must
    return fields


def _asked_elsewhere(asked: AskedElsewhere) -> dict[str, object]:
    return {
        "id": asked.id,
        "codex_id": asked.agent.codex_id,
        "identity": asked.agent.identity,
        "question": asked.question,
        **asked.answers,
        "owner": _owner(asked.owner),
    }


def _result(structured: Mapping[str, object], lines: Iterable[str]) -> ToolResult:
    return written("\n".join(lines), data=structured)
