"""Pure. JSON as a text whose every character is kept: values and where they begin and end.

Files are decoded so that bytes which are not UTF-8 survive a round trip. Numbers of any size, lone surrogates and
repeated keys are accepted, as JSON allows them; NaN and raw control characters are not.
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

_BLANK: Final = re.compile(r"[ \t\n\r]*")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a decoded text, the same as before."""
    return text.encode("utf-8", "surrogateescape")


def value_at(text: str, at: int) -> tuple[object, int]:
    """The value that begins here, and where it ends. Raises ValueError."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None, "it matches nothing as well"
    return found.end()


def clean(text: str) -> str:
    """The text with every lone surrogate replaced, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _integer(digits: str) -> object:
    try:
        return int(digits)
    except ValueError:  # Python refuses thousands of digits
        return digits


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_constant=_refuse)
