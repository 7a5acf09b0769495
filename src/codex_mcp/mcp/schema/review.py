"""Pure. `codex_review`: its arguments, what they ask Codex to review, and the findings in Codex's answer.

Codex returns a review as text in a fixed form, or its model's own answer, with JSON in it, if Codex cannot read that:

    It breaks.

    Full review comments:

    - [P1] Off by one — /repo/a.py:3-5
      The loop ends too early.
"""

import re
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Struct

from codex_mcp.mcp.schema.arguments import HowToWait
from codex_mcp.mcp.schema.fields import BAD_ARGUMENTS, BadArguments, about
from codex_mcp.wire.app.requests import BaseBranch, Commit, Instructions, ReviewTarget, UncommittedChanges

TARGETS: Final = ("uncommitted", "base", "commit", "custom")

HEADING: Final = re.compile(r"^(?:Full review comments|Review comment):$", re.MULTILINE)
FINDING: Final = re.compile(
    r"^- (?:\[P(?P<priority>\d)\] )?(?:(?P<title>.*?) — (?P<file>/.*)|(?P<title2>.*) — (?P<file2>.+))"
    r":(?P<first>\d+)-(?P<last>\d+)$"
)
"""A file is named by its absolute path, which may contain a dash; a title, too."""

LONGEST_FINDING: Final = 4096
"""Characters of the line with title and place. Of a line with many dashes each is tried, which takes time."""

PRIORITY: Final = re.compile(r"^\[P(\d)\] ")

INDENT: Final = "  "


OtherName: TypeAlias = Annotated[str | None, about("Another name of id.")]
"""It is always accepted, and never listed."""


class TeamReviewArguments(HowToWait, frozen=True, kw_only=True):
    id: Annotated[str | None, about("The agent whose folder is reviewed.")] = None
    codex_id: OtherName = None
    identity: OtherName = None
    thread_id: OtherName = None
    cwd: Annotated[str | None, about("A folder instead.")] = None
    target: Annotated[str, about("Default: uncommitted.", *TARGETS)] = TARGETS[0]
    of: Annotated[str | None, about("Branch, commit, or instructions.")] = None
    base: Annotated[str | None, about("Target base, of this branch.")] = None
    commit: Annotated[str | None, about("Target commit, of this one.")] = None
    prompt: Annotated[str | None, about("Target custom, of these instructions.")] = None
    model: Annotated[str | None, about("For example gpt-5.5.")] = None

    @property
    def references(self) -> list[str]:
        """What the caller calls the agent, if it names one."""
        return [name for name in (self.id, self.codex_id, self.identity, self.thread_id) if name]

    @property
    def named(self) -> tuple[str, str | None]:
        """The target and what it is of. `base`, `commit` and `prompt` name both at once, as in `review`."""
        short = {"base": self.base, "commit": self.commit, "custom": self.prompt}
        given = [(target, value) for target, value in short.items() if value is not None]
        if not given:
            return self.target, self.of
        if len(given) > 1 or self.of is not None or self.target not in ("uncommitted", given[0][0]):
            raise _refused("name one target: `target` with `of`, or one of `base`, `commit` and `prompt`")
        return given[0]


class Finding(Struct, frozen=True, omit_defaults=True):
    file: str
    lines: tuple[int, int]
    title: str
    text: str
    priority: int | None = None
    """0 is the most urgent."""


def team_review_target(arguments: TeamReviewArguments) -> ReviewTarget:
    """Raises BadArguments."""
    if arguments.references and arguments.cwd is not None:
        raise _refused("`id` and `cwd` exclude each other: with `id`, the folder of that agent is reviewed")
    target, given = arguments.named
    if target == "uncommitted":
        if given is not None:
            raise _refused("`of` belongs to the targets base, commit and custom; leave it out, or name one of them")
        return UncommittedChanges()
    of = (given or "").strip()
    if not of:
        raise _refused(f"the target {target} needs `of`: a branch, a commit, or instructions")
    if target == "custom":
        return Instructions(of)
    return BaseBranch(of) if target == "base" else Commit(of)


def _refused(text: str) -> BadArguments:
    return BadArguments(f"{BAD_ARGUMENTS}{text}")


def findings_in(review: str) -> list[dict[str, object]] | None:
    """The findings of a review, in its order; None if it is in no form that is known here."""
    heading = HEADING.search(review)
    if heading is None and (review.lstrip().startswith(("{", "```")) or '"findings"' in review):
        found = _written(review)
    else:
        found = [] if heading is None else _listed(review[heading.end() :])
    return None if found is None else [msgspec.to_builtins(each) for each in found]


class _Lines(Struct):
    start: int
    end: int


class _Location(Struct):
    absolute_file_path: str
    line_range: _Lines


class _Written(Struct):
    title: str
    body: str
    code_location: _Location
    priority: int | None = None


class _Review(Struct):
    findings: list[_Written]


def _written(review: str) -> list[Finding] | None:
    """The model's own JSON, which Codex passes on as it is when a field is not as expected; text may surround it."""
    begin, end = review.find("{"), review.rfind("}")
    try:
        found = msgspec.json.decode(review[begin : end + 1], type=_Review, strict=False).findings
    except (msgspec.MsgspecError, UnicodeError, RecursionError):  # the last one for JSON that is nested too deep
        return None
    return [
        Finding(
            file=each.code_location.absolute_file_path,
            lines=(each.code_location.line_range.start, each.code_location.line_range.end),
            title=PRIORITY.sub("", each.title),
            text=each.body.strip(),
            priority=each.priority if each.priority is not None else _priority_in(each.title),
        )
        for each in found
    ]


def _priority_in(title: str) -> int | None:
    found = PRIORITY.match(title)
    return None if found is None else int(found[1])


def _listed(listed: str) -> list[Finding]:
    found: list[Finding] = []
    body: list[str] = []
    for line in listed.splitlines():
        if len(line) <= LONGEST_FINDING and (match := FINDING.match(line)) is not None:
            _finish(found, body)
            body = []
            found.append(_finding(match))
        elif found:
            body.append(line.removeprefix(INDENT))
    _finish(found, body)
    return found


def _finding(match: re.Match[str]) -> Finding:
    priority, first, last = match["priority"], int(match["first"]), int(match["last"])
    return Finding(
        file=match["file"] or match["file2"],
        lines=(first, last),
        title=match["title"] if match["file"] else match["title2"],
        text="",
        priority=None if priority is None else int(priority),
    )


def _finish(found: list[Finding], body: list[str]) -> None:
    if found:
        found[-1] = msgspec.structs.replace(found[-1], text="\n".join(body).strip())
