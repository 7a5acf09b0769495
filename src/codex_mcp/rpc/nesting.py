"""Pure. Limits on the nesting and the number of values of a JSON text, checked without decoding it.

A decoder fails at the depth of Python's stack, which depends on where it is called; this limit is far lower and the
same everywhere. A few megabytes of empty lists take seconds to decode, and a hundred times their length in memory.
"""

from __future__ import annotations

from typing import Final

MAX_DEPTH: Final = 128
"""Levels of nested objects and lists. The schemas and arguments of real calls stay below twenty."""

MAX_VALUES: Final = 100_000
"""Values in one message; decoding that many takes 0.1 s. Real calls have some dozens; a long text is one value."""

QUOTES_PER_VALUE: Final = 4
"""A value has at most one name, and both may be strings."""

_OPENING: Final = b"[{"
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))


def why_unreadable(text: bytes, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> str:
    """Why this JSON must not be decoded; empty if it may be. For other input the result is arbitrary."""
    # These lines decide for nearly every message, at the speed of memory.
    opened = text.count(b"[") + text.count(b"{")
    if opened <= max_depth and opened + text.count(b",") <= max_values:
        return ""
    # Without escapes, each quotation mark begins or ends a string.
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    too_many = f"the JSON has more than {max_values} values"
    if plain.count(b'"') > QUOTES_PER_VALUE * (max_values + 1):
        return too_many
    outside = b"".join(plain.split(b'"')[::2])
    if outside.count(b"[") + outside.count(b"{") + outside.count(b",") > max_values:
        return too_many
    return f"the JSON is nested more than {max_depth} deep" if _is_too_deep(outside, max_depth) else ""


def _is_too_deep(outside: bytes, limit: int) -> bool:
    brackets = outside.translate(None, _OTHERS)
    step = max(1, limit // 2)
    depth = 0
    for start in range(0, len(brackets), step):
        part = brackets[start : start + step]
        opened = part.count(b"[") + part.count(b"{")
        # The order of the brackets only matters where the limit is within reach.
        if depth + opened > limit and _peak(part, depth) > limit:
            return True
        depth += 2 * opened - len(part)
    return False


def _peak(brackets: bytes, depth: int) -> int:
    peak = depth
    for bracket in brackets:
        depth += 1 if bracket in _OPENING else -1
        peak = max(peak, depth)
    return peak
