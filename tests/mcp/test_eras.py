"""Every row of the table: which era a request is of, and what it is told if it keeps no rules."""

import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.mcp.eras import (
    Handshake,
    OutOfRules,
    Stateless,
    decoded_header,
    era_of,
    era_over_http,
    is_stateless_header,
)
from codex_mcp.wire import mcp
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, Request
from tests.support.json_values import JSON_VALUES

VERSION = "2026-07-28"
META: dict[str, Any] = {mcp.VERSION_KEY: VERSION, mcp.CAPABILITIES_KEY: {"sampling": {}}}

HANDSHAKE = "handshake"
STATELESS = "stateless"


def request(method: str, params: object) -> Request:
    return Request(1, method, msgspec.Raw(msgspec.json.encode(params)))


def verdict(era: object) -> str | int:
    match era:
        case Handshake():
            return HANDSHAKE
        case Stateless():
            return STATELESS
        case OutOfRules(error=error):
            return error.code
    raise AssertionError(era)


@pytest.mark.parametrize(
    ("method", "meta", "expected"),
    [
        ("initialize", {}, HANDSHAKE),
        ("initialize", META, HANDSHAKE),
        ("tools/list", {}, HANDSHAKE),
        ("tools/list", {"progressToken": 1}, HANDSHAKE),
        ("tools/list", {mcp.CAPABILITIES_KEY: {}}, HANDSHAKE),
        ("tools/list", META, STATELESS),
        ("server/discover", META, STATELESS),
        ("tools/list", {mcp.VERSION_KEY: VERSION}, INVALID_PARAMS),
        ("tools/list", {**META, mcp.CAPABILITIES_KEY: []}, INVALID_PARAMS),
        ("tools/list", {**META, mcp.VERSION_KEY: 20260728}, INVALID_PARAMS),
        ("server/discover", {}, INVALID_PARAMS),
        ("server/discover", {mcp.CAPABILITIES_KEY: {}}, INVALID_PARAMS),
        ("tools/list", {**META, mcp.VERSION_KEY: "2027-01-01"}, mcp.UNSUPPORTED_VERSION),
        ("tools/list", {**META, mcp.VERSION_KEY: "2025-06-18"}, mcp.UNSUPPORTED_VERSION),
    ],
)
def test_on_a_pipe_the_request_tells_its_era(method: str, meta: object, expected: object) -> None:
    assert verdict(era_of(request(method, {"_meta": meta}))) == expected


@given(JSON_VALUES, st.sampled_from(["tools/call", "server/discover", "ping"]))
def test_whatever_the_parameters_are_there_is_a_verdict(params: object, method: str) -> None:
    assert verdict(era_of(request(method, params))) in {HANDSHAKE, INVALID_PARAMS}
    assert verdict(era_over_http(request(method, params), {})) == INVALID_PARAMS


def test_a_stateless_request_brings_its_client_along() -> None:
    meta = {**META, mcp.CLIENT_KEY: {"name": "ada", "version": "7", "title": "Ada"}}
    era = era_of(request("tools/list", {"_meta": meta}))
    assert era == Stateless(VERSION, {"sampling": {}}, mcp.ClientInfo("ada", "7"))


@pytest.mark.parametrize("client", [None, "ada", {}, {"name": 1, "version": "1"}])
def test_who_the_client_is_may_be_left_out(client: object) -> None:
    era = era_of(request("tools/list", {"_meta": {**META, mcp.CLIENT_KEY: client}}))
    assert era == Stateless(VERSION, {"sampling": {}}, None)


def test_a_version_that_we_do_not_speak_is_told_those_that_we_do() -> None:
    era = era_of(request("tools/list", {"_meta": {**META, mcp.VERSION_KEY: "3000"}}))
    assert isinstance(era, OutOfRules)
    assert era.error.data == {"supported": [*mcp.STATELESS_REVISIONS, *mcp.REVISIONS], "requested": "3000"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [(None, False), (VERSION, True), ("3000", True), ("", True), *((revision, False) for revision in mcp.REVISIONS)],
)
def test_over_http_the_header_announces_the_era(header: str | None, *, expected: bool) -> None:
    assert is_stateless_header(header) is expected


CALL = {"name": "codex", "arguments": {}, "_meta": META}
HEADERS = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": "codex"}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, STATELESS),
        ({"mcp-method": " tools/call "}, STATELESS),
        ({"mcp-name": "=?base64?Y29kZXg=?="}, STATELESS),
        ({"mcp-protocol-version": "3000"}, mcp.HEADER_MISMATCH),
        ({"mcp-method": "tools/list"}, mcp.HEADER_MISMATCH),
        ({"mcp-method": "Tools/Call"}, mcp.HEADER_MISMATCH),
        ({"mcp-method": ""}, mcp.HEADER_MISMATCH),
        ({"mcp-name": "codex-reply"}, mcp.HEADER_MISMATCH),
        ({"mcp-name": ""}, mcp.HEADER_MISMATCH),
    ],
)
def test_over_http_headers_and_body_agree(changed: dict[str, str], expected: object) -> None:
    assert verdict(era_over_http(request("tools/call", CALL), HEADERS | changed)) == expected


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "p"}, "p"),
        ("resources/read", {"uri": "test://x"}, "test://x"),
        ("resources/read", {"uri": "test://x", "name": "other"}, "test://x"),
        ("tasks/get", {"taskId": "t"}, "t"),
        ("tasks/update", {"taskId": "t", "inputResponses": {}}, "t"),
        ("tasks/cancel", {"taskId": "t", "name": "other"}, "t"),
    ],
)
def test_the_name_in_the_header_is_that_of_the_method(method: str, params: dict[str, object], name: str) -> None:
    asked = request(method, {**params, "_meta": META})
    headers = {**HEADERS, "mcp-method": method}
    assert verdict(era_over_http(asked, headers | {"mcp-name": name})) == STATELESS
    assert verdict(era_over_http(asked, headers | {"mcp-name": "else"})) == mcp.HEADER_MISMATCH


def test_a_method_without_a_name_needs_none() -> None:
    headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/list"}
    assert verdict(era_over_http(request("tools/list", {"_meta": META}), headers)) == STATELESS


@given(st.text())
def test_a_wrapped_header_is_unwrapped(text: str) -> None:
    wrapped = f"=?base64?{base64.b64encode(text.encode()).decode()}?="
    assert decoded_header(f" {wrapped}\t") == text


@pytest.mark.parametrize("value", ["=?base64?&&?=", "=?base64?/w==?=", "=?base64?", "plain", ""])
def test_one_that_cannot_be_unwrapped_stays_as_it_is(value: str) -> None:
    assert decoded_header(value) == value
