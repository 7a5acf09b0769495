"""Pure. Foreign text, made safe to show in a terminal.

A terminal obeys control and direction characters, so that a command could look different from what will run. Such
characters are escaped.
"""

import unicodedata

HIDDEN_CATEGORIES = ("Cc", "Cf", "Zl", "Zp", "Cs")
"""Unicode categories that a terminal interprets or hides."""


def visible(text: str) -> str:
    """The text with hidden characters escaped, except line ends and tabs."""
    return "".join(char if char in "\n\t" else _shown(char) for char in text)


def one_line(text: str) -> str:
    """The same on a single line, so that a text cannot imitate the lines after it."""
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if unicodedata.category(char) not in HIDDEN_CATEGORIES:
        return char
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{{{ord(char):x}}}")
