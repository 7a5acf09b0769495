"""Pure. Absolute paths of the server's machine as file: URIs, and back."""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

from codex_mcp.execclient.errors import ExecServerError


def file_uri(path: str) -> str:
    """The URI of an absolute path; a URI stays what it is. Names that are no UTF-8 come as surrogates."""
    if path.startswith("file:"):
        return path
    if not path.startswith("/"):
        raise ExecServerError(f"cannot use the path {path!r}: it is relative; say where it is on the server's machine")
    return "file://" + quote(path.encode("utf-8", "surrogateescape"))


def file_path(uri: str) -> str:
    """The path of a file: URI without a host."""
    if not uri.startswith("file:///"):
        raise ExecServerError(f"cannot read {uri!r} as a path: it is no file: URI of this kind: file:///absolute/path")
    return unquote_to_bytes(uri.removeprefix("file://")).decode("utf-8", "surrogateescape")
