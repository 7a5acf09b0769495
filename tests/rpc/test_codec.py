"""Bytes become messages, or say why they do not; messages become bytes."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from codex_mcp.rpc.codec import (
    LONGEST_ID,
    decode,
    encode_error,
    encode_notification,
    encode_request,
    encode_response,
)
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

IDS: st.SearchStrategy[Id] = st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"])))
VALUES: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
TOO_DEEP = 100_000


def envelope(**fields: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields})


def refusal(frame: bytes) -> tuple[Id | None, int]:
    message = decode(frame)
    assert isinstance(message, Malformed)
    assert message.reason
    return message.id, message.code


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}', Request(1, "m", Raw(b'{"a":1}'))),
        (b'{"jsonrpc":"2.0","id":"x","method":"m"}', Request("x", "m", NO_PARAMS)),
        (b'{"jsonrpc":"2.0","id":"","method":""}', Request("", "", NO_PARAMS)),
        (b'{"jsonrpc":"2.0","id":-7,"method":"m","params":null}', Request(-7, "m", NO_PARAMS)),
        (b'{"jsonrpc":"2.0","id":0,"method":"m","params":[]}', Request(0, "m", Raw(b"[]"))),
        (b'{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}', Request(2**64, "m", NO_PARAMS)),
        (b'  {"jsonrpc" : "2.0", "method" : "m"}\r\n', Notification("m", NO_PARAMS)),
        (b'{"jsonrpc":"2.0","method":"m","params":{},"more":[1]}', Notification("m", Raw(b"{}"))),
        (b'{"jsonrpc":"2.0","id":3,"result":null}', Response(3, Raw(b"null"))),
        (b'{"jsonrpc":"2.0","id":3,"result":{},"error":null}', Response(3, Raw(b"{}"))),
        (
            b'{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}',
            ErrorResponse(3, ErrorObject(-1, "no")),
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no","data":[1]}}',
            ErrorResponse(None, ErrorObject(-1, "no", [1])),
        ),
    ],
)
def test_every_kind_of_message_is_read(frame: bytes, message: Message) -> None:
    assert decode(frame) == message


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"   ",
        b"hello",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","id":1,"method":"ping",}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\xc3"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"\\x41"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"a\nb"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[1,2}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":01}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * TOO_DEEP + b"]" * TOO_DEEP + b"}",
        b'{"a":' * TOO_DEEP,
    ],
)
def test_what_is_not_json_or_nested_too_deeply_is_a_parse_error(frame: bytes) -> None:
    assert refusal(frame) == (None, PARSE_ERROR)


@pytest.mark.parametrize(
    "frame", [b"[]", b' [{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"null", b"true", b"7", b'"x"']
)
def test_a_batch_or_a_bare_value_is_no_request(frame: bytes) -> None:
    assert refusal(frame) == (None, INVALID_REQUEST)


def test_who_sends_a_batch_is_told_that_this_is_the_trouble() -> None:
    batch, scalar = decode(b'[{"id":1}]'), decode(b"7")
    assert isinstance(batch, Malformed)
    assert isinstance(scalar, Malformed)
    assert "batches are not supported" in batch.reason
    assert "a message is a JSON object" in scalar.reason


@pytest.mark.parametrize(
    ("fields", "message_id"),
    [
        ({"id": 1, "method": "m", "jsonrpc": "1.0"}, 1),
        ({"id": 1, "method": "m", "jsonrpc": 2.0}, 1),
        ({"id": 1, "method": "m", "jsonrpc": None}, 1),
        ({"id": None, "method": "m"}, None),
        ({"id": 1.5, "method": "m"}, None),
        ({"id": 1.0, "method": "m"}, None),
        ({"id": True, "method": "m"}, None),
        ({"id": {}, "method": "m"}, None),
        ({"id": [1], "method": "m"}, None),
        ({"id": 1, "method": None}, 1),
        ({"id": 1, "method": 5}, 1),
        ({"method": 5}, None),
        ({"id": 1}, 1),
        ({}, None),
        ({"result": {}}, None),
        ({"id": None, "result": {}}, None),
        ({"id": 1, "params": {}}, 1),
    ],
)
def test_an_object_that_is_no_message_is_refused_by_its_id_if_it_has_one(
    fields: dict[str, object], message_id: Id | None
) -> None:
    assert refusal(envelope(**fields)) == (message_id, INVALID_REQUEST)


def test_an_id_that_would_make_every_answer_long_is_refused() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":"%b","method":"ping"}' % (b"x" * LONGEST_ID)) == Request(
        "x" * LONGEST_ID, "ping", NO_PARAMS
    )
    refused = decode(b'{"jsonrpc":"2.0","id":"%b","method":"ping"}' % (b"x" * (LONGEST_ID + 1)))
    assert isinstance(refused, Malformed)
    assert refused.id is None
    assert "at most 1024 characters" in refused.reason


def test_the_version_is_asked_for_only_where_it_is_required() -> None:
    frame = b'{"id":1,"method":"m"}'
    assert refusal(frame) == (1, INVALID_REQUEST)
    assert decode(frame, version_required=False) == Request(1, "m", NO_PARAMS)


@pytest.mark.parametrize("error", [None, "no", 5, [], {}, {"code": "x", "message": "no"}, {"code": 1}])
def test_an_error_that_cannot_be_read_still_ends_the_wait(error: object) -> None:
    message = decode(envelope(id=4, error=error))
    assert isinstance(message, ErrorResponse)
    assert (message.id, message.error.code, message.error.data) == (4, INTERNAL_ERROR, error)


@given(st.binary() | VALUES.map(msgspec.json.encode), st.booleans())
def test_any_bytes_become_a_message_or_a_refusal(frame: bytes, version_required: bool) -> None:  # noqa: FBT001
    assert isinstance(decode(frame, version_required=version_required), Message)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), VALUES))
def test_whatever_stands_in_an_envelope_can_be_answered_under_its_id(fields: dict[str, object]) -> None:
    message = decode(msgspec.json.encode(fields), version_required=False)
    if not isinstance(message, Notification):
        assert msgspec.json.decode(encode_error(message.id, ErrorObject(1, "no")))["id"] == message.id


@given(IDS, st.text("ab/", max_size=5), VALUES)
def test_what_is_written_is_read_again(message_id: Id, method: str, value: object) -> None:
    raw = Raw(msgspec.json.encode(value))
    params = NO_PARAMS if value is None else raw
    error = ErrorObject(-5, method, value)

    assert decode(encode_request(message_id, method, raw)) == Request(message_id, method, params)
    assert decode(encode_request(message_id, method, value)) == Request(message_id, method, params)
    assert decode(encode_notification(method, value)) == Notification(method, params)
    assert decode(encode_response(message_id, value)) == Response(message_id, raw)
    assert decode(encode_error(message_id, error)) == ErrorResponse(message_id, error)


def test_what_is_not_given_is_not_written() -> None:
    assert encode_notification("m") == b'{"method":"m","jsonrpc":"2.0"}'
    assert encode_error(None, ErrorObject(1, "no")) == b'{"id":null,"error":{"code":1,"message":"no"},"jsonrpc":"2.0"}'


@given(VALUES)
def test_a_message_is_always_one_line(value: object) -> None:
    assert b"\n" not in encode_response(1, value)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"cut here: \uD83D", "cut here: \ufffd"),
        (rb"\ude00 and on", "\ufffd and on"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83d\u0041", "\ufffdA"),
        (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
    ],
)
def test_a_text_that_was_cut_inside_of_a_character_is_read(sent: bytes, read: str) -> None:
    message = decode(b'{"jsonrpc":"2.0","id":7,"method":"m","params":["%b"]}' % sent)
    assert isinstance(message, Request)
    assert message.id == 7
    assert msgspec.json.decode(message.params) == [read]


@given(st.text(), st.integers(0, 100), st.integers(0, 100))
def test_a_text_cut_anywhere_by_a_javascript_client_is_read_as_others_read_it(text: str, start: int, end: int) -> None:
    units = text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end]
    cut = units.decode("utf-16-le", "surrogatepass")
    message = decode(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "m", "params": [cut]}).encode())
    assert isinstance(message, Request)
    assert msgspec.json.decode(message.params) == [units.decode("utf-16-le", "replace")]


@pytest.mark.parametrize("end", [rb"\ud8", b"\\", rb"\ud83d\u", b'"', rb"\ud83dz"])
def test_what_is_no_json_is_not_looked_through_again_and_again(end: bytes) -> None:
    """With a look at all the rest for each of its bytes, this would take minutes."""
    assert refusal(b"\\\\a" * 400_000 + end) == (None, PARSE_ERROR)
