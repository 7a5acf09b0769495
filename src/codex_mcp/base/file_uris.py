"""Pure. Converts between file: URIs and absolute POSIX paths.

URIs are parsed as browsers parse them: spaces and non-ASCII letters may be unescaped, `.` and `..` are resolved, and
bytes that are not UTF-8 are written as %FF. Paths hold such bytes as surrogates, as Python's os module does.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes


class BadPath(ValueError):
    """Not the path of a file; the message says why."""


class ForeignPath(BadPath):
    """A path of another machine or operating system: it has a host name or a drive letter."""


SAFE_IN_PATH: Final = "/!$&'()*+,;=:@-._~[]^|"
"""Characters of a path that are not percent-encoded."""

SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
DRIVE: Final = re.compile(r"/?[a-zA-Z][:|](/|$)")
PLAIN: Final = re.compile(r"file://((?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._+@=,-]+)+)")
"""Fast path for most URIs: nothing to unescape, resolve or refuse. (A drive letter has a colon.)"""

DOT: Final = frozenset({".", "%2e"})
DOT_DOT: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})


def path_from_uri(text: str) -> str:
    """The path of a file: URI. An absolute path is accepted as well. Raises BadPath."""
    if plain := PLAIN.fullmatch(text):
        return plain[1]
    if text.startswith("/"):
        return path_from_uri(uri_from_path(text))
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
    # A trailing slash is ignored, as the real exec-server does.
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


def uri_from_path(path: str, safe: str = SAFE_IN_PATH) -> str:
    """The file: URI of an absolute path. Characters that are not in `safe` are percent-encoded."""
    return "file://" + quote(path.encode("utf-8", "surrogateescape"), safe=safe)
