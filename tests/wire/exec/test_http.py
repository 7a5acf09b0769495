import msgspec

from codex_mcp.wire.exec.http import BodyDelta, HttpHeader, HttpRequest, HttpResponse, RedirectPolicy


def test_a_request_needs_three_things_only() -> None:
    asked = msgspec.json.decode(b'{"method": "GET", "url": "http://x", "requestId": "r", "new": 1}', type=HttpRequest)
    assert asked == HttpRequest("GET", "http://x", "r")
    assert asked.redirect_policy is RedirectPolicy.FOLLOW


def test_answers_are_written_in_full() -> None:
    response = HttpResponse(200, [HttpHeader("a", "b")], "")
    assert msgspec.json.encode(response) == b'{"status":200,"headers":[{"name":"a","value":"b"}],"bodyBase64":""}'
    delta = BodyDelta("r", 2, "", done=True, error=None)
    wanted = b'{"requestId":"r","seq":2,"deltaBase64":"","done":true,"error":null}'
    assert msgspec.json.encode(delta) == wanted
