"""Follows README in an empty home, several times: clone, `uv tool install .`, `codex-mcp install claude`, an answer.

Claude Code is the real one of judges/node_modules. Scripts play its model and Codex's, which would take their own time,
and stand for the sign-in. uv has no cache.
"""

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.clients.anthropic_model import AnthropicModel, Say, Use, Used
from tests.support.clients.claude_code import NOT_OUTSIDE, codex
from tests.support.clients.judges import ROOT, judge
from tests.support.servers.mcp_server import TOUR

UV = str(Path(sys.executable).parent / "uv")
STEPS = ("git clone", "uv tool install", "install claude", "first answer")
LINE = "{:16} {:>8}"


async def plan(used: list[Used]) -> Say | Use:
    return Say("Done.") if used else codex('[[scene: say text="here I am"]]')


def run(words: list[str], home: Path, cwd: Path, **more: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith(("UV_", "SSL_"))}
    environment = {**kept, "HOME": str(home), "UV_NO_CACHE": "1", **NOT_OUTSIDE, **more}
    if words[0] == UV:  # it downloads
        environment = {name: value for name, value in environment.items() if not name.endswith("_PROXY")}
    subprocess.run(words, env=environment, cwd=cwd, check=True, capture_output=True, stdin=subprocess.DEVNULL)


async def once(folder: Path) -> list[float]:
    """The seconds of each step."""
    home, clone, project = folder / "home", folder / "codex-mcp", folder / "project"
    (home / ".codex").mkdir(parents=True)
    project.mkdir()
    program = str(home / ".local/bin/codex-mcp")
    async with ScriptedModel(load_script(TOUR)) as model, AnthropicModel(plan) as claudes:
        (home / ".codex/config.toml").write_text("".join(f"{line}\n" for line in model.codex_overrides()))
        words = ["-p", "Let Codex work.", "--allowedTools", "mcp__codex"]
        steps = [
            (["git", "clone", "-q", str(ROOT), str(clone)], folder, {}),
            ([UV, "tool", "install", "-q", "--system-certs", "--python", sys.executable, "."], clone, {}),
            ([program, "install", "claude"], home, {}),
            ([judge("claude"), *words], project, {"ANTHROPIC_BASE_URL": claudes.base_url}),
        ]
        seconds = []
        for argv, cwd, more in steps:
            began = time.monotonic()
            await asyncio.to_thread(run, argv, home, cwd, **more)
            seconds.append(time.monotonic() - began)
        assert [used.json["content"] for used in claudes.used] == ["here I am"]
    return seconds


def said(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="make timing")
    parser.add_argument("--runs", type=int, default=3)
    runs = []
    for _ in range(parser.parse_args().runs):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(asyncio.run(once(Path(folder))))
        said(" ".join(f"{seconds:.1f}" for seconds in runs[-1]))
    said(f"median of {len(runs)}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}")
    for name, seconds in zip(STEPS, zip(*runs, strict=True), strict=True):
        said(LINE.format(name, f"{statistics.median(seconds):.1f} s"))
    said(LINE.format("all", f"{statistics.median(map(sum, runs)):.1f} s"))


if __name__ == "__main__":
    main()
