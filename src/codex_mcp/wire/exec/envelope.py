"""Pure. The exec-server's messages and the bytes they are: JSON-RPC without a version, read strictly.

    bytes                                              read_message() gives
    -------------------------------------------------  -------------------------------------------
    {"method": …, "id": …}                             Call
    {"method": …}                                      Note
    {"result": …} or {"error": {…}}, with an id        Reply
    anything else, a key twice, too many values        Unreadable, to be answered with id -1

`params` stays undecoded; whoever knows the method knows its type.
"""

from __future__ import annotations

import json
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.exec.protocol import UNREADABLE_ID
from codex_mcp.wire.jsonrpc import INVALID_REQUEST, ErrorObject, Id

MAX_VALUES: Final = 262_144
"""JSON values in one message, as the real server counts them: millions of tiny ones would fill the memory."""

MIN_BYTES_PER_VALUE: Final = 2
"""A value and the comma after it: a message below MAX_VALUES times this need not be counted."""

KEYS_CHECKED_BYTES: Final = 64 * 1024
"""Longer messages are file contents; looking through them for a key that stands twice would cost more than the rest."""

MIN_ID: Final = -(2**63)
MAX_ID: Final = 2**63 - 1


class Call(Struct, frozen=True):
    """A request."""

    id: Id
    method: str
    params: Raw


class Note(Struct, frozen=True):
    """A notification."""

    method: str
    params: Raw


class Reply(Struct, frozen=True):
    """An answer to a request of this side."""

    id: Id
    result: Raw | None
    error: ErrorObject | None


class Unreadable(Struct, frozen=True):
    """No message; the text says why not."""

    reason: str


Message: TypeAlias = Call | Note | Reply | Unreadable

NO_PARAMS: Final = Raw(b"null")


class _Envelope(Struct):
    id: object = UNSET
    method: object = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: object = UNSET


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_encode = msgspec.json.Encoder().encode


class _KeyTwice(ValueError):
    pass


def read_message(frame: bytes) -> Message:
    """Read one message. Never raises: what is no message comes back as Unreadable."""
    try:
        if not frame.isascii():
            frame.decode()
        envelope = _decode_envelope(frame)
        _check(frame)
    except msgspec.ValidationError:
        return Unreadable("expected a JSON-RPC object")
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        return Unreadable(str(exc) or "EOF while parsing a value at line 1 column 0")
    except RecursionError:
        return Unreadable("recursion limit exceeded")
    except _KeyTwice as exc:
        return Unreadable(str(exc))
    return _classified(envelope)


def _check(frame: bytes) -> None:
    """Look at what the typed decoder skips: keys that stand twice, and the number of values."""
    if len(frame) <= KEYS_CHECKED_BYTES:
        try:
            text = frame.decode()
            _look_for_keys_twice(text, text.index("{"))
        except json.JSONDecodeError as exc:
            raise msgspec.DecodeError(str(exc)) from None
    elif len(frame) > MAX_VALUES * MIN_BYTES_PER_VALUE and _count_values(msgspec.json.decode(frame)) > MAX_VALUES:
        raise msgspec.DecodeError(f"JSON-RPC message contains more than {MAX_VALUES} values")


def _each_once(pairs: list[tuple[str, object]]) -> None:
    if len(pairs) > 1 and len(dict(pairs)) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _KeyTwice(f"duplicate JSON object key `{key}`")
            seen.add(key)


_look_for_keys_twice = json.JSONDecoder(object_pairs_hook=_each_once).raw_decode
"""From the first brace on: that there is an object and nothing else has been seen to already."""


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
            return Unreadable("invalid type for `method`, expected a string")
        if envelope.id is UNSET:
            return Note(envelope.method, envelope.params)
        if not _is_id(envelope.id):
            return Unreadable("data did not match any variant of untagged enum RequestId")
        return Call(envelope.id, envelope.method, envelope.params)  # type: ignore[arg-type]
    return _reply(envelope)


def _reply(envelope: _Envelope) -> Message:
    if envelope.result is UNSET and envelope.error is UNSET:
        return Unreadable("missing field `error`")
    if not _is_id(envelope.id):
        return Unreadable("data did not match any variant of untagged enum RequestId")
    if not isinstance(envelope.result, UnsetType):
        return Reply(envelope.id, envelope.result, None)  # type: ignore[arg-type]
    try:
        return Reply(envelope.id, None, msgspec.convert(envelope.error, ErrorObject))  # type: ignore[arg-type]
    except msgspec.ValidationError as exc:
        return Unreadable(str(exc))


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


class _Request(Struct, frozen=True):
    id: Id
    method: str
    params: object


def encode_result(message_id: Id, result: object) -> bytes:
    """The bytes of an answer."""
    return _encode(_Result(message_id, result))


def encode_error(message_id: Id, code: int, message: str) -> bytes:
    """The bytes of an error."""
    return _encode(_Failure(ErrorObject(code, message), message_id))


def encode_unreadable(reason: str) -> bytes:
    """The bytes of the error that answers what could not be read."""
    return encode_error(UNREADABLE_ID, INVALID_REQUEST, reason)


def encode_notification(method: str, params: object) -> bytes:
    """The bytes of a notification."""
    return _encode(_Notification(method, params))


def encode_request(message_id: Id, method: str, params: object) -> bytes:
    """The bytes of a request."""
    return _encode(_Request(message_id, method, params))
