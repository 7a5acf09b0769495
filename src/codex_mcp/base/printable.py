"""Pure. Foreign text, made safe to show in a terminal or to log.

What another machine wrote is made printable where it enters: in the errors and values that carry it.

A terminal obeys control and direction characters, so that a command could look different from what will run. Such
characters are escaped.
"""

import unicodedata

HIDDEN_CATEGORIES = ("Cc", "Cf", "Zl", "Zp", "Cs")
"""Unicode categories that a terminal interprets or hides."""

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))

LONGEST = 500
"""Characters of another machine's explanation that are shown."""


def visible(text: str) -> str:
    """The text with hidden characters escaped, except line ends and tabs."""
    return "".join(char if char in "\n\t" else _shown(char) for char in text)


def one_line(text: str) -> str:
    """The same on a single line, so that a text cannot imitate the lines after it."""
    return "".join(map(_shown, text))


def foreign(text: str, limit: int = LONGEST) -> str:
    """What another machine wrote, on a single line, not longer than an explanation needs to be."""
    return one_line(text if len(text) <= limit else text[:limit] + "…")


def json_escaped(document: str) -> str:
    """JSON, with each character escaped that does not print, except line ends: it may hide, reorder or end lines."""
    return "".join(char if char.isprintable() or char == "\n" else _json_escape(char) for char in document)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def counted(count: object, noun: str) -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def age(seconds: float) -> str:
    """`59 s`, `2 min`, `3 h`, `400 d`."""
    for unit, length in UNITS:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def are_waiting(prompts: int) -> str:
    """How many prompts wait for a busy thread besides the turn that runs."""
    return "1 more prompt is waiting" if prompts == 1 else f"{prompts} more prompts are waiting"


def _shown(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN_CATEGORIES:
        return char
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{{{ord(char):x}}}")
