import os
import signal
import subprocess
import sys

import codex_mcp
from codex_mcp.execserver.guard_program import START
from tests.support.patience import PATIENCE

MODULES = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))

COSTLY = {"argparse", "asyncio", "contextlib", "ctypes", "logging", "re", "site", "typing"}


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", "-S", "-c", program, MODULES, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE)


def test_it_ends_as_the_server_did_and_leaves_nobody_behind() -> None:
    # Whoever is left would hold stdout, for whose end run() waits.
    both = "import os; server = os.fork() or os.execlp('sh', 'sh', '-c', 'sleep 100 & exit 7');"
    adopting = "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0);"
    assert run(f"{adopting}{both}import sys; sys.argv[2:] = [str(server)];{START}").returncode == 7


def test_who_was_killed_by_a_signal_is_told_as_a_shell_tells_it() -> None:
    killed = "import os; server = os.fork() or os.kill(os.getpid(), 9);"
    ended = run(f"{killed}import sys; sys.argv[2:] = [str(server)];{START}")
    assert ended.returncode == 128 + signal.SIGKILL


def test_it_imports_next_to_nothing() -> None:
    words = run(START.partition("import guard;")[0] + "import guard; print(*sys.modules)").stdout.split()
    assert "codex_mcp.execserver.guard_program" in words
    assert COSTLY.isdisjoint(words)
