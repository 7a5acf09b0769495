"""`codex-mcp doctor` in a home of its own, with the real Codex: problems appear, and go when its advice is followed."""

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from codex_mcp.cli.doctor import cmd_doctor, core_facts
from codex_mcp.cli.parser import Parser
from codex_mcp.codex.binary import Binary, Origin
from tests.support.patience import PATIENCE
from tests.support.servers.commands import PROGRAM, command
from tests.support.servers.terminal import Terminal

Problems: TypeAlias = Callable[..., dict[str, dict[str, Any]]]

KEY = "sk-proj-" + "a1B2c3D4" * 5


def sign_in(home: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    subprocess.run(
        [PROGRAM, "login", "--with-api-key"], input=KEY, text=True, env=environment, check=True, timeout=PATIENCE
    )


@pytest.fixture
def problems(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Problems:
    """Run doctor in this process; return the warnings and errors by the names of their checks."""

    def run(*flags: str, **environ: str) -> dict[str, dict[str, Any]]:
        parser = Parser("codex-mcp doctor")
        cmd_doctor.configure(parser)
        capfd.readouterr()
        environment = {"PATH": f"{Path(PROGRAM).parent}:/usr/bin:/bin", "HOME": str(tmp_path), **environ}
        code = cmd_doctor.run(parser.read(["--json", *flags]), environment, str(tmp_path))
        said = capfd.readouterr()
        document = json.loads(said.out)
        found = [check for check in document["checks"] if check["level"] != "ok"]
        errors = sum(check["level"] == "error" for check in found)
        assert (document["schema"], document["errors"], code) == (1, errors, int(errors > 0))
        assert all(check["fix"] for check in found)
        assert str(tmp_path) not in said.out
        assert said.err == ""
        return {check["check"]: check for check in found}

    return run


def test_a_fresh_home_lacks_only_the_sign_in_and_then_nothing(tmp_path: Path, problems: Problems) -> None:
    assert problems()["sign-in"]["fix"] == "run `codex-mcp login`"
    assert problems(PATH="/usr/bin:/bin")["sign-in"]["fix"] == f"run `{PROGRAM} login`"
    with_key = problems(OPENAI_API_KEY=KEY)["sign-in"]
    assert with_key["fix"] == "run `printenv OPENAI_API_KEY | codex-mcp login --with-api-key`"
    sign_in(tmp_path)
    ended = command(tmp_path, "doctor", "--turn", OPENAI_API_KEY=KEY)
    assert ended.returncode == 0, ended.stdout
    assert "✓ signed in with an API key" in ended.stdout
    assert "✓ an agent of a scripted model answered over stdio" in ended.stdout
    assert KEY not in ended.stdout + ended.stderr
    assert ended.stderr == ""


def test_a_configuration_that_codex_refuses_is_found_before_a_call_fails(tmp_path: Path, problems: Problems) -> None:
    sign_in(tmp_path)
    config = tmp_path / ".codex/config.toml"
    unknown = "name a newer Codex as codex_version, or correct the setting"
    for text, fix in (
        ("model = [", "correct ~/.codex/config.toml"),
        ('approval_policy = "sometimes"\n', unknown),
        ('model_provider = "from-the-future"\n', unknown),
    ):
        config.write_text(text)
        found = problems()
        assert {name: found[name]["fix"] for name in found} == {"config.toml": fix}
    config.write_text("")
    assert problems() == {}


def test_a_provider_needs_its_key_and_an_answer_at_its_address_and_no_sign_in(
    tmp_path: Path, problems: Problems
) -> None:
    (tmp_path / ".codex").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as provider:
        url = f"http://127.0.0.1:{provider.getsockname()[1]}/v1"
        about = f'[model_providers.mine]\nname = "x"\nbase_url = "{url}"\nenv_key = "MY_KEY"\n'
        (tmp_path / ".codex/config.toml").write_text(f'model_provider = "mine"\n{about}')
        assert set(problems()) == {"sign-in.provider-key"}
        assert problems(MY_KEY=KEY) == {}
    found = problems(MY_KEY=KEY)
    assert set(found) == {"sign-in.provider-address"}
    assert found["sign-in.provider-address"]["level"] == "error"
    assert url in found["sign-in.provider-address"]["text"]


def test_with_a_broken_configuration_the_first_advice_is_the_file(tmp_path: Path, problems: Problems) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text("model = [")
    assert set(problems()) == {"config.toml"}  # whether a sign-in is needed, only the file could tell


def test_a_bad_setting_is_an_error_and_the_clients_are_still_checked(tmp_path: Path, problems: Problems) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"x": {"command": "codex", "args": ["mcp-server"]}}}')
    found = problems(CODEX_MCP_PORT="none", CODEX_MCP_MODLE="x")
    assert {"settings", "clients.old-server"} <= set(found)
    assert "did you mean CODEX_MCP_MODEL?" in problems(CODEX_MCP_MODLE="x")["settings.ignored"]["fix"]


def test_the_account_is_named_by_its_kind_alone() -> None:
    assert core_facts._kind({"type": "chatgpt", "email": "ann@example.com"}) == "chatgpt"
    assert core_facts._kind({"email": "ann@example.com"}) == "an account"
    assert core_facts._kind(None) is None


def test_a_turn_that_fails_is_explained(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\necho codex-cli 0.163.0\n")
    program.chmod(0o755)
    binary = Binary(str(program), (0, 163, 0), Origin.SETTING)
    turn = core_facts.run_turn(binary, {"PATH": "/usr/bin:/bin"}, str(tmp_path / "home"))
    assert "cannot start Codex" in turn.error


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_report_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    with Terminal([PROGRAM, "doctor", "--codex-bin", "./gone"], environment, columns) as terminal:
        assert terminal.exit_code() == 1
    # What was shown before a carriage return is progress, which has been overwritten.
    lines = [line.rpartition("\r")[2] for line in terminal.shown.replace("\r\n", "\n").split("\n")]
    wide = [line for line in lines if len(line) >= columns and max(map(len, line.split())) < columns // 2]
    assert wide == []
    assert any(line.startswith("  ✗ ") for line in lines)


def test_a_terminal_without_the_marks_shows_letters(tmp_path: Path) -> None:
    ended = command(tmp_path, "doctor", "--summary", "--codex-bin", "./gone", PYTHONIOENCODING="ascii")
    assert ended.returncode == 1
    assert "x Codex" in ended.stdout.splitlines()


def test_a_self_test_tries_the_codex_on_path_again_that_has_failed(tmp_path: Path, problems: Problems) -> None:
    codex = tmp_path / "bin/codex"
    codex.parent.mkdir()
    codex.write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    codex.chmod(0o755)
    for _ in range(2):
        found = problems("--self-test", PATH=f"{codex.parent}:/usr/bin:/bin")
        assert "Codex 9.9.9 (~/bin/codex) failed the self-test at `schema`" in found["codex.self-test"]["text"]


def test_a_self_test_that_cannot_write_says_so(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/codex-mcp").write_text("not a folder")
    ended = command(tmp_path, "doctor", "--self-test")
    assert ended.returncode == 1
    assert ended.stderr == f"codex-mcp doctor: cannot try Codex in {tmp_path}/.codex: File exists; correct that\n"
