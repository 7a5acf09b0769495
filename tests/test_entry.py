"""The programs that pip installs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE


@pytest.mark.parametrize("module", ["argparse", "codex_mcp.cli.clients.cmd_install"])
def test_ctrl_c_while_a_command_loads_ends_it_without_a_traceback(tmp_path: Path, module: str) -> None:
    """The module that is being loaded when the key is pressed waits for it."""
    ready, told = os.pipe()
    never, kept_open = os.pipe()
    slow = tmp_path / "sitecustomize.py"
    slow.write_text(
        "import importlib.abc, os, sys\n"
        "class Slow(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {module!r}:\n"
        f"            os.write({told}, b'x')\n"
        f"            os.read({never}, 1)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "codex_mcp", "install", "--help"],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        pass_fds=[told, never],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(told)
    assert os.read(ready, 1) == b"x"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    for descriptor in (ready, never, kept_open):
        os.close(descriptor)
    assert "Traceback" not in said
    assert process.returncode in (-signal.SIGINT, 130)


def test_what_a_command_loads_is_never_looked_through_for_garbage(tmp_path: Path) -> None:
    program = (
        "import gc, sys\n"
        "collected = []\n"
        "gc.callbacks.append(lambda phase, info: collected.append('argparse' in sys.modules))\n"
        "from codex_mcp.entry import main\n"
        "from codex_mcp.cli import main as loading\n"
        "load = loading.load_command\n"
        "loading.load_command = lambda name: [load(name), gc.callbacks.clear()][0]\n"
        "main(['completion', 'bash'])\n"
        "print(any(collected), gc.isenabled(), gc.get_freeze_count() > 1000, file=sys.stderr)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.stderr == "False True True\n"
