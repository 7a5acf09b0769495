"""Pure. Text of others, made safe to show to a person who decides by it.

A terminal obeys control and direction characters: a command could show as something other than what will run.
They are written out instead.
"""

import unicodedata

HIDDEN_CATEGORIES = ("Cc", "Cf", "Zl", "Zp", "Cs")
"""Unicode categories that a screen obeys or swallows instead of showing."""


def visible(text: str) -> str:
    """The text with everything written out that a screen would not show. Line ends and tabs stay."""
    return "".join(char if char in "\n\t" else _shown(char) for char in text)


def one_line(text: str) -> str:
    """The same on a single line, so that a text cannot pretend to be the lines after it."""
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN_CATEGORIES:
        return char
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{{{ord(char):x}}}")
