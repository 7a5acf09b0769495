"""Pure. Steps as a page shows them: reads in a row are one line, output has colours, words are paragraphs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codex_mcp.base.printable import counted, one_line, visible
from codex_mcp.dashboard.thread.ansi import Piece, screen
from codex_mcp.dashboard.thread.prose import Block, prose
from codex_mcp.dashboard.views.briefs import Before, Brief
from codex_mcp.wire.control_thread import FileStep, Look, Step, Steps

LAST_LINES: Final = 8
"""Of output."""

LAST_LINES_WHOLE: Final = 400

MOST_NAMED: Final = 3
"""Files that a line names."""

ENVELOPE: Final = "--- mail "
MAIL_BEGINS: Final = "You have mail: "
MOST_LETTERS: Final = 20

FULL_SCREEN: Final = "full-screen program: final screen"


class Letter(Struct, frozen=True, omit_defaults=True):
    """A message in a prompt."""

    sender: str
    text: str
    urgent: bool = False
    again: bool = False


class Picture(Struct, frozen=True, omit_defaults=True):
    path: str
    name: str
    href: str = ""
    """Where it can be seen; empty if it cannot."""
    width: int = 0
    height: int = 0


class StepView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    key: str
    n: int = -1
    kind: str
    """As of a step; `looks` for several that only look."""
    icon: str = ""
    title: str = ""
    code: str = ""
    mark: str = ""
    """What became of it: `exit 1`, `failed`, `declined`."""
    is_bad: bool = False
    is_open: bool = False
    """It has not ended."""
    seconds: float | None = None
    blocks: Sequence[Block] = ()
    letters: Sequence[Letter] = ()
    output: Sequence[Sequence[Piece]] = ()
    hidden_lines: int = 0
    lines: int = 0
    note: str = ""
    entries: Sequence[str] = ()
    """What it looked at."""
    files: Sequence[FileStep] = ()
    pictures: Sequence[Picture] = ()
    cut: int = 0
    added: int = 0
    removed: int = 0


def key_of(step_id: str) -> str:
    """A name for an element of a page: ids of items come from a model's provider."""
    return hashlib.sha256(step_id.encode(errors="replace")).hexdigest()[:10]


def grouped(steps: Iterable[Step]) -> list[list[Step]]:
    """Commands in a row that only look belong together; every other step stands alone."""
    found: list[list[Step]] = []
    for step in steps:
        if found and _only_looks(step) and _only_looks(found[-1][0]):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _only_looks(step: Step) -> bool:
    return step.kind == "ran" and bool(step.looks) and step.ended and not step.exit_code


def group_key(group: Sequence[Step]) -> str:
    """The name of its element, which stays when the group grows."""
    return ("l" if _only_looks(group[0]) else "s") + key_of(group[0].id)


def view_of_group(group: Sequence[Step], cwd: str = "") -> StepView:
    return _looked(group, cwd) if _only_looks(group[0]) else view_of(group[0], cwd)


def views(steps: Iterable[Step], cwd: str = "") -> list[StepView]:
    return [view_of_group(each, cwd) for each in grouped(steps)]


def _looked(steps: Sequence[Step], cwd: str) -> StepView:
    looks = [look for step in steps for look in step.looks]
    reads = {each.what for each in looks if each.kind == "read"}
    lists = {each.what for each in looks if each.kind == "list"}
    searches = [each.what for each in looks if each.kind == "search"]
    said = [f"read {counted(len(reads), 'file')}"] if reads else []
    said += [f"listed {counted(len(lists), 'folder')}"] if lists else []
    if searches:
        said.append(f"searched for {_short(searches[0])}" if len(searches) == 1 else f"searched {len(searches)} times")
    title = ", ".join(said)
    return StepView(
        key=group_key(steps),
        n=steps[0].n,
        kind="looks",
        icon="eye",
        title=title[:1].upper() + title[1:],
        entries=[_entry(each, cwd) for each in looks[:100]],
    )


def _entry(look: Look, cwd: str) -> str:
    words = {"read": "read", "list": "listed", "search": "searched for"}
    return f"{words.get(look.kind, look.kind)} {one_line(inside(look.what, cwd))}"


def view_of(step: Step, cwd: str = "", *, whole: bool = False) -> StepView:  # noqa: C901  one case for each kind
    base = StepView(key=f"s{key_of(step.id)}", n=step.n, kind=step.kind, is_open=not step.ended, cut=step.cut)
    match step.kind:
        case "user":
            return _user(base, step)
        case "says":
            return msgspec.structs.replace(base, icon="think", blocks=prose(visible(step.text)))
        case "thinks":
            title, _, _ = step.text.strip().partition("\n")
            return msgspec.structs.replace(
                base, icon="think", title=_short(title.strip("* ")) or "Thinks", blocks=prose(visible(step.text))
            )
        case "ran":
            return _ran(base, step, whole=whole)
        case "changed":
            return _changed(base, step, cwd)
        case "tool":
            return _tool(base, step, whole=whole)
        case "search":
            return msgspec.structs.replace(base, icon="net", title="Searched the web for", code=_short(step.text))
        case "image":
            pictures = [Picture(path, one_line(path.rpartition("/")[2])) for path in step.pictures]
            title = "Made a picture" if step.tool else "Looked at"
            return msgspec.structs.replace(base, icon="image", title=title, code=_short(step.text), pictures=pictures)
        case "agent":
            title = f"Sub-agent: {one_line(step.tool)}"
            return msgspec.structs.replace(base, icon="list", title=title, blocks=prose(visible(step.text)))
        case "review":
            return msgspec.structs.replace(base, icon="eye", title="Review", blocks=prose(visible(step.text)))
        case "shortened":
            return msgspec.structs.replace(base, icon="think", title="The history was shortened here.")
        case _:
            return msgspec.structs.replace(base, icon="think", title=one_line(step.kind), code=_short(step.text))


def _user(base: StepView, step: Step) -> StepView:
    pictures = [Picture(path, one_line(path.rpartition("/")[2])) for path in step.pictures]
    letters = letters_in(step.text)
    text = step.text[: step.text.find(MAIL_BEGINS)].strip() if letters else step.text
    blocks = prose(visible(text)) if text else []
    return msgspec.structs.replace(base, icon="say", blocks=blocks, letters=letters, pictures=pictures)


class _Quoted(Struct, frozen=True):
    """A message as `mail/delivery/envelope` quotes it."""

    text: str
    sender: str = msgspec.field(name="from")
    from_team: str | None = None
    urgent: bool = False
    redelivered: bool = False


def letters_in(prompt: str) -> list[Letter]:
    """The messages in a prompt that mail began; their texts are foreign."""
    if MAIL_BEGINS not in prompt or ENVELOPE not in prompt:
        return []
    found: list[Letter] = []
    for line in prompt.splitlines():
        if not line.startswith('{"from"') or len(found) >= MOST_LETTERS:
            continue
        try:
            quoted = msgspec.json.decode(line, type=_Quoted)
        except msgspec.MsgspecError:
            continue
        team = f"@{quoted.from_team}" if quoted.from_team else ""
        found.append(Letter(one_line(quoted.sender + team), visible(quoted.text), quoted.urgent, quoted.redelivered))
    return found


def _ran(base: StepView, step: Step, *, whole: bool) -> StepView:
    shown = screen(step.output)
    most = LAST_LINES_WHOLE if whole else LAST_LINES
    lines = shown.lines[-most:]
    mark = f"exit {step.exit_code}" if step.exit_code else ""
    if step.status not in ("completed", "failed", "inProgress", ""):
        mark = one_line(step.status)
    return msgspec.structs.replace(
        base,
        icon="run",
        code=visible(step.text),
        mark=mark,
        is_bad=bool(step.exit_code) or step.status == "failed",
        seconds=step.seconds,
        output=[[Piece(visible(piece.text), piece.kind) for piece in line] for line in lines],
        hidden_lines=max(0, max(step.lines, len(shown.lines)) - len(lines)),
        lines=step.lines,
        note=FULL_SCREEN if shown.is_full_screen else "",
    )


def _changed(base: StepView, step: Step, cwd: str) -> StepView:
    files = [msgspec.structs.replace(each, path=one_line(inside(each.path, cwd))) for each in step.files]
    names = ", ".join(each.path for each in files[:MOST_NAMED]) + (" …" if len(files) > MOST_NAMED else "")
    wanted = {"declined": "Was not allowed to change", "failed": "Could not change"}.get(step.status, "Changed")
    verb = "Changes" if not step.ended else wanted
    return msgspec.structs.replace(
        base,
        icon="patch",
        title=f"{verb} {counted(len(step.files) + step.cut, 'file')}",
        code=names,
        is_bad=step.status in ("declined", "failed"),
        files=files,
        added=sum(each.added for each in files),
        removed=sum(each.removed for each in files),
    )


def _tool(base: StepView, step: Step, *, whole: bool) -> StepView:
    lines = screen(step.output).lines[-(LAST_LINES_WHOLE if whole else LAST_LINES) :]
    name = f"{step.server}.{step.tool}" if step.server else step.tool
    is_mail = step.tool.startswith("atm_") and not step.server
    return msgspec.structs.replace(
        base,
        icon="mail" if is_mail else "tool",
        title=one_line(name),
        code=_short(step.text) if not whole else visible(step.text),
        mark=one_line(step.status),
        is_bad=step.status == "failed",
        seconds=step.seconds,
        output=[[Piece(visible(piece.text), piece.kind) for piece in line] for line in lines],
        hidden_lines=max(0, step.lines - len(lines)),
        lines=step.lines,
    )


def with_pictures(view: StepView, known: Mapping[str, Picture]) -> StepView:
    """The same with where its pictures can be seen."""
    if not view.pictures:
        return view
    return msgspec.structs.replace(view, pictures=[known.get(each.path, each) for each in view.pictures])


def inside(path: str, cwd: str) -> str:
    """The path below a folder, without that folder."""
    folder = cwd.rstrip("/") + "/"
    return path.removeprefix(folder) if cwd and path.startswith(folder) else path


def _short(text: str) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= 200 else line[:199] + "…"


def before(known: Steps, cwd: str, most: int) -> Before:
    found = briefs(known, cwd, most, with_open=False)
    setup = known.setup
    policy = f"approval policy {one_line(setup.approval)}" if setup.approval else ""
    sandbox = f"sandbox {one_line(setup.sandbox)}" if setup.sandbox else ""
    of = f" (last {len(found)} of {counted(known.total, 'step')})" if len(found) < known.total else ""
    title = f"What it did before{of}"
    return Before(steps=found, title=title, why=", ".join(filter(None, (sandbox, policy))))


def briefs(known: Steps, cwd: str, most: int, *, with_open: bool = True) -> list[Brief]:
    """The last ones; `with_open` has those that have not ended."""
    shown = [each for each in views(known.steps[-4 * most :], cwd) if with_open or not each.is_open]
    return [_brief(each) for each in shown[-most:]]


def _brief(step: StepView) -> Brief:
    match step.kind:
        case "user" if step.letters:
            return Brief(icon="mail", who=step.letters[0].sender, text=_short(step.letters[0].text))
        case "user" | "says" | "agent" | "review":
            return Brief(icon=step.icon, text=_short(" ".join(filter(None, (step.title, _plain(step.blocks))))))
        case "ran":
            return Brief(icon="run", code=_short(step.code), mark=step.mark, is_bad=step.is_bad)
        case "changed":
            return Brief(icon="patch", text=step.title, is_bad=step.is_bad, added=step.added, removed=step.removed)
        case _:
            return Brief(icon=step.icon, text=step.title, code=_short(step.code), mark=step.mark, is_bad=step.is_bad)


def _plain(blocks: Sequence[Block]) -> str:
    return " ".join(span.text for block in blocks[:4] for item in block.items for span in item)
