import subprocess
import sys

from tests.support.patience import PATIENCE

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
