"""Pure. JSON-RPC 2.0 messages to bytes and back.

    bytes                                    decode() gives
    ---------------------------------------  ---------------------------------------
    {"method": …, "id": …}                   Request
    {"method": …}                            Notification
    {"id": …, "result": …}                   Response
    {"id": …, "error": {…}}                  ErrorResponse
    not JSON, not UTF-8, nested too deeply   Malformed, -32700
    a batch, a bad id, a wrong version, …    Malformed, -32600 (with the id if one can be read)

`params` and `result` stay undecoded (`msgspec.Raw`): their type depends on the method.

JavaScript sends a lone surrogate (`\\ud83d`) for a text that was cut inside an emoji. That is valid JSON but not valid
Unicode; it is read as U+FFFD, so that the call gets an answer.
"""

from __future__ import annotations

import re
from typing import Final, TypeGuard

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from codex_mcp.wire.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NO_PARAMS,
    PARSE_ERROR,
    ErrorObject,
    ErrorResponse,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)


class _Envelope(Struct):
    jsonrpc: object = UNSET
    id: object = UNSET
    method: object = UNSET
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: object = UNSET


LONGEST_ID: Final = 1024
"""Characters of a request's id: it comes back in every message about the request. A UUID has 36."""

_envelope = msgspec.json.Decoder(_Envelope)

_NULL: Final = Raw(b"null")

_SURROGATE: Final = rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
_PAIR: Final = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HARMLESS: Final = rb"(?:[^\\]+|\\[^u]|\\u(?![dD][89a-fA-F])){1,500}"
_PARTS: Final = rb"%b|%b|(%b)|\\.?" % (_HARMLESS, _PAIR, _SURROGATE)
"""A part matches at every byte, so that the text is read once; what is to be replaced is a group. Possessive repetition
would be shorter, but inside of a group it is broken in Python 3.11.2, which Debian 12 has."""


def decode(frame: bytes, *, version_required: bool = True) -> Message:
    """Read one message. Never raises: other input is returned as `Malformed`."""
    try:
        # The decoder does not check Raw parts: a bad byte inside would surface later, as an error elsewhere.
        if not frame.isascii():
            frame.decode()
        envelope = _envelope.decode(frame)
        params = NO_PARAMS if envelope.params == _NULL else envelope.params
        if envelope.id is UNSET and not version_required and isinstance(envelope.method, str):  # most messages of Codex
            return Notification(envelope.method, params)
        return _classify(envelope, params, version_required=version_required)
    except msgspec.ValidationError:
        return Malformed(None, INVALID_REQUEST, _not_an_object(frame))
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        whole = _without_lone_surrogates(frame)
        if whole != frame:
            return decode(whole, version_required=version_required)
        return Malformed(None, PARSE_ERROR, f"Parse error: {exc}")
    except RecursionError:
        return Malformed(None, PARSE_ERROR, "Parse error: the JSON is nested too deeply")


def _without_lone_surrogates(frame: bytes) -> bytes:
    return re.sub(_PARTS, lambda found: rb"\ufffd" if found[1] else found[0], frame, flags=re.DOTALL)


def _not_an_object(frame: bytes) -> str:
    if frame.lstrip()[:1] == b"[":
        return "Invalid Request: batches are not supported, send one message at a time"
    return "Invalid Request: a message is a JSON object"


def _classify(envelope: _Envelope, params: Raw, *, version_required: bool) -> Message:
    raw_id = envelope.id
    message_id = raw_id if _is_id(raw_id) else None
    if version_required and envelope.jsonrpc != "2.0":
        return Malformed(message_id, INVALID_REQUEST, 'Invalid Request: "jsonrpc" must be "2.0"')
    if envelope.method is not UNSET:
        return _classify_call(envelope, message_id, params)
    if envelope.result is not UNSET and message_id is not None:
        return Response(message_id, envelope.result)
    if envelope.error is not UNSET:
        return _classify_error(envelope.error, message_id)
    return Malformed(message_id, INVALID_REQUEST, 'Invalid Request: "method" is missing')


def _classify_call(envelope: _Envelope, message_id: Id | None, params: Raw) -> Message:
    if not isinstance(envelope.method, str):
        return Malformed(message_id, INVALID_REQUEST, 'Invalid Request: "method" must be a string')
    if envelope.id is UNSET:
        return Notification(envelope.method, params)
    if message_id is None:
        reason = f'"id" must be a string of at most {LONGEST_ID} characters or an integer'
        return Malformed(None, INVALID_REQUEST, f"Invalid Request: {reason}")
    return Request(message_id, envelope.method, params)


def _is_id(value: object) -> TypeGuard[Id]:
    if isinstance(value, str):
        return len(value) <= LONGEST_ID
    return isinstance(value, int) and not isinstance(value, bool)


def _classify_error(error: object, message_id: Id | None) -> Message:
    try:
        return ErrorResponse(message_id, msgspec.convert(error, ErrorObject))
    except msgspec.ValidationError:
        # Still an answer: its caller must not wait forever.
        return ErrorResponse(message_id, ErrorObject(INTERNAL_ERROR, "the error object cannot be read", error))


class _WireRequest(Struct, frozen=True):
    id: Id
    method: str
    params: object
    jsonrpc: str = "2.0"


class _WireNotification(Struct, frozen=True, omit_defaults=True):
    method: str
    jsonrpc: str
    params: object = UNSET


class _WireResponse(Struct, frozen=True):
    id: Id
    result: object
    jsonrpc: str = "2.0"


class _WireError(Struct, frozen=True):
    id: Id | None
    error: ErrorObject
    jsonrpc: str = "2.0"


_encode = msgspec.json.Encoder().encode


def encode_request(message_id: Id, method: str, params: object) -> bytes:
    return _encode(_WireRequest(message_id, method, params))


def encode_notification(method: str, params: object = UNSET) -> bytes:
    return _encode(_WireNotification(method, "2.0", params))


def encode_response(message_id: Id, result: object) -> bytes:
    return _encode(_WireResponse(message_id, result))


def encode_error(message_id: Id | None, error: ErrorObject) -> bytes:
    return _encode(_WireError(message_id, error))
