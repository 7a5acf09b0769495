"""Pure. Masks secrets in a text before it goes into a file: tokens, keys, passwords become `****`.

It knows the shapes that pass through here: `Bearer …` (any case), OpenAI and GitHub keys, JSON web tokens, values of
names such as `api_key`, `"apiKey"` or `NPM_TOKEN` (also in JSON inside JSON), other Authorization schemes, passwords in
addresses. It may mask too much; it must not mask too little.
"""

import functools
import re

MASK = "****"

_SECRET_NAMES = (
    r"[\w-]*(?:api[_-]?key|secret|passw(?:or)?d|private[_-]?key|credential)s?"
    r"|(?:[\w-]*[_-])?(?:access|refresh|id|auth|bearer|api|session|secret)token"
    r"|[\w-]+[_-]token"
)
_QUOTE = r"\\*[\"']"
"""A quote, with the backslashes that it has in JSON inside JSON."""

_IS = rf"(?:{_QUOTE})?\s*[=:]\s*"

_SIGNS = (
    "bearer",
    "authorization",
    "key",
    "secret",
    "passw",
    "credential",
    "token",
    "eyj",
    "sk-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_",
    "://",
)
"""Without one of these (in lower case) no rule can apply; most lines have none, and are done in a microsecond."""


@functools.cache  # compiled when the first line needs it: that is after the first answer
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    return (
        (re.compile(r"(\bbearer(?:\s|%20)+)[^\s\"'\\,;]+", re.IGNORECASE), rf"\g<1>{MASK}"),
        (
            re.compile(rf"(\bauthorization{_IS}(?:{_QUOTE})?(?!bearer\b)\w+\s+)[^\s\"'\\,;]+", re.IGNORECASE),
            rf"\g<1>{MASK}",
        ),
        # A quoted value: up to the same quote with as many backslashes, or, if the text was cut, to the line's end.
        (
            re.compile(
                rf"((?<![\w-])(?:{_SECRET_NAMES}){_IS})({_QUOTE})(?:(?!(?<!\\)\2)[^\n])*(?:(?<!\\)\2|$)",
                re.IGNORECASE | re.MULTILINE,
            ),
            rf"\g<1>\g<2>{MASK}\g<2>",
        ),
        (
            re.compile(rf"((?<![\w-])(?:{_SECRET_NAMES}){_IS})(?!\\*[\"'])[^\s\"',;&}}\]]+", re.IGNORECASE),
            rf"\g<1>{MASK}",
        ),
        (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"), MASK),
        (re.compile(r"\bsk-[\w-]{8,}"), f"sk-{MASK}"),
        (re.compile(r"\b(?:gh[pousr]_|github_pat_)\w{16,}"), MASK),
        (re.compile(r"(://[^/\s:@\"']*:)[^/\s@\"']+(?=@)"), rf"\g<1>{MASK}"),
    )


def redact(text: str) -> str:
    """The text with every secret that we recognise masked."""
    folded = text.lower()
    if not any(sign in folded for sign in _SIGNS):
        return text
    for pattern, replacement in _rules():
        text = pattern.sub(replacement, text)
    return text
