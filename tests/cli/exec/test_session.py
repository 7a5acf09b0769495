"""A command on an exec-server at a person's terminal."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from tests.support.exec.exec_server import own_exec_server, running_exec_server, served_by
from tests.support.servers.terminal import CTRL_C, CTRL_D, Terminal


async def at_a_terminal(folder: Path, command: list[str], scene: Callable[[Terminal], None]) -> None:
    """Run the command on our server, and the scene in front of it."""

    def sit_down(url: str) -> None:
        argv = [*own_exec_server()[:3], "exec", "--url", url, "--", *command]
        with Terminal(argv, {"PATH": os.environ["PATH"], "HOME": str(folder)}, columns=132) as terminal:
            scene(terminal)

    with served_by(own_exec_server()):
        async with running_exec_server(folder) as server:
            await asyncio.to_thread(sit_down, server.url)


async def test_a_terminal_has_its_size_its_name_and_its_keys(tmp_path: Path) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.wait_for("ready")
        terminal.type("hello\r")
        terminal.wait_for("got hello of xterm-256color at 50 132")
        assert terminal.exit_code() == 4

    sized = 'until [ "$(stty size)" = "50 132" ]; do :; done'
    script = f"{sized}; echo ready; read -r x; echo got $x of $TERM at $(stty size); exit 4"
    await at_a_terminal(tmp_path, ["sh", "-c", script], scene)


async def test_control_c_is_the_commands_own_affair(tmp_path: Path) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.wait_for("ready")
        terminal.type(CTRL_C)
        terminal.wait_for("caught")
        assert terminal.exit_code() == 9

    script = "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done"
    await at_a_terminal(tmp_path, ["sh", "-c", script], scene)


async def test_control_d_ends_the_input(tmp_path: Path) -> None:
    def scene(terminal: Terminal) -> None:
        terminal.wait_for("ready")
        terminal.type(CTRL_D)
        assert terminal.exit_code() == 0
        assert "the end" in terminal.shown

    await at_a_terminal(tmp_path, ["sh", "-c", "echo ready; cat; echo the end"], scene)
