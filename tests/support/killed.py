"""Something done in a fork that is killed at a chosen step."""

import os
import signal
import sys
import warnings
from collections.abc import Callable

from codex_mcp.base.errors import Explained

STEPS = ("subprocess.Popen", "os.rename", "shutil.rmtree", "os.mkdir", "os.remove")
"""What Python reports before it does it; the killed process dies before one of these."""


def killed_at(step: int, act: Callable[[], object]) -> bool:
    """Do it in a fork that is killed before this step; False if it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        left = [step]

        def count(event: str, _: object) -> None:
            if event in STEPS:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            act()
        except Explained:
            pass
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)
