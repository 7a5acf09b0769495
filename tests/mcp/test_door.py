"""What the doors have in common is tested with each of them; here is what they cannot show."""

import msgspec

from codex_mcp.mcp.door import Refusal, refusal
from codex_mcp.wire.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, ErrorObject


def test_a_refusal_is_an_error_about_its_request() -> None:
    refused = Refusal(400, ErrorObject(INVALID_PARAMS, "Invalid params: x"), 7, (b"allow", b"POST"))
    assert msgspec.json.decode(refused.body) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": INVALID_PARAMS, "message": "Invalid params: x"},
    }
    assert (refused.status, refused.headers, str(refused)) == (400, ((b"allow", b"POST"),), "Invalid params: x")


def test_one_about_http_is_about_no_request() -> None:
    refused = refusal(405, "Method Not Allowed: use POST", (b"allow", b"POST"))
    answer = msgspec.json.decode(refused.body)
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)
