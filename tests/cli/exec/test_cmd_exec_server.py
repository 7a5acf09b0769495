import subprocess
import sys

import pytest

from tests.support.patience import PATIENCE

COMMAND = [sys.executable, "-m", "codex_mcp", "exec-server"]


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--listen", "ws://localhost:0"], "the address must be ws://IP:PORT"),
        (["--listen", "ws://0.0.0.0:0"], "add --ws-auth"),
        (["--concurrent-requests", "0"], "must be 1 or more"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(flags: list[str], text: str) -> None:
    ended = subprocess.run([*COMMAND, *flags], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert text in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_address_that_cannot_be_printed_is_told_in_one_sentence() -> None:
    ended = subprocess.run(
        ["sh", "-c", '"$@" >/dev/full', "sh", *COMMAND], stderr=subprocess.PIPE, text=True, timeout=PATIENCE
    )
    said = (
        "codex-mcp exec-server: cannot write the address to stdout: No space left on device; check where stdout goes\n"
    )
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.parametrize("limit", [5, 8, 31])
def test_too_few_open_files_are_told_in_one_sentence(limit: int) -> None:
    words = ["sh", "-c", f'ulimit -n {limit} && exec "$@"', "sh", *COMMAND]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
    said = f"codex-mcp exec-server: cannot serve with {limit} open files: at least 32 are needed (ulimit -n)\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


def test_help_names_the_flags() -> None:
    ended = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert "--ws-auth" in ended.stdout


def test_over_stdio_it_answers_line_by_line_and_ends_with_its_input() -> None:
    lines = [
        '{"id": 1, "method": "initialize", "params": {"clientName": "test"}}',
        "",
        '{"method": "initialized"}',
        "not json",
        '{"id": 2, "method": "environment/status"}\r',
    ]
    ended = subprocess.run(
        [*COMMAND, "--listen", "stdio"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=PATIENCE
    )
    answers = ended.stdout.splitlines()
    assert answers[0].startswith('{"id":1,"result":{"sessionId":')
    assert '"id":-1' in answers[1]
    assert "failed to parse JSON-RPC message from exec-server stdio" in answers[1]
    assert answers[2] == '{"id":2,"result":{"status":"ready"}}'
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_is_of_no_use_here_is_not_loaded() -> None:
    program = (
        "import sys, os; from codex_mcp.cli.exec import cmd_exec_server; "
        "cmd_exec_server.run_guarded = lambda serve: sys.exit(serve(os.open('/dev/null', os.O_RDONLY))); "
        "sys.argv[1:] = ['exec-server', '--listen', 'stdio']; "
        "from codex_mcp.cli.main import main; "
        "import atexit; atexit.register(lambda: print(*[name for name, module in sys.modules.items() if module])); "
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True, timeout=PATIENCE)
    loaded = ended.stdout.split()
    assert "codex_mcp.execserver.startup" in loaded, ended.stderr
    assert {"aiofastnet", "typing_extensions", "uvicorn", "rich", "prometheus_client", "jwt"}.isdisjoint(loaded)
