import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.execserver.envelope import (
    KEYS_CHECKED_BYTES,
    MAX_VALUES,
    UnreadableMessage,
    encode_error,
    encode_notification,
    encode_result,
    encode_unreadable,
    read_message,
)
from codex_mcp.wire.jsonrpc import ErrorObject, ErrorResponse, Notification, Request, Response


def test_the_four_kinds_of_messages_are_told_apart_by_their_keys() -> None:
    assert read_message(b'{"id": -5, "method": "m", "params": [1]}') == Request(-5, "m", Raw(b"[1]"))
    assert read_message(b'{"jsonrpc": "2.0", "id": "a", "method": "m", "more": 1}') == Request("a", "m", Raw(b"null"))
    assert read_message(b'{"method": "m"}') == Notification("m", Raw(b"null"))
    assert read_message(b'{"id": 1, "result": {}}') == Response(1, Raw(b"{}"))
    assert read_message(b'{"id": 1, "error": {"code": 2, "message": "x"}}') == ErrorResponse(1, ErrorObject(2, "x"))


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (b"[]", "expected a JSON-RPC object"),
        (b'"str"', "expected a JSON-RPC object"),
        (b"{}", "missing field `error`"),
        (b'{"id": 7}', "missing field `error`"),
        (b'{"id": null, "method": "m"}', "data did not match any variant of untagged enum RequestId"),
        (b'{"id": 1.5, "method": "m"}', "data did not match any variant of untagged enum RequestId"),
        (b'{"id": true, "method": "m"}', "data did not match any variant of untagged enum RequestId"),
        (b'{"id": 9223372036854775808, "method": "m"}', "data did not match any variant of untagged enum RequestId"),
        (b'{"id": 1, "id": 2, "method": "m"}', "duplicate JSON object key `id`"),
        (b'{"id": 1, "method": "m", "params": {"a": {"b": 1, "b": 2}}}', "duplicate JSON object key `b`"),
        (b' \n\t{"id": 1, "method": "m", "method": "m"} ', "duplicate JSON object key `method`"),
        (b'{"id": 11, "method": 5}', "invalid type for `method`, expected a string"),
        (b'{"result": 1}', "data did not match any variant of untagged enum RequestId"),
    ],
)
def test_what_is_no_message_is_unreadable(frame: bytes, why: str) -> None:
    assert read_message(frame) == UnreadableMessage(why)


@pytest.mark.parametrize("frame", [b"", b"{", b"{not json", b'{"id": 1, "method": "\xff"}', b"[" * 100_000])
def test_what_is_no_json_is_unreadable(frame: bytes) -> None:
    assert isinstance(read_message(frame), UnreadableMessage)


def test_values_are_counted_in_long_messages() -> None:
    # The object itself, its id, its method and the list are four of them.
    many = {"id": 1, "method": "m", "params": [[]] * (MAX_VALUES - 4)}
    assert isinstance(read_message(json.dumps(many).encode()), Request)
    many["params"] = [[]] * (MAX_VALUES - 3)
    assert read_message(json.dumps(many).encode()) == UnreadableMessage(
        f"JSON-RPC message contains more than {MAX_VALUES} values"
    )


def test_long_messages_are_read_without_looking_for_keys_twice() -> None:
    frame = b'{"id": 1, "method": "m", "params": {"a": 1, "a": "%b"}}' % (b"x" * KEYS_CHECKED_BYTES)
    assert isinstance(read_message(frame), Request)


@given(st.binary())
def test_no_bytes_break_the_reader(frame: bytes) -> None:
    assert isinstance(read_message(frame), Request | Notification | Response | ErrorResponse | UnreadableMessage)


def test_messages_leave_without_a_version() -> None:
    assert encode_result(1, {}) == b'{"id":1,"result":{}}'
    assert encode_error("a", -32600, "no") == b'{"error":{"code":-32600,"message":"no"},"id":"a"}'
    assert encode_unreadable("no") == b'{"error":{"code":-32600,"message":"no"},"id":-1}'
    assert encode_notification("m", [1]) == b'{"method":"m","params":[1]}'


def test_what_is_nested_too_deeply_or_has_no_proper_error_is_unreadable() -> None:
    deep = b'{"method": "m", "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    assert read_message(deep) == UnreadableMessage("recursion limit exceeded")
    unreadable = read_message(b'{"id": 1, "error": {"code": "x"}}')
    assert isinstance(unreadable, UnreadableMessage)
    assert "code" in unreadable.reason
