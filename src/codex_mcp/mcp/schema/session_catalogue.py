"""Pure. The tools beside named sessions: listSessions, review, websearch, ping and help; and their arguments as values.

Names, arguments and annotations are those of an older wrapper of the Codex command line.
"""

from typing import Annotated, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from codex_mcp.mcp.schema import catalogue
from codex_mcp.mcp.schema.arguments import CodexArguments, HowToWait
from codex_mcp.mcp.schema.catalogue import TURN_OUTPUT, Tool, arguments
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, about
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget, UncommittedChanges


class ReviewArguments(HowToWait, frozen=True, kw_only=True):
    prompt: Annotated[str | None, about("What to look at, in words.")] = None
    uncommitted: Annotated[bool, about("Staged, unstaged and untracked changes; the default.")] = False
    base: Annotated[str | None, about("Changes since this branch.")] = None
    commit: Annotated[str | None, about("The changes of this commit.")] = None
    title: Annotated[str | None, about("Title of the commit, for the summary.")] = None
    model: Annotated[str | None, about("For example `gpt-5.5`.")] = None
    working_directory: Annotated[str | None, about("The repository; default: the server's folder.")] = None


class WebsearchArguments(HowToWait, frozen=True, kw_only=True):
    query: Annotated[str, about("What to search for.")]
    num_results: Annotated[int, about("How many findings; default 10.", bounds=(1, 50))] = 10
    search_depth: Annotated[str, about("`full` adds analysis and context.", "basic", "full")] = "basic"


class PingArguments(Struct, frozen=True):
    message: Annotated[str, about("Default: pong.")] = "pong"


_HARMLESS: Final = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_OPEN: Final = {**_HARMLESS, "openWorldHint": True}

SESSIONS_OUTPUT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"sessions": {"type": "array", "items": {"type": "object"}}},
    "required": ["sessions"],
}

CODEX: Final = replace(
    catalogue.CODEX,
    **arguments(CodexArguments, f"{catalogue.LISTED} {catalogue.WRAPPERS}", ""),
    hints={"destructiveHint": True, "idempotentHint": False},
)
REVIEW: Final = Tool(
    name="review",
    title="Code Review",
    description="Let Codex review code: uncommitted changes, changes since a base branch, a commit, or what a prompt "
    "describes.",
    **arguments(ReviewArguments, "prompt uncommitted base commit title model workingDirectory background wait-seconds"),
    output=TURN_OUTPUT,
    read_only=True,
    hints=_OPEN,
)
WEBSEARCH: Final = Tool(
    name="websearch",
    title="Web Search",
    description="Let Codex search the web and sum up what it finds.",
    **arguments(WebsearchArguments, "query numResults searchDepth background wait-seconds"),
    output=TURN_OUTPUT,
    read_only=True,
    hints=_OPEN,
)
LIST_SESSIONS: Final = Tool(
    name="listSessions",
    title="List Sessions",
    description="List the named sessions (`sessionId` of codex), the most recently used first.",
    output=SESSIONS_OUTPUT,
    read_only=True,
    hints=_HARMLESS,
)
PING: Final = Tool(
    name="ping",
    title="Ping Server",
    description="Return a message, to test the connection.",
    **arguments(PingArguments, "message"),
    read_only=True,
    hints=_HARMLESS,
)
HELP: Final = Tool(
    name="help", title="Get Help", description="Describe the tools of this server.", read_only=True, hints=_HARMLESS
)

OWN_TOOLS: Final = (REVIEW, PING, HELP, LIST_SESSIONS, WEBSEARCH)
SESSION_TOOLS: Final = (CODEX, catalogue.CODEX_REPLY, catalogue.CODEX_WAIT, *OWN_TOOLS)


def review_target(asked: ReviewArguments) -> ReviewTarget:
    """What to review. Raises BadArguments unless the arguments name one thing."""
    given = {
        "prompt": asked.prompt and Instructions(asked.prompt),
        "uncommitted": asked.uncommitted and UncommittedChanges(),
        "base": asked.base and BaseBranch(asked.base),
        "commit": asked.commit and Commit(asked.commit, asked.title or UNSET),
    }
    named = {name: target for name, target in given.items() if isinstance(target, Struct)}
    if len(named) > 1:
        raise BadArguments(f"{BAD_ARGUMENTS}{' and '.join(f'`{name}`' for name in named)} exclude each other; give one")
    if asked.title is not None and asked.commit is None:
        raise BadArguments(f"{BAD_ARGUMENTS}`title` needs `commit`: it is the title of that commit")
    return next(iter(named.values()), UncommittedChanges())


def search_prompt(asked: WebsearchArguments) -> str:
    """Raises BadArguments."""
    if not asked.query.strip():
        raise BadArguments(f"{BAD_ARGUMENTS}`query` is empty; say what to search for")
    more = " Include detailed analysis and context." if asked.search_depth == "full" else ""
    return f"Search for: {asked.query}. Provide {asked.num_results} key findings.{more}"
