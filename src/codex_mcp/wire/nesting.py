"""Pure. How deeply a JSON text is nested, found without decoding it.

Decoders stop at the depth of Python's stack, which is another one in every place that decodes; a limit of our own is
the same everywhere, and far below.
"""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 128
"""Objects and lists within each other. The schemas and arguments of real calls stay below twenty."""

_QUOTED: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
"""A text; one without an end goes to the end, else it would be tried again from each of its quotation marks."""
_OPENING: Final = b"[{"
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(text: bytes, limit: int = MAX_DEPTH) -> bool:
    """Is this JSON nested more deeply than that? Of what is no JSON the answer may be either."""
    # Nearly every message is settled by this line, at the speed of memory.
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    brackets = _QUOTED.sub(b"", text).translate(None, _OTHERS)
    step = max(1, limit // 2)
    depth = 0
    for start in range(0, len(brackets), step):
        part = brackets[start : start + step]
        opened = part.count(b"[") + part.count(b"{")
        # Only where the limit is within reach does it matter in which order they come.
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
