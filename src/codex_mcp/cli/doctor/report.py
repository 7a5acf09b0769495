"""Pure. The findings as text for a terminal and as JSON. Home folders and secrets are not shown."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from codex_mcp.base.printable import one_line
from codex_mcp.base.secrets.redact import redact
from codex_mcp.cli.doctor.facts import Finding, Group, Level

MARKS: Final[Mapping[Level, str]] = {Level.ERROR: "✗", Level.WARNING: "⚠", Level.OK: "✓"}
PLAIN_MARKS: Final[Mapping[Level, str]] = {Level.ERROR: "x", Level.WARNING: "!", Level.OK: "-"}
"""For terminals without these characters."""

LEVEL_NAMES: Final[Mapping[Level, str]] = {Level.ERROR: "error", Level.WARNING: "warning", Level.OK: "ok"}

WIDEST: Final = 100
NARROWEST: Final = 20


def private(finding: Finding, homes: Collection[str]) -> Finding:
    """The finding as it may be pasted into an issue: home folders as ~, secrets masked, on one line."""
    text, fix = (_private(text, homes) for text in (finding.text, finding.fix))
    return Finding(finding.check, finding.group, finding.level, text, fix)


def runnable(finding: Finding, program: str) -> Finding:
    """The finding whose advice names our program so that it can be run here, wherever it is installed."""
    fix = re.sub(r"(?<![\w/.-])codex-mcp (?=[a-z])", lambda _: f"{program} ", finding.fix)
    return Finding(finding.check, finding.group, finding.level, finding.text, fix)


def _private(text: str, homes: Collection[str]) -> str:
    for home in homes:
        if home.strip("/"):
            text = re.sub(rf"{re.escape(home.rstrip('/'))}(?![\w.-])", "~", text)
    return one_line(redact(text))


def as_text(heading: str, findings: Sequence[Finding], width: int | None, marks: Mapping[Level, str] = MARKS) -> str:
    """Groups with their findings, the worst first; below each finding what to do. `width` None does not wrap."""
    lines = [*_wrapped("", heading, width), ""]
    for group, members in _grouped(findings):
        lines.append(str(group))
        for finding in members:
            lines += _wrapped(f"  {marks[finding.level]} ", finding.text, width)
            if finding.fix:
                lines += _wrapped("    to fix: ", finding.fix, width)
        lines.append("")
    return "\n".join([*lines, _counted(findings)])


def as_summary(findings: Sequence[Finding], marks: Mapping[Level, str] = MARKS) -> str:
    """One line per group, and the numbers."""
    lines = [f"{marks[members[0].level]} {group}" for group, members in _grouped(findings)]
    return "\n".join([*lines, "", _counted(findings)])


def as_json(findings: Sequence[Finding], version: str) -> dict[str, object]:
    counts = Counter(finding.level for finding in findings)
    return {
        "version": version,
        "errors": counts[Level.ERROR],
        "warnings": counts[Level.WARNING],
        "checks": [
            {
                "check": finding.check,
                "group": str(finding.group),
                "level": LEVEL_NAMES[finding.level],
                "text": finding.text,
                "fix": finding.fix or None,
            }
            for finding in sorted(findings, key=lambda finding: finding.level)
        ],
    }


def _grouped(findings: Sequence[Finding]) -> Iterator[tuple[Group, list[Finding]]]:
    """Groups and findings, the worst first; among equals in the order of the groups."""
    groups = {
        group: sorted((f for f in findings if f.group is group), key=lambda finding: finding.level) for group in Group
    }
    yield from sorted(
        ((group, members) for group, members in groups.items() if members), key=lambda item: item[1][0].level
    )


def _wrapped(start: str, text: str, width: int | None) -> list[str]:
    if width is None:
        return [start + text]
    # Commands are not cut inside a word: they are copied from here.
    room = max(NARROWEST, min(WIDEST, width - 1))
    indent = " " * 4 if start else ""
    return textwrap.wrap(
        text, room, initial_indent=start, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _counted(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.level for finding in findings)
    if not counts[Level.ERROR] and not counts[Level.WARNING]:
        return "Everything is fine."
    parts = [
        f"{counts[level]} {name}{'' if counts[level] == 1 else 's'}"
        for level, name in ((Level.ERROR, "error"), (Level.WARNING, "warning"))
        if counts[level]
    ]
    return f"{' and '.join(parts)}."
