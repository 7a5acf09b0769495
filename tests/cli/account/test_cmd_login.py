"""Signing in and out with the real Codex, which checks an API key only when it uses it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.servers.commands import PROGRAM, command
from tests.support.servers.terminal import CTRL_C, Terminal

KEY = "sk-never-shown-123456"


def with_key(home: Path, *flags: str, key: str = KEY, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), **environ}
    words = [PROGRAM, "login", "--with-api-key", *flags]
    return subprocess.run(
        words, input=key, capture_output=True, text=True, env=environment, cwd=home, timeout=PATIENCE, check=False
    )


def stored(codex_home: Path) -> object:
    return json.loads((codex_home / "auth.json").read_text())["OPENAI_API_KEY"]


def test_an_api_key_is_read_from_stdin_and_a_logout_removes_it(tmp_path: Path) -> None:
    login = with_key(tmp_path)
    assert (login.returncode, stored(tmp_path / ".codex")) == (0, KEY)
    assert "Successfully logged in" in login.stderr
    assert KEY not in login.stdout + login.stderr
    logout = command(tmp_path, "logout")
    assert (logout.returncode, (tmp_path / ".codex/auth.json").exists()) == (0, False)


def test_the_home_of_the_settings_is_the_one_that_is_signed_in(tmp_path: Path) -> None:
    for name in ("of-the-flag", "of-the-variable", "of-the-file"):
        (tmp_path / name).mkdir()
    (tmp_path / ".config/atm").mkdir(parents=True)
    settings = '[plugins.codex-mcp]\ncodex_home = "~/of-the-file"\n'
    (tmp_path / ".config/atm/config.toml").write_text(settings)
    assert with_key(tmp_path, key="sk-file").returncode == 0
    assert with_key(tmp_path, key="sk-variable", CODEX_HOME=str(tmp_path / "of-the-variable")).returncode == 0
    assert with_key(tmp_path, "--codex-home", "of-the-flag", key="sk-flag").returncode == 0
    keys = [stored(tmp_path / name) for name in ("of-the-flag", "of-the-variable", "of-the-file")]
    assert keys == ["sk-flag", "sk-variable", "sk-file"]


def test_the_status_says_whether_you_are_signed_in(tmp_path: Path) -> None:
    before = command(tmp_path, "login", "status")
    assert (before.returncode, "Not logged in" in before.stderr) == (1, True)
    with_key(tmp_path)
    after = command(tmp_path, "login", "status")
    assert (after.returncode, "Logged in" in after.stderr, KEY in after.stderr) == (0, True, False)
    both = command(tmp_path, "login", "status", "--device")
    assert (both.returncode, both.stderr) == (2, "codex-mcp login: `login status` takes no way to sign in\n")


def test_a_key_is_not_typed_into_a_terminal(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    with Terminal([PROGRAM, "login", "--with-api-key"], environment) as terminal:
        assert terminal.exit_code() == 2
    advice = f"run printenv OPENAI_API_KEY | {PROGRAM} login --with-api-key"
    assert advice in " ".join(terminal.shown.split())


def test_a_browser_login_says_what_to_do_without_a_browser_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path)}  # so that no browser is found
    with Terminal([PROGRAM, "login"], environment) as terminal:
        terminal.wait_for("auth.openai.com")
        terminal.type(CTRL_C)
        assert terminal.exit_code() != 0
    assert "codex-mcp login --device" in terminal.shown


@pytest.mark.parametrize("way", ["--device", "--device-auth"])
def test_a_device_login_asks_for_a_code(tmp_path: Path, way: str) -> None:
    """Without a network: what counts is that Codex was asked to do it."""
    proxy = {"HTTPS_PROXY": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    ended = command(tmp_path, "login", way, **proxy)
    assert ended.returncode == 1
    assert "device code" in ended.stderr


def test_a_codex_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    ended = command(tmp_path, "login", "--codex-bin", "./nothing")
    assert ended.returncode == 2
    assert "nothing: there is no such program; correct codex_version" in ended.stderr.splitlines()[-1]


def test_a_home_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".codex").write_text("a file")
    ended = command(tmp_path, "logout")
    assert ended.returncode == 1
    assert "File exists; check both" in ended.stderr
