import argparse
import hashlib
from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.cli.exec import cmd_exec_server
from codex_mcp.execserver.serve import Address
from codex_mcp.execserver.starting import refusal_for

LOCAL = Address("127.0.0.1")


def flags(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cmd_exec_server.configure(parser)
    return parser.parse_args(words)


def test_on_this_machine_nobody_is_asked() -> None:
    assert refusal_for(flags(), LOCAL)(None) is None


def test_to_listen_to_others_without_asking_is_refused() -> None:
    with pytest.raises(Refused, match="others could run commands here"):
        refusal_for(flags(), Address("0.0.0.0"))


def test_a_token_comes_from_a_file_or_as_a_hash(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(" secret\n")
    digest = hashlib.sha256(b"secret").hexdigest().upper()
    for more in (["--ws-token-file", str(tmp_path / "token")], ["--ws-token-sha256", digest]):
        refusal = refusal_for(flags("--ws-auth", "capability-token", *more), Address("0.0.0.0"))
        assert refusal("Bearer secret") is None
        assert refusal("Bearer other") == "invalid websocket bearer token"


def test_a_secret_must_be_long(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x" * 31)
    words = ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", str(tmp_path / "secret")]
    with pytest.raises(Refused, match="at least 32 bytes"):
        refusal_for(flags(*words), LOCAL)
    (tmp_path / "secret").write_text("x" * 32)
    assert refusal_for(flags(*words), LOCAL)("Bearer a.b.c") == "invalid websocket jwt"


@pytest.mark.parametrize(
    "words",
    [
        ["--ws-auth", "capability-token"],
        ["--ws-auth", "capability-token", "--ws-token-file", "/nonexistent"],
        ["--ws-auth", "capability-token", "--ws-token-sha256", "xyz"],
        ["--ws-auth", "capability-token", "--ws-token-file", "a", "--ws-token-sha256", "b"],
        ["--ws-auth", "capability-token", "--ws-token-file", "/dev/null"],
        ["--ws-auth", "signed-bearer-token"],
        ["--ws-auth", "signed-bearer-token", "--ws-token-file", "a"],
        ["--ws-token-sha256", "0" * 64],
        ["--ws-issuer", "me"],
    ],
)
def test_flags_that_do_not_fit_are_refused(words: list[str]) -> None:
    with pytest.raises(Refused, match="cannot"):
        refusal_for(flags(*words), LOCAL)


def test_stdio_has_no_door_to_guard(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    words = ["--ws-auth", "capability-token", "--ws-token-file", str(tmp_path / "token")]
    with pytest.raises(Refused, match="stdio"):
        refusal_for(flags(*words), Address(None))


@pytest.mark.parametrize(("mode", "warnings"), [(0o644, 1), (0o600, 0)])
def test_a_token_file_that_everybody_can_read_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warnings: int
) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    path.chmod(mode)
    refusal_for(flags("--ws-auth", "capability-token", "--ws-token-file", str(path)), LOCAL)
    assert caplog.text.count(f"can read {path}; run chmod 600 on it") == warnings


def test_clocks_cannot_differ_by_less_than_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x" * 32)
    words = ["--ws-auth", "signed-bearer-token", "--ws-shared-secret-file", str(tmp_path / "secret")]
    with pytest.raises(Refused, match="it must be 0 or more"):
        refusal_for(flags(*words, "--ws-max-clock-skew-seconds", "-1"), LOCAL)
    refusal_for(flags(*words, "--ws-max-clock-skew-seconds", "0"), LOCAL)
