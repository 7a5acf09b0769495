"""Pure. The exec-server's error answers, and which code an error of the operating system gets.

Texts of the operating system have Codex's format ("No such file or directory (os error 2)"): Codex shows them to its
model.
"""

from __future__ import annotations

import errno
from functools import partial
from typing import Final

from codex_mcp.rpc.errors import RequestFailed, request_failed
from codex_mcp.wire.exec.protocol import ALREADY_ATTACHED, NOT_FOUND
from codex_mcp.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

REFUSED_ERRNOS: Final = frozenset({errno.EACCES, errno.EPERM, errno.EINVAL})
"""Permission denied and invalid input are -32600; everything else is -32603."""

MUSL_TEXTS: Final = {errno.ELOOP: "Symbolic link loop"}
"""Where the real server's C library has another text than ours."""

invalid_request: Final = partial(request_failed, INVALID_REQUEST)
invalid_params: Final = partial(request_failed, INVALID_PARAMS)
internal_error: Final = partial(request_failed, INTERNAL_ERROR)
not_found: Final = partial(request_failed, NOT_FOUND)


def unknown_method(method: str) -> RequestFailed:
    return request_failed(METHOD_NOT_FOUND, f"exec-server stub does not implement `{method}` yet")


def already_attached(session_id: str) -> RequestFailed:
    return request_failed(ALREADY_ATTACHED, f"session {session_id} is already attached to another connection")


def os_error_text(error: OSError) -> str:
    if error.errno is None:
        return str(error) or type(error).__name__  # raised by Python itself
    return f"{MUSL_TEXTS.get(error.errno, error.strerror)} (os error {error.errno})"


def file_error(error: OSError) -> RequestFailed:
    text = os_error_text(error)
    if error.errno == errno.ENOENT:
        return not_found(text)
    if error.errno in REFUSED_ERRNOS:
        return invalid_request(text)
    return internal_error(text)
