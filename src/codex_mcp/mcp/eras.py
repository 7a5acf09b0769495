"""Pure. Which era a request belongs to, and whether it keeps that era's rules.

    request                                                     era
    ----------------------------------------------------------  -------------------------------------------------
    `initialize`                                                handshake
    no protocol version in `_meta`, and not `server/…`          handshake
    a version that we support, and the client's capabilities    stateless
    a version that we do not support                            refused, -32022, with the supported versions
    no capabilities, or `server/…` without a version            refused, -32602

Over HTTP the header decides first. Without `MCP-Protocol-Version`, or with a version of the handshake era, a request
belongs to that era; otherwise headers and `_meta` must agree (-32020).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, ErrorObject, Request

VERSION_HEADER: Final = "mcp-protocol-version"
METHOD_HEADER: Final = "mcp-method"
NAME_HEADER: Final = "mcp-name"

NAMED_BY: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods with the header `Mcp-Name`, and the parameter that it repeats."""

ENCODED_PREFIX: Final = "=?base64?"
ENCODED_SUFFIX: Final = "?="
"""Around a header value that is not plain ASCII."""


class Handshake(Struct, frozen=True):
    """The request belongs to a session that begins with `initialize`."""


class Stateless(Struct, frozen=True):
    """The request describes its client itself."""

    revision: str
    capabilities: Mapping[str, object]
    client: mcp.ClientInfo | None = None
    log_level: object = None
    """Set if the client wants log messages while its request runs."""


class OutOfRules(Struct, frozen=True):
    error: ErrorObject


Era: TypeAlias = Handshake | Stateless | OutOfRules


class _Meta(Struct):
    version: object = msgspec.field(default=None, name=mcp.VERSION_KEY)
    capabilities: object = msgspec.field(default=None, name=mcp.CAPABILITIES_KEY)
    client: object = msgspec.field(default=None, name=mcp.CLIENT_KEY)
    log_level: object = msgspec.field(default=None, name=mcp.LOG_LEVEL_KEY)


class _Params(Struct):
    meta: _Meta = msgspec.field(default_factory=_Meta, name="_meta")
    name: object = None
    uri: object = None
    taskId: object = None


_decoder = msgspec.json.Decoder(_Params)


def era_of(request: Request) -> Era:
    """The era of a request over stdio, the bus or a WebSocket, where both eras are served."""
    if request.method == "initialize":
        return Handshake()
    params = _read(request.params)
    if params.meta.version is None and not request.method.startswith("server/"):
        return Handshake()
    return _checked(params.meta)


def is_stateless_header(version: str | None) -> bool:
    """Does this header announce a stateless request? An unknown version is taken for a newer one."""
    return version is not None and version not in mcp.REVISIONS


def era_over_http(request: Request, headers: Mapping[str, str]) -> Era:
    """The era of a stateless request over HTTP, whose headers must agree with its body. Header names are lower case."""
    params = _read(request.params)
    if params.meta.version is None or params.meta.capabilities is None:
        return _checked(params.meta)
    if headers.get(VERSION_HEADER, "").strip() != params.meta.version:
        return _mismatch(VERSION_HEADER, "the protocol version in _meta")
    if headers.get(METHOD_HEADER, "").strip() != request.method:
        return _mismatch(METHOD_HEADER, "the method of the request")
    key = NAMED_BY.get(request.method)
    value = None if key is None else getattr(params, key)
    if value is not None and decoded_header(headers.get(NAME_HEADER, "")) != value:
        return _mismatch(NAME_HEADER, f"the parameter {key}")
    return _checked(params.meta)


def stateless_caller(principal: str, era: Era, user_agent: str) -> str:
    """What identifies a stateless client across its requests: its principal, and what it says about itself."""
    client = era.client if isinstance(era, Stateless) else None
    said = (client.name, client.version) if client is not None else ("", "")
    return msgspec.json.encode((principal, *said, user_agent)).decode()


def decoded_header(value: str) -> str:
    value = value.strip()
    if not (value.startswith(ENCODED_PREFIX) and value.endswith(ENCODED_SUFFIX)):
        return value
    inner = value[len(ENCODED_PREFIX) : -len(ENCODED_SUFFIX)]
    try:
        return base64.b64decode(inner, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return value


def _read(params: Raw) -> _Params:
    try:
        return _decoder.decode(params)
    except msgspec.ValidationError:
        return _Params()


def _checked(meta: _Meta) -> Era:
    if meta.version is None:
        return _invalid(f"_meta must name {mcp.VERSION_KEY}")
    if meta.capabilities is None:
        return _invalid(f"_meta must name {mcp.CAPABILITIES_KEY}")
    if not isinstance(meta.version, str) or not isinstance(meta.capabilities, dict):
        return _invalid("the protocol version must be a text, and the client's capabilities an object")
    if meta.version not in mcp.STATELESS_REVISIONS:
        return OutOfRules(unsupported(meta.version))
    return Stateless(meta.version, meta.capabilities, _client(meta.client), meta.log_level)


def unsupported(requested: str, supported: Sequence[str] = (*mcp.STATELESS_REVISIONS, *mcp.REVISIONS)) -> ErrorObject:
    return ErrorObject(
        mcp.UNSUPPORTED_VERSION,
        f"Unsupported protocol version: {requested}",
        {"supported": list(supported), "requested": requested},
    )


def _client(value: object) -> mcp.ClientInfo | None:
    try:
        return msgspec.convert(value, mcp.ClientInfo)
    except msgspec.ValidationError:
        return None


def _invalid(why: str) -> OutOfRules:
    return OutOfRules(ErrorObject(INVALID_PARAMS, f"Invalid params: {why}"))


def _mismatch(header: str, what: str) -> OutOfRules:
    return OutOfRules(ErrorObject(mcp.HEADER_MISMATCH, f"Header mismatch: {header} does not agree with {what}"))
