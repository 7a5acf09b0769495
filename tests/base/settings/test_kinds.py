import math

import pytest

from codex_mcp.base.settings.kinds import (
    Events,
    Kind,
    LogLevel,
    Place,
    Setting,
    assignments,
    count,
    fingerprint,
    identity,
    level,
    limit,
    one_of,
    path,
    place_of_commands,
    program,
    rate,
    seconds,
    size,
    socket_address,
    switch,
    team_name,
    text,
    with_unit,
)

HERE = Place("/repo/sub", "/home/me")


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (text, "x", "x"),
        (socket_address, "ws://127.0.0.1:4512", "ws://127.0.0.1:4512"),
        (socket_address, "wss://devbox/door", "wss://devbox/door"),
        (socket_address, "ws://[::1]:4512", "ws://[::1]:4512"),
        (socket_address, "relay+https://relay.test/build-1", "relay+https://relay.test/build-1"),
        (place_of_commands, "build-1", "build-1"),
        (place_of_commands, "ws://127.0.0.1:4512", "ws://127.0.0.1:4512"),
        (fingerprint, "sha256:" + "0a" * 32, "sha256:" + "0a" * 32),
        (path, "~/x", "/home/me/x"),
        (path, "~", "/home/me"),
        (path, "a/../b", "/repo/sub/b"),
        (path, "/abs/x", "/abs/x"),
        (program, "codex", "codex"),
        (program, "./codex", "/repo/sub/codex"),
        (program, "~/codex", "/home/me/codex"),
        (identity, "reviewer-2", "reviewer-2"),
        (identity, "a" * 64, "a" * 64),
        (team_name, "Back.end_2", "Back.end_2"),
        (limit(10**9), "0", 0),
        (limit(10**9), 1e6, 1_000_000),
        (switch, True, True),
        (switch, "Yes", True),
        (switch, "0", False),
        (one_of(Events), "FULL", Events.FULL),
        (level, "debug", LogLevel.DEBUG),
        (level, "codex_mcp_server=trace,axum=info", LogLevel.TRACE),
        (seconds(0.01, 3600), "1.5", 1.5),
        (seconds(0.01, 3600), 3, 3.0),
        (seconds(0.01, 3600, zero="never"), "0", 0.0),
        (count(1, 9), "9", 9),
        (count(1, 9), 9.0, 9),
        (rate(0.1, 100), "0", 0.0),
        (rate(0.1, 100), 2.5, 2.5),
        (size(1), "64MiB", 64 * 1024 * 1024),
        (size(1), "1.5 kib", 1536),
        (size(1), 1000, 1000),
        (assignments, ["a=1", "b.c=x y"], ("a=1", "b.c=x y")),
        (assignments, "a=1\n\nb=2", ("a=1", "b=2")),
    ],
)
def test_what_is_taken(kind: Kind, raw: object, value: object) -> None:
    assert kind(raw, HERE) == value


@pytest.mark.parametrize(
    ("kind", "raw", "allowed"),
    [
        (text, " ", "a text that is not empty"),
        (text, 3, "a text that is not empty"),
        (socket_address, "http://127.0.0.1:4512", "an address such as ws://127.0.0.1:4512"),
        (socket_address, "127.0.0.1:4512", "an address such as ws://"),
        (socket_address, "ws://", "an address such as ws://"),
        (socket_address, "ws://[::1", "an address such as ws://"),
        (fingerprint, "sha256:0a", "sha256: and 64 digits"),
        (fingerprint, "0a" * 32, "sha256: and 64 digits"),
        (identity, "-a", "a name of a-z, 0-9 and -"),
        (identity, "a" * 65, "at most 64 characters"),
        (identity, "codex:1", "a name of a-z"),
        (identity, "", "a name of a-z"),
        (identity, "a\n", "a name of a-z"),
        (team_name, "../x", "a name of letters"),
        (team_name, ".", "a name of letters"),
        (limit(10**9), -1, r"a whole number from 0 to 1000000000 \(0: no limit\)"),
        (limit(10**9), "1.5", "a whole number from 0 to 1000000000"),
        (limit(10**9), "inf", "a whole number from 0 to 1000000000"),
        (switch, "maybe", "true or false"),
        (one_of(Events), "loud", "one of standard, full, none"),
        (level, "shout", "one of off, error, warning, info, debug, trace, or a filter such as codex_mcp=debug"),
        (seconds(0.01, 3600), "0", "a number of seconds from 0.01 to 3600"),
        (seconds(0.01, 3600, zero="never"), "-1", r"a number of seconds from 0.01 to 3600 \(or 0, never\)"),
        (seconds(0.01, 3600), math.nan, "a number of seconds from 0.01 to 3600"),
        (seconds(0.01, 3600), 1e-6, "a number of seconds from 0.01 to 3600"),
        (seconds(0.01, 3600), 1e300, "a number of seconds from 0.01 to 3600"),
        (limit(10**9), 1e300, "a whole number from 0 to 1000000000"),
        (size(4096), "1e300", "a number of bytes from 4096 to 1073741824"),
        (seconds(0.01, 3600), "inf", "a number of seconds from 0.01 to 3600"),
        (seconds(0.01, 3600), True, "a number of seconds from 0.01 to 3600"),
        (count(1, 9), "10", "a whole number from 1 to 9"),
        (count(1, 9), "1.5", "a whole number from 1 to 9"),
        (rate(0.1, 100), -1, r"a number from 0.1 to 100 \(or 0: no limit\)"),
        (rate(0.1, 100), "inf", "a number from 0.1 to 100"),
        (size(4096), "1KiB", "a number of bytes from 4096 to 1073741824"),
        (size(4096), "muchMiB", "a number of bytes from 4096 to 1073741824"),
        (assignments, "a", "key=value"),
        (assignments, ["=a"], "key=value"),
        (assignments, [3], "key=value"),
        (assignments, 3, "a list of key=value"),
    ],
)
def test_what_is_refused(kind: Kind, raw: object, allowed: str) -> None:
    with pytest.raises(ValueError, match=allowed):
        kind(raw, HERE)


@pytest.mark.parametrize(
    ("number", "text"), [(1024, "1KiB"), (3 << 20, "3MiB"), (2 << 30, "2GiB"), (64 << 10, "64KiB")]
)
def test_a_number_of_bytes_is_shown_in_the_largest_unit_that_fits(number: int, text: str) -> None:
    assert with_unit(number) == text


def test_only_lists_take_a_flag_twice() -> None:
    assert Setting(assignments, "KEY=VALUE", "for Codex").is_list
    assert not Setting(switch, "", "on or off").is_list
