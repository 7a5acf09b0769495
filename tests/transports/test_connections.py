"""How many connections fit into what the system allows; tests/acceptance/test_http_strangers.py goes beyond that."""

import pytest

from codex_mcp.transports.connections import FEWEST, Connections, allowed_descriptors, connections_for


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [(16, FEWEST), (80, 16), (256, 192), (1024, 896), (65536, 64512), (1 << 20, 1047552)],
)
def test_some_descriptors_are_kept_for_codex_and_files(descriptors: int, connections: int) -> None:
    assert connections_for(descriptors) == connections


def test_there_is_room_for_clients_here() -> None:
    assert allowed_descriptors() >= 256
    assert len(Connections()) == 0
