"""Who could use a server without tokens."""

from codex_mcp.mcp.http.access.exposure import people, warning_for

PASSWD = """root:x:0:0:root:/home/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
ada:x:1000:1000:Ada,,,:/home/ada:/bin/bash
service:x:1001:1001::/home/service:/bin/false
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
broken
"""


def test_people_are_accounts_that_can_log_in() -> None:
    assert people(PASSWD) == {1000: "ada"}


def test_root_is_warned_in_any_case_and_others_of_other_people() -> None:
    assert "can run commands as root" in warning_for(0, "")
    assert warning_for(1000, PASSWD) == ""
    assert "other users of this machine (ada) can run commands as you" in warning_for(1002, PASSWD)
    assert "--generate-token" in warning_for(1002, PASSWD)
    many = "".join(f"u{number}:x:{number}:1::/h:/bin/sh\n" for number in range(1000, 1005))
    assert "(u1001, u1002, u1003, …)" in warning_for(1000, many)
