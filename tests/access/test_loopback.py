"""Which addresses stay within this machine."""

import pytest

from codex_mcp.access.loopback import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "localhost"])
def test_these_stay_within_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "::", "::ffff:10.0.0.1", "localhost.example.org", "", "127.1"])
def test_others_may_lead_elsewhere(host: str) -> None:
    assert not is_loopback(host)
