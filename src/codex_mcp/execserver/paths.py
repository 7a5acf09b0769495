"""Pure. file: URIs and native paths, into each other.

URIs are read as browsers read them: spaces and letters of any script may stand unescaped, `.` and `..` are resolved
before the path means anything, bytes that are no UTF-8 travel as %FF. A native absolute path is taken as its URI. Paths
are text with surrogates for such bytes, as Python's os module wants them.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes


class BadPath(ValueError):
    """This names no file; the text says why."""


class ForeignPath(BadPath):
    """A path of another kind of machine: a host name or a drive letter."""


SAFE_IN_PATH: Final = "/!$&'()*+,;=:@-._~[]^|"
"""What stays as it is in the path of a URI; the rest is percent-encoded."""

SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
DRIVE: Final = re.compile(r"/?[a-zA-Z][:|](/|$)")
PLAIN: Final = re.compile(r"file://((?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._+@=,-]+)+)")
"""What nearly all URIs look like: nothing to unescape, resolve or refuse. (A drive letter has a colon.)"""

DOT: Final = frozenset({".", "%2e"})
DOT_DOT: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})


def path_from_uri(text: str) -> str:
    """The native path of a file: URI or of a native absolute path. Raises BadPath."""
    if plain := PLAIN.fullmatch(text):
        return plain[1]
    if text.startswith("/"):
        return path_from_uri("file://" + quote(text.encode("utf-8", "surrogateescape"), safe=SAFE_IN_PATH))
    cleaned = re.sub(r"[\t\n\r]", "", text.strip("".join(map(chr, range(0x21)))))
    scheme = SCHEME.match(cleaned)
    if scheme is None:
        raise BadPath("invalid URI: relative URL without a base")
    if scheme[1].lower() != "file":
        raise BadPath(f"unsupported path URI scheme `{scheme[1].lower()}`")
    rest = cleaned[scheme.end() :].replace("\\", "/")
    for sign, name in (("?", "query parameters"), ("#", "fragments")):
        if sign in rest:
            raise BadPath(f"{name} are not allowed in path URIs")
    return _native(_path_of(rest, text), text)


def _path_of(rest: str, whole: str) -> str:
    if not rest.startswith("//"):
        return rest
    authority, slash, path = rest[2:].partition("/")
    if "@" in authority or ":" in authority:
        raise BadPath("credentials and ports are not allowed in path URIs")
    if authority.lower() not in ("", "localhost"):
        raise ForeignPath(f"'{whole}' is invalid on 'linux'")
    return slash + path


def _native(path: str, whole: str) -> str:
    if DRIVE.match(path):
        raise ForeignPath(f"'{whole}' is invalid on 'linux'")
    decoded = unquote_to_bytes("/".join(_resolved(path)))
    if b"\0" in decoded:
        raise BadPath(f"'{whole}' is invalid on 'linux'")
    # A slash at the end means nothing, as with the real server: the path of a file may have one.
    return "/" + decoded.decode("utf-8", "surrogateescape").strip("/")


def _resolved(path: str) -> list[str]:
    kept: list[str] = []
    parts = path.split("/")
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part.lower() in DOT_DOT:
            if kept:
                kept.pop()
            if is_last:
                kept.append("")
        elif part.lower() in DOT:
            if is_last:
                kept.append("")
        elif part or is_last:
            kept.append(part)
    return kept


def uri_from_path(path: str) -> str:
    """The file: URI of a native absolute path."""
    return "file://" + quote(path.encode("utf-8", "surrogateescape"), safe=SAFE_IN_PATH)
