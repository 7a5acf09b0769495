"""What `/metrics` shows of a server that has done something, read as Prometheus reads it."""

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from codex_mcp.codex.supervisor import CoreLaunch
from codex_mcp.mcp.http.metrics import Metrics
from codex_mcp.threads.threads import Threads
from tests.support.http.echo_methods import serving
from tests.support.http.http_server import scripted_http_server
from tests.support.http.mcp_client import Door, call, initialize, notification, request, shake_hands
from tests.support.settings import make_settings


async def numbers(port: int) -> dict[str, float]:
    """Every number of the page, by its name and labels."""
    page = await Door(port, "/metrics").ask("GET")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        sample.name.removeprefix("codex_mcp_") + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page.body.decode())
        for sample in family.samples
    }


async def test_a_server_that_has_done_nothing_says_so(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        found = await numbers(server.port)
        assert {
            name: found[name] for name in ("sessions", "streams", "threads", "turns_running", "core_starts_total")
        } == {
            "sessions": 0,
            "streams": 0,
            "threads": 0,
            "turns_running": 0,
            "core_starts_total": 0,
        }


async def test_sessions_streams_turns_and_questions_are_seen_while_they_are_there(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        door = await shake_hands(server.port, capabilities={"elicitation": {}})
        asked = call(1, "codex", {"prompt": '[[scene: escalate cmd="touch made"]]'})
        bus = Door(server.port, "/", mcp_session_id="x")
        async with door.stream("GET"), bus.stream("GET"), door.stream("POST", asked) as events:
            question = await events.until(method="elicitation/create")
            found = await numbers(server.port)
            assert {name: found[name] for name in ("sessions", "streams", "bus_subscribers", "threads")} == {
                "sessions": 2,
                "streams": 2,
                "bus_subscribers": 1,
                "threads": 1,
            }
            assert {name: found[name] for name in ("turns_running", "turns_waiting", "questions_open")} == {
                "turns_running": 1,
                "turns_waiting": 0,
                "questions_open": 1,
            }
            await door.ask("POST", {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})
            await events.rest()
        found = await numbers(server.port)
        assert (found["turns_running"], found["questions_open"], found["core_starts_total"]) == (0, 0, 1)
        assert sum(value for name, value in found.items() if name.startswith("turns_total")) == 1
        assert sum(value for name, value in found.items() if name.startswith("approvals_total")) == 1


async def test_requests_are_counted_by_door_and_status(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        await Door(server.port, "/").ask("POST", initialize())
        await Door(server.port, "/mcp").ask("POST", request(1, "ping"))
        await Door(server.port, "/nowhere/secret").ask("GET")
        found = await numbers(server.port)
        assert found["http_requests_total / 200"] == 1
        assert found["http_requests_total /mcp 400"] == 1
        assert found["http_requests_total other 404"] == 1
        assert found["http_seconds_count /"] == 1


async def test_each_session_of_a_principal_is_counted_for_it_alone(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ada the-token-of-ada-\nbob the-token-of-bob-\n")
    async with serving(tmp_path, tokens=str(tokens)) as (server, _methods):
        ada = Door(server.port, "/", mcp_session_id="x", authorization="Bearer the-token-of-ada-")
        bob = Door(server.port, "/", mcp_session_id="x", authorization="Bearer the-token-of-bob-")
        await ada.post(initialize())
        await ada.post(request(1, "talk", count=3))
        await ada.ask("POST", notification("notifications/initialized"))
        await bob.post(request(1, "echo"))
        session = server.hub.find("ada", "x")
        assert session is not None
        settings = make_settings(tmp_path)
        metrics = Metrics(server.hub, Threads(settings.core, settings.calls, _no_launch, _no_pace))
        page = metrics.sessions_of("ada").decode()
        found = {
            sample.name.removeprefix("codex_mcp_session_"): sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.labels == {"session": session.session.id, "client": "tests"}
        }
        expected = {"requests_total": 2, "received_messages_total": 3, "sent_messages_total": 5, "readers": 0}
        assert {name: found[name] for name in expected} == expected
        assert page.count("codex_mcp_session_requests_total{") == 1


async def test_the_page_shows_sessions_only_to_whoever_asks_for_them(tmp_path: Path) -> None:
    async with scripted_http_server(tmp_path) as (server, _model):
        await Door(server.port, "/").ask("POST", initialize())
        pages = [await Door(server.port, path).ask("GET") for path in ("/metrics", "/metrics?sessions=1")]
        assert [b"codex_mcp_session_requests_total{" in page.body for page in pages] == [False, True]


async def _no_launch() -> CoreLaunch:
    raise AssertionError("somebody wants a Codex")


async def _no_pace() -> None:
    """Never wait."""
