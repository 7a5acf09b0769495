"""MCP servers start; their sum is told once."""

from codex_mcp.codex.events.startup import Startup
from codex_mcp.wire.app.notifications import ServerStatusUpdated

NONE = {"type": "mcp_startup_complete", "ready": [], "failed": [], "cancelled": []}


def update(name: str, **status: str) -> dict[str, object]:
    return {"type": "mcp_startup_update", "server": name, "status": status}


def test_without_servers_the_first_turn_says_so_and_the_second_does_not() -> None:
    startup = Startup()
    assert startup.turn_started() == [NONE]
    assert startup.turn_started() == []


def test_the_sum_comes_when_no_server_is_starting_any_more() -> None:
    startup = Startup()
    assert startup.status(ServerStatusUpdated("wiki", "starting")) == [update("wiki", state="starting")]
    assert startup.status(ServerStatusUpdated("mail", "starting")) == [update("mail", state="starting")]
    failed = update("mail", state="failed", error="no such program")
    assert startup.status(ServerStatusUpdated("mail", "failed", "no such program")) == [failed]
    assert startup.turn_started() == []
    assert startup.status(ServerStatusUpdated("wiki", "ready")) == [
        update("wiki", state="ready"),
        NONE | {"ready": ["wiki"], "failed": [{"server": "mail", "error": "no such program"}]},
    ]


def test_a_cancelled_server_counts() -> None:
    startup = Startup()
    complete = startup.status(ServerStatusUpdated("wiki", "cancelled"))[-1]
    assert complete == NONE | {"cancelled": ["wiki"]}
