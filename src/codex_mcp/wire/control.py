"""Pure. Messages of the control socket: JSON-RPC, one object a line, beside the methods of an ordinary MCP session.

`control/hello` comes first. Whoever is admitted to the socket is the user of the server; `as` narrows the connection to
one principal, and `view` to reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

PROTOCOL: Final = 1
"""Both sides name theirs. Messages are only added to a protocol; another number means that something was changed."""

HELLO: Final = "control/hello"
FOLLOW: Final = "control/follow"
QUESTION: Final = "control/question"
ANSWER: Final = "control/answer"
DELIVER: Final = "control/deliver"
SIGN_IN: Final = "control/sign-in"
STEPS: Final = "control/steps"
ATTACH: Final = "control/attach"
"""From its answer on, the connection carries messages of a Codex TUI and of Codex, and no others."""
EVENT: Final = "control/event"
RESYNC: Final = "control/resync"

ACTS_FOR: Final = "codex-mcp/acts-for"
"""In the `_meta` of a request: the principal whose agents it is about, and who makes it."""

READ: Final = "read"
CONTROL: Final = "control"

OTHER_PROTOCOL: Final = -32010
HELLO_FIRST: Final = -32011
NOT_ALLOWED: Final = -32012
REFUSED_PEER: Final = -32013
CHANGED: Final = -32014
"""The question is another one than the digest says; `data` has the new digest."""
UNAVAILABLE: Final = -32015
"""The server does not hold its lease: nothing was decided."""

THREAD: Final = "thread:"
QUESTIONS: Final = "questions"
AGENTS: Final = "agents"
MAIL: Final = "mail"
ENVIRONMENTS: Final = "environments"
HEALTH: Final = "health"
"""Topics: what happens in one thread, named after the colon, what Codex asks in any, what each agent is doing, the mail
with how far each message came, the places where commands run, and the server itself."""

LETTER: Final = "mail"
ENVIRONMENT: Final = "environment"
SAMPLE: Final = "sample"
"""Events: a row of mail, environments or health has changed, or (`is_here` is false) is gone."""

AGENT: Final = "agent"
"""An agent that is followed has changed, or is not run here any more."""

TURN: Final = "turn"
ITEM_STARTED: Final = "item.started"
ITEM_TEXT: Final = "item.text"
ITEM_ENDED: Final = "item.ended"
USAGE: Final = "usage"
PLAN: Final = "plan"
"""What happens in a thread whose steps are followed."""

OPENED: Final = "question.opened"
CLOSED: Final = "question.closed"

MAX_MESSAGE_BYTES: Final = 1024 * 1024
"""Of a message to a server."""


class Hello(Struct, frozen=True, kw_only=True):
    protocol: int
    program: str = ""
    """What connects: `show`, `watch`, `dashboard`."""
    version: str = ""
    person: str = ""
    """Who uses it."""
    node: str = ""
    """Which server of the folder connects, to forward requests of its clients; empty for a person's program."""
    principal: str | None = field(default=None, name="as")
    view: bool = False


class ClientOf(Struct, frozen=True):
    """A client of a server, by the name that it gives itself."""

    name: str
    version: str
    principal: str
    sessions: int = 1


class Greeting(Struct, frozen=True, kw_only=True):
    """What a server says of itself."""

    protocol: int
    node: str
    pid: int
    host: str
    version: str
    team: str
    started_at: float
    generation: int
    """Of its Codex: how often it was started."""
    may: Sequence[str]
    page: str = ""
    """The address of its dashboard; empty if it serves none."""
    clients: Sequence[ClientOf] = ()
    """Who uses it, as far as the caller may see."""


class ActsFor(Struct, frozen=True, kw_only=True):
    principal: str
    person: str = ""
    via: str = ""


class Meta(Struct, frozen=True):
    acts_for: ActsFor | None = field(default=None, name=ACTS_FOR)


class AnyParams(Struct, frozen=True):
    """The part of a request's params that says for whom it is made."""

    meta: Meta | None = field(default=None, name="_meta")


class Offer(Struct, frozen=True, omit_defaults=True):
    """A decision that can be made, and what it does, in words."""

    decision: str
    title: str
    saves: str = ""
    """The rule that it adds for later: the beginning of commands, or a host with what is done; else empty."""


class AskedOf(Struct, frozen=True):
    client: str
    since: float


class Receipt(Struct, frozen=True, kw_only=True):
    """How a question ended."""

    state: str
    decision: str
    by: str
    via: str
    at: float
    sentence: str


class Question(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What Codex asks. Times are seconds since 1970."""

    id: str
    kind: str
    state: str
    agent: str = ""
    thread: str
    principal: str
    message: str
    """All of it in words, without characters that a terminal would obey."""
    fields: Mapping[str, object] = {}
    """The same as data, by kind."""
    offered: Sequence[Offer] = ()
    """Empty if data is asked for."""
    form: Mapping[str, object] | None = None
    """The JSON Schema of the data that is asked for."""
    reason: str = ""
    asked_at: float
    deadline: float | None = None
    asked_of: Sequence[AskedOf] = ()
    digest: str
    receipt: Receipt | None = None


class QuestionNamed(Struct, frozen=True):
    id: str


class Given(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer: one of the offered decisions, or the data that is asked for."""

    decision: str | None = None
    reason: str | None = None
    content: dict[str, object] | None = None


class Deliver(Struct, frozen=True):
    """Begin a turn of an agent with its mail, also if it gets none by itself."""

    agent: str
    """Its codex_id."""


class Answer(Struct, frozen=True, kw_only=True):
    id: str
    digest: str
    """Of what the giver was shown."""
    key: str
    """The same answer may be sent again with it."""
    answer: Given


class Verdict(Struct, frozen=True, kw_only=True):
    used: bool
    state: str | None
    decision: str
    by: str
    via: str
    at: float | None
    sentence: str


class Attach(Struct, frozen=True, rename="camel"):
    agent: str
    """Its codex_id."""
    read_only: bool = False


class Attached(Struct, frozen=True, rename="camel"):
    thread_id: str
    cwd: str
    codex: str
    """The version of the agent's Codex."""


class SignIn(Struct, frozen=True):
    view: bool = False
    writes_as: str = ""
    """The name under which the person writes mail."""


class SignInLink(Struct, frozen=True):
    """A link that signs one browser in to the dashboard, once, within so many seconds."""

    url: str
    seconds: float


class Follow(Struct, frozen=True, omit_defaults=True):
    topics: Sequence[str]
    leave: Sequence[str] = ()
    """Topics that are not followed any longer."""
    steps: bool = False
    """Of threads, tell turns and steps; otherwise the `codex/event`s that clients are sent."""


class Followed(Struct, frozen=True, kw_only=True):
    """How things are at `at`; what happens later comes as events."""

    at: str
    agents: Sequence[Mapping[str, object]] = ()
    """As the registry has them. Of a followed thread, its agent; of the topic `agents`, all, with what they do."""
    questions: Sequence[Question] = ()
    """The open ones, if they are followed."""
    answered: Sequence[Question] = ()
    """The newest of those that have ended, the newest first, if they are followed."""
    mail: Sequence[Mapping[str, object]] = ()
    environments: Sequence[Mapping[str, object]] = ()
    health: Sequence[Mapping[str, object]] = ()
    """Rows of the other topics, each with its `key`."""


class Event(Struct, frozen=True, kw_only=True):
    at: str
    topic: str
    kind: str
    """`turn`, `item.started`, `item.text`, `item.ended`, `usage`, `plan`, `agent`, `question.opened`,
    `question.closed`, `mail`, `environment`, `sample`, or `event` for others."""
    data: Mapping[str, object] | Struct
    """Of a thread: the `msg` of the `codex/event`; if steps are followed, a `TurnTold`, `StepTold`, `TextTold`,
    `Usage` or `Plan` of `control_thread`."""
