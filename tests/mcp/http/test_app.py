"""Routing to the endpoints: the server's own pages, and requests that are refused before."""

from pathlib import Path

import msgspec
import pytest

from tests.access.test_access_control import key_file
from tests.support.http.client import connect
from tests.support.http.echo_methods import serving
from tests.support.http.mcp_client import SESSION, Door, initialize, request, shake_hands

ORIGIN = "https://app.example"


@pytest.mark.parametrize("headers", [{}, {"host": "evil.example"}, {"origin": "https://evil.example"}])
async def test_health_is_told_to_everybody(tmp_path: Path, headers: dict[str, str]) -> None:
    async with serving(tmp_path) as (server, _methods):
        answer = await Door(server.port, "/healthz").ask("GET", **headers)
        assert (answer.status, answer.body) == (200, b"ok\n")


async def test_it_is_ready_until_it_stops(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = Door(server.port, "/readyz")
        assert (await door.ask("GET")).body == b"ready\n"
        server.hub.stop_accepting()
        stopping = await door.ask("GET")
        assert (stopping.status, stopping.body) == (503, b"stopping\n")


@pytest.mark.parametrize("path", ["/else", "/mcp/x", "/ws", "//", "/%2e%2e/mcp"])
async def test_there_are_no_other_doors(tmp_path: Path, path: str) -> None:
    async with serving(tmp_path) as (server, _methods):
        answer = await Door(server.port, path).ask("POST", request(1, "echo"))
        assert answer.status == 404
        assert "/mcp" in msgspec.json.decode(answer.body)["error"]["message"]


async def test_a_slash_at_the_end_is_no_other_door(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        door = await shake_hands(server.port)
        door.path = "/mcp/"
        assert (await door.post(request(1, "echo")))["result"] == {"echo": {}}


async def test_pages_on_the_list_are_answered_as_browsers_want_it(tmp_path: Path) -> None:
    async with serving(tmp_path, allowed_origins=(ORIGIN,)) as (server, _methods):
        door = Door(server.port, origin=ORIGIN)
        asked = await door.ask("OPTIONS", access_control_request_method="POST")
        assert asked.status == 204
        assert asked.headers["access-control-allow-origin"] == ORIGIN
        assert "mcp-session-id" in asked.headers["access-control-allow-headers"]
        answer = await Door(server.port, "/", origin=ORIGIN).ask("POST", request(1, "echo"))
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert answer.headers["access-control-expose-headers"] == "mcp-session-id"


async def test_no_other_page_is_told_that_it_may(tmp_path: Path) -> None:
    async with serving(tmp_path, allowed_origins=(ORIGIN,)) as (server, _methods):
        for origin in ("https://evil.example", "http://localhost:8080"):
            answer = await Door(server.port, origin=origin).ask("OPTIONS", access_control_request_method="POST")
            assert answer.status in {403, 405}
            assert "access-control-allow-origin" not in answer.headers


async def test_a_page_of_another_site_is_refused_everywhere_and_makes_no_session(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        for path in ("/mcp", "/", "/healthz", "/readyz", "/metrics", "/ws", "/else"):
            for method in ("OPTIONS", "POST", "DELETE", "GET"):
                answer = await Door(server.port, path, sec_fetch_site="cross-site").ask(method)
                assert (path, method, answer.status) == (path, method, 403)
        assert len(server.hub) == 0


async def test_whoever_goes_in_the_middle_of_a_body_does_no_harm(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods):
        async with connect(server.port) as wire:
            wire.send_raw(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        assert (await Door(server.port, "/").post(request(1, "echo")))["result"] == {"echo": {}}


async def test_what_is_no_http_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as (server, _methods), connect(server.port) as wire:
        wire.send_raw(b"\x16\x03\x01\r\n\r\n")
        assert (await wire.read_to_the_end()).startswith(b"HTTP/1.1 400 ")


async def test_where_there_are_tokens_each_principal_has_its_own_sessions_on_every_door(tmp_path: Path) -> None:
    one, two = "a" * 16, "b" * 16
    (tmp_path / "tokens").write_text(f"ada {one}\nbob {two}\n")
    async with serving(tmp_path, tokens=str(tmp_path / "tokens")) as (server, _methods):
        refused = await Door(server.port).ask("POST", request(1, "echo"))
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert (await Door(server.port, "/healthz").ask("GET")).status == 200

        begun = await Door(server.port, authorization=f"Bearer {one}").ask("POST", initialize())
        session = begun.headers[SESSION]
        for method, message in (("POST", request(1, "echo")), ("GET", None), ("DELETE", None)):
            other = Door(server.port, authorization=f"Bearer {two}", mcp_session_id=session)
            assert (await other.ask(method, message)).status == 404

        mine, yours = (
            Door(server.port, "/", authorization=f"Bearer {token}", mcp_session_id="same") for token in (one, two)
        )
        async with mine.stream("GET") as events:
            await yours.post(request("yours", "echo"))
            await mine.post(request("mine", "echo"))
            assert (await events.message())["id"] == "mine"


async def test_a_client_without_a_token_is_told_where_it_learns_who_signs_them(tmp_path: Path) -> None:
    issuer = "https://sign.example"
    async with serving(tmp_path, jwks=key_file(tmp_path), jwt_issuer=issuer) as (server, _methods):
        refused = await Door(server.port).ask("POST", initialize())
        address = f"http://127.0.0.1:{server.port}"
        page = "/.well-known/oauth-protected-resource/mcp"
        assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{address}{page}"'
        for path in (page, page.removesuffix("/mcp")):
            metadata = await Door(server.port, path).ask("GET")
            assert msgspec.json.decode(metadata.body) == {
                "resource": f"{address}/mcp",
                "authorization_servers": [issuer],
                "bearer_methods_supported": ["header"],
            }
        behind = await Door(server.port, page, x_forwarded_proto="https").ask("GET")
        assert msgspec.json.decode(behind.body)["resource"] == f"https://127.0.0.1:{server.port}/mcp"
