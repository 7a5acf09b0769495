import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.http.hops import first_hop, next_hop
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec.http import HttpHeader, HttpRequest

SECRETS = [HttpHeader("Authorization", "Bearer x"), HttpHeader("cookie", "a=b"), HttpHeader("X-Other", "kept")]


def asked(
    url: str = "http://here/a", method: str = "GET", *headers: HttpHeader, body: str | None = None
) -> HttpRequest:
    return HttpRequest(method, url, "r", list(headers), body)


def test_a_request_is_written_with_what_it_needs() -> None:
    hop = first_hop(asked("https://here:8443/a b?q=\u00e9#gone", "POST", HttpHeader("X-T", "v"), body="ZGF0YQ=="))
    assert (hop.host, hop.port, hop.url.scheme) == ("here", 8443, "https")
    assert hop.encode().split(b"\r\n") == [
        b"POST /a%20b?q=%C3%A9 HTTP/1.1",
        b"host: here:8443",
        b"accept: */*",
        b"X-T: v",
        b"content-length: 4",
        b"connection: close",
        b"",
        b"data",
    ]


def test_a_request_without_a_body_says_nothing_of_one() -> None:
    assert b"content-length" not in first_hop(asked()).encode()
    assert b"content-length: 0" in first_hop(asked(method="PUT")).encode()


def test_how_bytes_travel_is_not_for_the_client_to_say() -> None:
    smuggled = HttpHeader("Transfer-Encoding", "chunked"), HttpHeader("content-length", "99")
    assert b"99" not in first_hop(asked("http://here", "GET", *smuggled)).encode()
    named = first_hop(asked("http://[::1]:80/", "GET", HttpHeader("Host", "other"), HttpHeader("Accept", "a/b")))
    assert b"\r\nHost: other\r\nAccept: a/b\r\n" in named.encode()
    assert (named.host, named.port) == ("::1", 80)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (asked("ftp://x/"), "http/request only supports http and https URLs, got ftp"),
        (asked("http://"), "url is invalid"),
        (asked("http://x:port/"), "url is invalid"),
        (asked("http://me:secret@x/"), "it contains credentials"),
        (asked("http://x/", "G T"), "http/request method is invalid"),
        (asked("http://x/", "GET", HttpHeader("bad name", "x")), "header name is invalid: invalid HTTP header name"),
        (asked("http://x/", "GET", HttpHeader("a", "b\r\nc: d")), "header value is invalid"),
        (asked("http://x/", "GET", HttpHeader("a", "", "HOME")), "cannot use executor environment variable HOME"),
        (asked("http://x/", body="???"), "Invalid"),
    ],
)
def test_what_cannot_be_asked_is_refused(request_: HttpRequest, text: str) -> None:
    with pytest.raises(RequestFailed) as refused:
        first_hop(request_)
    assert refused.value.error.code == -32602
    assert text in refused.value.error.message


@pytest.mark.parametrize(
    ("method", "status", "becomes"),
    [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("PUT", 302, "PUT"),
        ("PUT", 303, "GET"),
        ("HEAD", 303, "HEAD"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
    ],
)
def test_a_redirect_says_how_to_go_on(method: str, status: int, becomes: str) -> None:
    first = first_hop(asked("http://here/a/b", method, HttpHeader("content-type", "x/y"), body="ZGF0YQ=="))
    following = next_hop(first, status, "../c?d")
    assert following is not None
    assert (following.method, following.url.geturl()) == (becomes, "http://here/c?d")
    keeps = becomes == method and status != 303
    assert following.body == (b"data" if keeps else None)
    assert (b"x/y" in following.encode()) == keeps


@pytest.mark.parametrize("status", [200, 304, 300, 404])
def test_another_status_is_the_answer(status: int) -> None:
    assert next_hop(first_hop(asked()), status, "/elsewhere") is None


@pytest.mark.parametrize("location", ["http://there/", "https://here/", "http://here:81/"])
def test_another_origin_does_not_get_what_was_meant_for_the_first(location: str) -> None:
    following = next_hop(first_hop(asked("http://here/", "GET", *SECRETS)), 302, location)
    assert following is not None
    assert following.headers == (("X-Other", "kept"),)
    same = next_hop(first_hop(asked("http://here/", "GET", *SECRETS)), 302, "http://here:80/b")
    assert same is not None
    assert len(same.headers) == 3


def test_a_redirect_out_of_http_is_refused() -> None:
    with pytest.raises(RequestFailed):
        next_hop(first_hop(asked()), 302, "file:///etc/passwd")


@given(st.text(), st.text(), st.text(), st.text())
def test_no_request_holds_a_line_that_was_not_meant(method: str, path: str, name: str, value: str) -> None:
    try:
        head = first_hop(asked(f"http://here/{path}", method, HttpHeader(name, value))).encode()
    except RequestFailed:
        return
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    assert len(lines) <= 6
    assert not any(b"\n" in line or b"\r" in line for line in lines)
