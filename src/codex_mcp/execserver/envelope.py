"""Pure. Decodes and encodes the exec-server's messages: JSON-RPC without a version, parsed strictly.

    bytes                                              read_message() returns
    -------------------------------------------------  -------------------------------------------
    {"method": …, "id": …}                             Request
    {"method": …}                                      Notification
    {"result": …} or {"error": {…}}, with an id        Response or ErrorResponse
    anything else, duplicate keys, too many values     UnreadableMessage, to be answered with id -1

`params` stays undecoded, because its type depends on the method.
"""

from __future__ import annotations

import json
from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.exec.protocol import UNREADABLE_ID
from codex_mcp.wire.jsonrpc import (
    INVALID_REQUEST,
    ErrorObject,
    ErrorResponse,
    Id,
    Notification,
    Request,
    Response,
)

MAX_VALUES: Final = 262_144
"""JSON values in one message, as the real server counts them: millions of small ones would fill the memory."""

MIN_BYTES_PER_VALUE: Final = 2
"""A value and its comma: values of a message shorter than MAX_VALUES times this are not counted."""

KEYS_CHECKED_BYTES: Final = 64 * 1024
"""Longer messages contain files; checking them for duplicate keys would cost more than all the rest."""

MIN_ID: Final = -(2**63)
MAX_ID: Final = 2**63 - 1


class UnreadableMessage(Struct, frozen=True):
    """Not a message; `reason` says why."""

    reason: str


Message: TypeAlias = Request | Notification | Response | ErrorResponse | UnreadableMessage


class SendMessage(Protocol):
    """Queues one message, given in pieces, for a client."""

    def __call__(self, *parts: bytes) -> None: ...


NO_PARAMS: Final = Raw(b"null")


class _Envelope(Struct):
    id: object = UNSET
    method: object = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: object = UNSET


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_encode = msgspec.json.Encoder().encode


class _DuplicateKey(ValueError):
    pass


def read_message(frame: bytes) -> Message:
    """Decode one message. Never raises."""
    try:
        if not frame.isascii():
            frame.decode()
        envelope = _decode_envelope(frame)
        _check(frame)
    except msgspec.ValidationError:
        return UnreadableMessage("expected a JSON-RPC object")
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return UnreadableMessage(str(exc) or "EOF while parsing a value at line 1 column 0")
    except RecursionError:
        return UnreadableMessage("recursion limit exceeded")
    except _DuplicateKey as exc:
        return UnreadableMessage(str(exc))
    return _classified(envelope)


def _check(frame: bytes) -> None:
    """Check what the typed decoder does not: duplicate keys, and the number of values."""
    if len(frame) <= KEYS_CHECKED_BYTES:
        try:
            text = frame.decode()
            _find_duplicate_keys(text, text.index("{"))
        except json.JSONDecodeError as exc:
            raise msgspec.DecodeError(str(exc)) from None
    elif len(frame) > MAX_VALUES * MIN_BYTES_PER_VALUE and _count_values(msgspec.json.decode(frame)) > MAX_VALUES:
        raise msgspec.DecodeError(f"JSON-RPC message contains more than {MAX_VALUES} values")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(f"duplicate JSON object key `{key}`")
            seen.add(key)


_find_duplicate_keys = json.JSONDecoder(object_pairs_hook=_refuse_duplicates).raw_decode
"""From the first brace: it is already known that the frame is one object."""


def _count_values(value: object) -> int:
    count, left = 0, [value]
    while left:
        item = left.pop()
        count += 1
        if isinstance(item, dict):
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
    return count


def _classified(envelope: _Envelope) -> Message:
    if envelope.method is not UNSET:
        if not isinstance(envelope.method, str):
            return UnreadableMessage("invalid type for `method`, expected a string")
        if envelope.id is UNSET:
            return Notification(envelope.method, envelope.params)
        if not _is_id(envelope.id):
            return UnreadableMessage("data did not match any variant of untagged enum RequestId")
        return Request(envelope.id, envelope.method, envelope.params)  # type: ignore[arg-type]
    if envelope.result is UNSET and envelope.error is UNSET:
        return UnreadableMessage("missing field `error`")
    if not _is_id(envelope.id):
        return UnreadableMessage("data did not match any variant of untagged enum RequestId")
    if not isinstance(envelope.result, UnsetType):
        return Response(envelope.id, envelope.result)  # type: ignore[arg-type]
    try:
        return ErrorResponse(envelope.id, msgspec.convert(envelope.error, ErrorObject))  # type: ignore[arg-type]
    except msgspec.ValidationError as exc:
        return UnreadableMessage(str(exc))


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return True
    return isinstance(value, int) and not isinstance(value, bool) and MIN_ID <= value <= MAX_ID


class _Result(Struct, frozen=True):
    id: Id
    result: object


class _Failure(Struct, frozen=True):
    error: ErrorObject
    id: Id


class _Notification(Struct, frozen=True):
    method: str
    params: object


def encode_result(message_id: Id, result: object) -> bytes:
    return _encode(_Result(message_id, result))


def encode_error(message_id: Id, code: int, message: str) -> bytes:
    return _encode(_Failure(ErrorObject(code, message), message_id))


def encode_unreadable(reason: str) -> bytes:
    """The error that answers an unreadable message."""
    return encode_error(UNREADABLE_ID, INVALID_REQUEST, reason)


def encode_notification(method: str, params: object) -> bytes:
    return _encode(_Notification(method, params))
