"""Pure. What the exec-server answers when it will not or cannot: the codes, and the operating system's errors as codes.

Texts of the operating system are Codex's own ("No such file or directory (os error 2)"), since Codex shows them to its
model, and models know them.
"""

from __future__ import annotations

import errno
from typing import Final

from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.protocol import ALREADY_ATTACHED, NOT_FOUND
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ErrorObject

REFUSED_ERRNOS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EINVAL})
"""Permission denied and invalid input are the client's fault (-32600); everything else is -32603."""

MUSL_TEXTS: Final = {errno.ELOOP: "Symbolic link loop"}
"""Where the C library of the real server words it differently from ours."""


def invalid_request(text: str) -> RequestFailed:
    """It makes no sense now, or names something that there is not."""
    return RequestFailed(ErrorObject(INVALID_REQUEST, text))


def invalid_params(text: str) -> RequestFailed:
    """The parameters cannot be read, or ask for what cannot be."""
    return RequestFailed(ErrorObject(INVALID_PARAMS, text))


def internal_error(text: str) -> RequestFailed:
    """It was tried, and failed."""
    return RequestFailed(ErrorObject(INTERNAL_ERROR, text))


def not_found(text: str) -> RequestFailed:
    """There is no such file."""
    return RequestFailed(ErrorObject(NOT_FOUND, text))


def unknown_method(method: str) -> RequestFailed:
    """Nobody here does that."""
    return RequestFailed(ErrorObject(METHOD_NOT_FOUND, f"exec-server stub does not implement `{method}` yet"))


def already_attached(session_id: str) -> RequestFailed:
    """Another connection still speaks for the session."""
    text = f"session {session_id} is already attached to another connection"
    return RequestFailed(ErrorObject(ALREADY_ATTACHED, text))


def os_error_text(error: OSError) -> str:
    """The operating system's words, with the number."""
    if error.errno is None:
        return str(error) or type(error).__name__  # an error that Python raises itself
    return f"{MUSL_TEXTS.get(error.errno, error.strerror)} (os error {error.errno})"


def file_error(error: OSError) -> RequestFailed:
    """The answer to a file request that the operating system refused."""
    text = os_error_text(error)
    if error.errno == errno.ENOENT:
        return not_found(text)
    if error.errno in REFUSED_ERRNOS:
        return invalid_request(text)
    return internal_error(text)
