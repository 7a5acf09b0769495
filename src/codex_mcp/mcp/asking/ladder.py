"""Pure. The approval ladder: where a question of Codex goes. Every decision about that is made here.

The first step, `route`. A client with an obstacle is one that cannot be asked this question; `Obstacle` says why.

    approval_timeout   obstacle   era         with a list of open questions   without
    -----------------  ---------  ----------  ------------------------------  --------------------
    any                some       any         (see the next rows)             DENY, the obstacle
    0                  any        any         DENY, NO_TIME                   DENY, NO_TIME
    more               none       handshake   ASK                             ASK
    more               none       stateless   FETCH                           FETCH
    more               some       any         LIST, the obstacle

    ASK     `elicitation/create`, whether or not the call that started the turn is answered already
    FETCH   parked; the client's next answer is `input_required`, and its next request brings the decision
    LIST    parked on the list of open questions, which `codex_approvals` answers
    DENY    Codex is told the reason

What happens after ASK, and for FETCH when the client comes back with an answer (`understood`, `after_failure`):

    event                                     with a list                              without
    ----------------------------------------  ---------------------------------------  -------------------
    an answer                                 it decides                               it decides
    a cancel at once: no person is there      LIST, NO_PERSON; remembered for an hour  it decides: a denial
    the client is gone                        LIST, GONE                               DENY, GONE
    no connection reads the question          it is listed as well; the first answer   it stays asked
                                              decides
    an error                                  a denial                                 a denial
    no one answered within approval_timeout   it expires                               it expires
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.mcp.asking.elicitation import FORM_MODES, URL_MODE, is_flat_form
from codex_mcp.threads.questions.approvals import decide
from codex_mcp.threads.questions.decisions import NO_CAPABILITY, NO_PERSON, SESSION_GONE, Decision, timed_out
from codex_mcp.threads.questions.questions import Question, ServerQuestion

AT_ONCE: Final = 0.05
"""Seconds in which a program answers on an idle machine. Claude Code needs 0.01 s."""

REACTION_TIME: Final = 0.25
"""Seconds that a person needs to react to anything. On a busy machine a program may need nearly as long: Claude Code
took up to 0.21 s with five programs waiting for each processor."""

REMEMBERED: Final = 3600.0
"""Seconds for which a client without a person is not asked again. In the stateless era several programs may use one
name, and one of them may have a person, so that the client is asked again after this time."""

MAX_CLIENTS: Final = 10_000
"""Clients without a person that are remembered; beyond it the oldest is forgotten, and asked once more."""


class Step(StrEnum):
    ASK = "ask"
    FETCH = "fetch"
    LIST = "list"
    DENY = "deny"


class Obstacle(StrEnum):
    """Why a client is not asked a question."""

    NO_ELICITATION = "the client declares no elicitation"
    NO_URL = "the question is a web page, and the client declares no elicitation by URL"
    NESTED_FORM = "the form of an inner server is not flat"
    UNKNOWN_MODE = "an inner server asks in a mode that MCP does not have"
    NO_PERSON = "the client cancels every question at once"
    GONE = "the client is gone"
    NO_TIME = "approval_timeout is 0"


class Route(Struct, frozen=True):
    step: Step
    obstacle: Obstacle | None = None


class Terms(Struct, frozen=True):
    capabilities: Mapping[str, object]
    is_stateless: bool
    has_person: bool
    """False if the client has cancelled a question at once."""
    lists: bool
    """There is a list of open questions (a team)."""
    timeout: float
    """`approval_timeout`, in seconds."""


def route(question: Question, terms: Terms) -> Route:
    obstacle = obstacle_to(question, terms)
    if obstacle is not None and not terms.lists:
        return Route(Step.DENY, obstacle)
    if terms.timeout == 0:
        return Route(Step.DENY, Obstacle.NO_TIME)
    if obstacle is not None:
        return Route(Step.LIST, obstacle)
    return Route(Step.FETCH if terms.is_stateless else Step.ASK)


def after_failure(obstacle: Obstacle, terms: Terms) -> Route:
    return Route(Step.LIST if terms.lists else Step.DENY, obstacle)


def understood(
    question: Question, answer: object, terms: Terms, seconds: float, load: float = 0.0
) -> Decision | Obstacle:
    """The decision that an answer after this many seconds means; NO_PERSON if no person has seen the question.

    `load` is the number of programs that run, or want to, for each processor.
    """
    if terms.lists and is_unattended(answer, seconds, load):
        return Obstacle.NO_PERSON
    return decide(question, answer)


def obstacle_to(question: Question, terms: Terms) -> Obstacle | None:
    is_form = True
    if isinstance(question, ServerQuestion) and not question.is_tool_approval:
        is_form = question.mode in FORM_MODES
        if not is_form and question.mode != URL_MODE:
            return Obstacle.UNKNOWN_MODE
        if is_form and not is_flat_form(question.schema):
            return Obstacle.NESTED_FORM
        if not is_form and not supports(terms.capabilities, URL_MODE):
            return Obstacle.NO_URL
    if is_form and not supports(terms.capabilities):
        return Obstacle.NO_ELICITATION
    return None if terms.has_person else Obstacle.NO_PERSON


def supports(capabilities: Mapping[str, object], mode: str = "form") -> bool:
    """Has the client declared elicitation of this mode? An empty declaration means forms (2025-06-18)."""
    declared = capabilities.get("elicitation")
    if not isinstance(declared, dict):
        return False
    if "form" not in declared and "url" not in declared:
        return mode == "form"
    return isinstance(declared.get(mode), dict)


def reason_for(obstacle: Obstacle, question: Question) -> str:
    """The obstacle as Codex and people are told it."""
    server = f"the MCP server {question.server_name}" if isinstance(question, ServerQuestion) else ""
    match obstacle:
        case Obstacle.NO_ELICITATION:
            return NO_CAPABILITY
        case Obstacle.NO_URL:
            return f"no one could be asked: {server} wants a page opened, which the MCP client does not support"
        case Obstacle.NESTED_FORM:
            return f"no one could be asked: {server} sent a form that MCP clients cannot show"
        case Obstacle.UNKNOWN_MODE:
            mode = question.mode if isinstance(question, ServerQuestion) else ""
            return f"no one could be asked: {server} asks in a way ({mode}) that MCP has no form for"
        case Obstacle.NO_PERSON:
            return NO_PERSON
        case Obstacle.GONE:
            return SESSION_GONE
        case Obstacle.NO_TIME:
            return timed_out(0).reason


def is_unattended(answer: object, seconds: float, load: float = 0.0) -> bool:
    """Does this answer, given after this many seconds, mean that no person has seen the question?

    Headless clients (`claude -p`) declare elicitation and cancel every question at once. A person needs far longer to
    read a question. A later cancel, and every decline, is a person's decision.
    """
    if not isinstance(answer, dict) or answer.get("action") != "cancel" or answer.get("decision") is not None:
        return False
    return 0 <= seconds <= min(AT_ONCE * max(load, 1.0), REACTION_TIME)


class Unattended:
    """The callers that are known to have no person. Times are seconds of any one clock."""

    def __init__(self, max_clients: int = MAX_CLIENTS) -> None:
        self._max_clients = max_clients
        self._until: OrderedDict[str, float] = OrderedDict()

    def add(self, caller: str, now: float) -> None:
        self._until[caller] = now + REMEMBERED
        self._until.move_to_end(caller)
        while len(self._until) > self._max_clients:
            self._until.popitem(last=False)

    def has(self, caller: str, now: float) -> bool:
        until = self._until.get(caller)
        if until is not None and now >= until:
            del self._until[caller]
            return False
        return until is not None
