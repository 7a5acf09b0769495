"""Pure. The tools beside named sessions: listSessions, review, websearch, ping and help; and their arguments as values.

Names, arguments and annotations are those of an older wrapper of the Codex command line.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.catalogue import TURN_OUTPUT, Tool
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, Field, FieldKind
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget, UncommittedChanges

HOW_TO_WAIT: Final = tuple(field for field in catalogue.COMMON_FIELDS if field.name in ("background", "wait-seconds"))

REVIEW_FIELDS: Final = (
    Field("prompt", "What to look at, in words."),
    Field("uncommitted", "Staged, unstaged and untracked changes; the default.", FieldKind.BOOLEAN),
    Field("base", "Changes since this branch."),
    Field("commit", "The changes of this commit."),
    Field("title", "Title of the commit, for the summary."),
    Field("model", "For example `gpt-5.5`."),
    Field("workingDirectory", "The repository; default: the server's folder."),
    *HOW_TO_WAIT,
)

WEBSEARCH_FIELDS: Final = (
    Field("query", "What to search for.", required=True),
    Field("numResults", "How many findings; default 10.", FieldKind.INTEGER, bounds=(1, 50)),
    Field("searchDepth", "`full` adds analysis and context.", choices=("basic", "full")),
    *HOW_TO_WAIT,
)

_HARMLESS: Final = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_OPEN: Final = {**_HARMLESS, "openWorldHint": True}

SESSIONS_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"sessions": {"type": "array", "items": {"type": "object"}}},
    "required": ["sessions"],
}

CODEX: Final = replace(
    catalogue.CODEX,
    fields=(*catalogue.CODEX.fields, *catalogue.WRAPPER_FIELDS),
    unlisted=(),
    hints={"destructiveHint": True, "idempotentHint": False},
)
REVIEW: Final = Tool(
    "review",
    "Code Review",
    "Let Codex review code: uncommitted changes, changes since a base branch, a commit, or what a prompt describes.",
    REVIEW_FIELDS,
    TURN_OUTPUT,
    read_only=True,
    hints=_OPEN,
)
WEBSEARCH: Final = Tool(
    "websearch",
    "Web Search",
    "Let Codex search the web and sum up what it finds.",
    WEBSEARCH_FIELDS,
    TURN_OUTPUT,
    read_only=True,
    hints=_OPEN,
)
LIST_SESSIONS: Final = Tool(
    "listSessions",
    "List Sessions",
    "List the named sessions (`sessionId` of codex), the most recently used first.",
    (),
    SESSIONS_OUTPUT,
    read_only=True,
    hints=_HARMLESS,
)
PING: Final = Tool(
    "ping",
    "Ping Server",
    "Return a message, to test the connection.",
    (Field("message", "Default: pong."),),
    None,
    read_only=True,
    hints=_HARMLESS,
)
HELP: Final = Tool("help", "Get Help", "Describe the tools of this server.", (), None, read_only=True, hints=_HARMLESS)

OWN_TOOLS: Final = (REVIEW, PING, HELP, LIST_SESSIONS, WEBSEARCH)
SESSION_TOOLS: Final = (CODEX, catalogue.CODEX_REPLY, catalogue.CODEX_WAIT, *OWN_TOOLS)


class ReviewArguments(Struct, frozen=True, kw_only=True, rename="kebab"):
    prompt: str | None = None
    uncommitted: bool = False
    base: str | None = None
    commit: str | None = None
    title: str | None = None
    model: str | None = None
    working_directory: str | None = msgspec.field(default=None, name="workingDirectory")
    background: bool = False
    wait_seconds: float | None = None


class WebsearchArguments(Struct, frozen=True, kw_only=True, rename="kebab"):
    query: str
    results: int | float = msgspec.field(default=10, name="numResults")
    depth: str = msgspec.field(default="basic", name="searchDepth")
    background: bool = False
    wait_seconds: float | None = None


class PingArguments(Struct, frozen=True):
    message: str = "pong"


def review_target(arguments: ReviewArguments) -> ReviewTarget:
    """What to review. Raises BadArguments unless the arguments name one thing."""
    given = {
        "prompt": arguments.prompt and Instructions(arguments.prompt),
        "uncommitted": arguments.uncommitted and UncommittedChanges(),
        "base": arguments.base and BaseBranch(arguments.base),
        "commit": arguments.commit and Commit(arguments.commit, arguments.title or msgspec.UNSET),
    }
    named = {name: target for name, target in given.items() if isinstance(target, Struct)}
    if len(named) > 1:
        raise BadArguments(f"{BAD_ARGUMENTS}{' and '.join(f'`{name}`' for name in named)} exclude each other; give one")
    if arguments.title is not None and arguments.commit is None:
        raise BadArguments(f"{BAD_ARGUMENTS}`title` needs `commit`: it is the title of that commit")
    return next(iter(named.values()), UncommittedChanges())


def search_prompt(arguments: WebsearchArguments) -> str:
    """Raises BadArguments."""
    if not arguments.query.strip():
        raise BadArguments(f"{BAD_ARGUMENTS}`query` is empty; say what to search for")
    more = " Include detailed analysis and context." if arguments.depth == "full" else ""
    return f"Search for: {arguments.query}. Provide {arguments.results:g} key findings.{more}"
