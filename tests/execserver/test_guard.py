import os
import signal
import subprocess
import sys

import codex_mcp
from codex_mcp.execserver.guard import START
from tests.support.patience import PATIENCE

MODULES = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))

COSTLY = {"argparse", "asyncio", "contextlib", "ctypes", "logging", "re", "site", "typing"}

PROGRAM = """
import os, signal, subprocess, sys, time
from codex_mcp.execserver.guard import run_guarded

def serve(lifeline):
    {body}

sys.exit(run_guarded(serve))
"""


def run(body: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(body=body)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)


def test_the_exit_code_is_the_servers() -> None:
    assert run("return 7").returncode == 7
    assert run("sys.exit(3)").returncode == 3
    assert run("raise KeyError").returncode == 1


def test_an_error_that_nobody_foresaw_is_told() -> None:
    ended = run("raise KeyError('unforeseen')")
    assert ended.returncode == 1
    assert ended.stderr.endswith("KeyError: 'unforeseen'\n")


def test_a_killed_server_leaves_nobody_behind_not_even_who_fled() -> None:
    # The fugitive holds stdout: run() would wait for it.
    ended = run(
        "ours, theirs = os.pipe(); "
        "script = f'echo here; echo >&{theirs}; exec sleep 100'; "
        "subprocess.Popen(['setsid', 'sh', '-c', script], pass_fds=[theirs]); os.read(ours, 1); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert ended.returncode == 128 + 9
    assert ended.stdout == "here\n"


def test_a_signal_is_passed_on() -> None:
    ended = run(
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(5)); os.kill(os.getppid(), signal.SIGTERM); time.sleep(20)"
    )
    assert ended.returncode == 5


def test_what_a_script_started_before_it_became_the_server_goes_on() -> None:
    script = 'exec 3<&0; sh -c "read x; echo still here" <&3 & exec "$0" -c "$1" </dev/null'
    argv = ["sh", "-c", script, sys.executable, PROGRAM.format(body="return 0")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as guard:
        assert guard.wait(PATIENCE) == 0
        said, _ = guard.communicate("x\n", timeout=PATIENCE)
        assert said == "still here\n"


def run_guard(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", "-c", program, MODULES, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE)


def test_it_ends_as_the_server_did_and_leaves_nobody_behind() -> None:
    # Whoever is left would hold stdout, for whose end run() waits.
    both = "import os; server = os.fork() or os.execlp('sh', 'sh', '-c', 'sleep 100 & exit 7');"
    adopting = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0);"
    assert run_guard(f"{adopting}{both}import sys; sys.argv[2:] = [str(server)];{START}").returncode == 7


def test_who_was_killed_by_a_signal_is_told_as_a_shell_tells_it() -> None:
    killed = "import os; server = os.fork() or os.kill(os.getpid(), 9);"
    ended = run_guard(f"{killed}import sys; sys.argv[2:] = [str(server)];{START}")
    assert ended.returncode == 128 + signal.SIGKILL


def test_it_imports_next_to_nothing() -> None:
    words = run_guard(START.partition("import guard;")[0] + "import guard; print(*sys.modules)").stdout.split()
    assert "codex_mcp.execserver.guard" in words
    assert COSTLY.isdisjoint(words)
