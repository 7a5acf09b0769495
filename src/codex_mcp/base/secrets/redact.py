"""Pure. Masks secrets in a text before it goes into a file: tokens, keys, passwords become `****`.

Our own rules (`shapes`) and those of gitleaks (`rules`) recognise secrets. A rule is tried only where one of its
keywords occurs, so most texts take a few microseconds, and the time for a hostile text is linear in its length.
Terminal colours and the quotes of a shell do not hide a secret (`views`). It may mask too much; it must not mask too
little.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Final

from codex_mcp.base.secrets.rules import Rule, compiled, gitleaks_rules
from codex_mcp.base.secrets.shapes import KNOWN, NAMED
from codex_mcp.base.secrets.views import PART, views

MASK: Final = "****"

Span = tuple[int, int]

GROUPS: Final = ("secret", "quoted")
"""Names of the groups in a pattern that are masked."""

PEM: Final = "private key"
PEM_BEGINS: Final = r"(?i:-----BEGIN[ A-Z0-9_]{0,60}PRIVATE KEY(?: BLOCK)?-----)"
PEM_ENDS: Final = r"(?i:-----END[ A-Z0-9_]{0,60}-----)"
PEM_BODY: Final = r"(?:[A-Za-z0-9+/=\s:,\-]|\\[nrt\\])*"
"""The body of a key whose end is missing because the text was cut."""

CACHED_CHARS: Final = 256
CACHED_TEXTS: Final = 4096
"""Short texts recur: log messages, names and folders of agents."""

LONG_WORD: Final = r"[\w+/=~.-]{12}"
"""Every secret that is recognised by its form, not by a name, has at least this many characters in a row."""

Rules = tuple[tuple[str, tuple[Rule, ...]], ...]
"""Rules by keyword."""


def redact(text: str) -> str:
    """The text with every secret that we recognise masked."""
    return _short_redacted(text) if len(text) <= CACHED_CHARS else _redacted(text)


def _redacted(text: str) -> str:
    return _masked(text, _merged(_spans(text)))


_short_redacted = functools.lru_cache(maxsize=CACHED_TEXTS)(_redacted)


def _by_keyword(rules: Iterable[Rule]) -> Rules:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        for keyword in rule.keywords:
            found.setdefault(keyword, []).append(rule)
    return tuple((keyword, tuple(rules)) for keyword, rules in found.items())


_NAMED: Final = _by_keyword(NAMED)


@functools.cache  # loaded when the first text needs them, after the first answer
def _known() -> Rules:
    return _by_keyword((*KNOWN, *gitleaks_rules()))


def _folded(text: str) -> str:
    """The text in lower case, with every character at the same position."""
    folded = text.lower()
    # A few letters become two in lower case; in such a text, only ASCII is changed.
    return folded if len(folded) == len(text) else text.translate(_ASCII_LOWER)


_ASCII_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _spans(text: str) -> Iterator[Span]:
    """Where the secrets are, in any order; they may overlap."""
    for plain, places in views(text, _folded(text)):
        for start, end in _spans_in(plain, _folded(plain)):
            inner = plain[start:end].strip(PART)
            if inner:
                start += plain[start:end].index(inner)
                yield places[start], places[start + len(inner) - 1] + 1


def _spans_in(text: str, folded: str) -> Iterator[Span]:
    rules = (*_NAMED, *_known()) if compiled(LONG_WORD).search(text) else _NAMED
    searched = set()
    for keyword, rules_of_it in rules:
        if keyword not in folded:
            continue
        for rule in rules_of_it:
            if rule.begins:
                yield from _found(rule, _matches_at(keyword, compiled(rule.pattern), text, folded))
            elif rule.name not in searched:
                searched.add(rule.name)
                yield from _found(rule, compiled(rule.pattern).finditer(text))
    if PEM in folded:
        yield from _pem_spans(text)


def _found(rule: Rule, matches: Iterator[re.Match[str]]) -> Iterator[Span]:
    for match in matches:
        start, end = _secret_in(match)
        if not rule.digit or any(map(str.isdigit, match.string[start:end])):
            yield start, end


def _matches_at(keyword: str, pattern: re.Pattern[str], text: str, folded: str) -> Iterator[re.Match[str]]:
    at = folded.find(keyword)
    while at >= 0:
        match = pattern.match(text, at)
        if match is not None:
            yield match
        at = folded.find(keyword, at + 1 if match is None else max(match.end(), at + 1))


def _secret_in(match: re.Match[str]) -> Span:
    for group in GROUPS:
        if group in match.re.groupindex and match.start(group) >= 0:
            return match.span(group)
    return match.span()


def _pem_spans(text: str) -> Iterator[Span]:
    """Private keys between their marker lines; without an end marker, as far as the text looks like a key."""
    ends = [match.end() for match in compiled(PEM_ENDS).finditer(text)]
    done = 0
    for begin in compiled(PEM_BEGINS).finditer(text):
        if begin.start() < done:
            continue
        while ends and ends[0] <= begin.end():
            del ends[0]
        body = compiled(PEM_BODY).match(text, begin.end())
        done = ends[0] if ends else body.end() if body else begin.end()
        yield begin.start(), done


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _masked(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += text[done:start], MASK
        done = end
    return "".join(pieces) + text[done:]
