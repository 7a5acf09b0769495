"""The table of known clients."""

import pytest

from codex_mcp.mcp.known_clients import CLIENTS, UNKNOWN, Shows, known_client, takes_links, takes_priming
from codex_mcp.wire.mcp import REVISIONS, STATELESS_REVISIONS


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_found_by_its_name_however_it_is_written(name: str) -> None:
    assert known_client(name.upper()) is CLIENTS[name]


@pytest.mark.parametrize("name", ["qwen-cli-mcp-client-codex", "Gemini-CLI-mcp-client-my-server"])
def test_a_client_may_append_the_name_of_the_server(name: str) -> None:
    assert known_client(name).shows is Shows.TEXT


@pytest.mark.parametrize("name", ["", "mcp", "clinear", "opencoder", "claude", "x" * 10_000])
def test_any_other_client_is_unknown_and_gets_what_is_safe_for_all(name: str) -> None:
    assert known_client(name) is UNKNOWN
    assert UNKNOWN.shows is Shows.UNKNOWN
    assert UNKNOWN.chars == min(client.chars for client in CLIENTS.values())


def test_what_a_session_may_be_sent_depends_on_its_revision() -> None:
    revisions = sorted([*REVISIONS, *STATELESS_REVISIONS])
    assert [each for each in revisions if takes_priming(each)] == ["2025-11-25", "2026-07-28"]
    assert [each for each in revisions if takes_links(each)] == ["2025-06-18", "2025-11-25", "2026-07-28"]
    assert not takes_priming("")
    assert not takes_links("")
