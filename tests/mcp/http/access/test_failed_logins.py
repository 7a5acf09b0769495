"""An address that shows wrong tokens has to wait; others do not."""

from codex_mcp.mcp.http.access.failed_logins import BURST, FailedLogins


def test_after_a_burst_of_wrong_tokens_an_address_waits_and_the_log_says_so_once() -> None:
    logins = FailedLogins()
    told = [logins.failed("192.0.2.1", 100.0) for _ in range(int(BURST) + 5)]
    assert (told.index(True), told.count(True)) == (int(BURST) - 1, 1)
    assert logins.wait("192.0.2.1", 100.0) == 0.5
    assert logins.wait("192.0.2.2", 100.0) == 0.0
    assert logins.wait("192.0.2.1", 100.5) == 0.0
    assert not logins.failed("192.0.2.1", 100.5)
    assert logins.wait("192.0.2.1", 100.5) > 0
    assert [logins.failed("192.0.2.1", 161.0) for _ in range(int(BURST))].count(True) == 1
