"""The table of known clients."""

import pytest
from msgspec.structs import replace

from codex_mcp.mcp.known_clients import CLIENTS, UNKNOWN, Shows, is_time_out, known_client, takes_links, takes_priming
from codex_mcp.wire.mcp import REVISIONS, STATELESS_REVISIONS


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_found_by_its_name_however_it_is_written(name: str) -> None:
    assert known_client(name.upper()) is CLIENTS[name]


@pytest.mark.parametrize("name", ["qwen-cli-mcp-client-codex", "Gemini-CLI-mcp-client-my-server"])
def test_a_client_may_append_the_name_of_the_server(name: str) -> None:
    assert known_client(name).shows in (Shows.TEXT, Shows.TEXT_OR_BOTH)


@pytest.mark.parametrize("name", ["", "clinear", "opencoder", "claude", "x" * 10_000])
def test_any_other_client_is_unknown_and_gets_what_is_safe_for_all(name: str) -> None:
    assert known_client(name) is UNKNOWN
    assert UNKNOWN.shows is Shows.UNKNOWN


def test_an_unknown_client_gets_as_much_as_codex_and_only_clients_with_a_name_of_their_own_get_less() -> None:
    assert UNKNOWN.chars == CLIENTS["codex-mcp-client"].chars
    holding_less = {name for name, client in CLIENTS.items() if client.chars < UNKNOWN.chars}
    assert holding_less == {"qwen-cli-mcp-client", "copilot-cli", "cline", "@cline/core"}


def test_frameworks_with_the_name_of_their_sdk_are_as_unknown_but_get_no_events() -> None:
    assert replace(known_client("mcp"), takes_events=True) == UNKNOWN
    assert known_client("mcp-use") is known_client("mcp")


def test_events_go_to_unknown_clients_and_to_people_who_look_at_them() -> None:
    assert [name for name, client in CLIENTS.items() if client.takes_events] == ["inspector-cli"]
    assert known_client("fastmcp").shows is Shows.UNKNOWN  # Pydantic AI shows the structured content; others decide
    assert known_client("google-adk").shows is Shows.BOTH


@pytest.mark.parametrize(
    ("reason", "is_limit"),
    [
        ("timed out after 5s", True),
        ("McpError: MCP error -32001: Request timed out", True),
        ("TimeoutError: The operation was aborted due to timeout", True),
        ("Timed-out", True),
        ("context deadline exceeded", True),
        ("AbortError: The operation was aborted.", False),
        ("User pressed escape", False),
        ("sometimes out of order", False),
        ("", False),
    ],
)
def test_a_time_out_is_told_from_a_person(reason: str, *, is_limit: bool) -> None:
    assert is_time_out(reason) is is_limit


def test_what_a_session_may_be_sent_depends_on_its_revision() -> None:
    revisions = sorted([*REVISIONS, *STATELESS_REVISIONS])
    assert [each for each in revisions if takes_priming(each)] == ["2025-11-25", "2026-07-28"]
    assert [each for each in revisions if takes_links(each)] == ["2025-06-18", "2025-11-25", "2026-07-28"]
    assert not takes_priming("")
    assert not takes_links("")
