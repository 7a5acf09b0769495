"""Pure. The messages of JSON-RPC 2.0. `rpc.codec` reads and writes them."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import UNSET, Raw, Struct

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# The code that LSP and the app-server use for "not now, try again".
SERVER_BUSY: Final = -32001

Id: TypeAlias = int | str


class ErrorObject(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: object = UNSET


class Request(Struct, frozen=True):
    id: Id
    method: str
    params: Raw
    traceparent: str = ""
    """The trace it belongs to, if an HTTP header names one."""


class Notification(Struct, frozen=True):
    method: str
    params: Raw


class Response(Struct, frozen=True):
    id: Id
    result: Raw


class ErrorResponse(Struct, frozen=True):
    """Without an id, the other side could not read the request."""

    id: Id | None
    error: ErrorObject


class Malformed(Struct, frozen=True):
    """Bytes that are not a message. `id` is set if the request can be identified."""

    id: Id | None
    code: int
    reason: str


Message: TypeAlias = Request | Notification | Response | ErrorResponse | Malformed

NO_PARAMS: Final = Raw(b"{}")
