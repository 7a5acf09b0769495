"""Our commands as a person runs them: the real program, in a home of its own."""

import subprocess
import sys
from pathlib import Path

from tests.support.patience import PATIENCE

PROGRAM = str(Path(sys.executable).parent / "codex-mcp")


def command(home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `codex-mcp …` to its end in that home, with nothing on its stdin."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), **environ}
    return subprocess.run(
        [PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        cwd=home,
        timeout=PATIENCE,
        check=False,
    )
