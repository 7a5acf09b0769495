"""What the commands of an agent can do with the socket of a surviving core: nothing, unless they are not confined."""

import asyncio
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codex_mcp.codex.launch import launcher, outliving
from codex_mcp.codex.surviving.terms import Survival
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from codex_mcp.threads.record import Status
from codex_mcp.threads.threads import Threads
from tests.support.core.cores import environment_below, no_pace, settings_below
from tests.support.core.surviving import GRACE, the_record
from tests.support.patience import PATIENCE
from tests.support.servers.mcp_server import TOUR
from tests.threads.test_thread import end, open_thread, submit

KNOCK = """
import os, socket, sys
with open(sys.argv[2], "w") as said:
    for path in (sys.argv[1], os.path.realpath(sys.argv[1])):
        try:
            socket.socket(socket.AF_UNIX).connect(path)
            print("connected", file=said)
        except OSError as error:
            print(type(error).__name__, file=said)
"""


@asynccontextmanager
async def surviving_threads(folder: Path, codex: Path | None = None) -> AsyncIterator[Threads]:
    """Threads on the real Codex, which listens on a socket, and its model."""
    async with ScriptedModel(load_script(TOUR)) as model:
        named = {} if codex is None else {"codex_bin": str(codex)}
        settings = settings_below(folder, overrides=tuple(model.codex_overrides()), **named)
        survival = Survival(str(folder / "state"), GRACE)
        launch = outliving(launcher(settings.core, environment_below(folder)), survival, settings.core.codex_home)
        threads = Threads(settings.core, settings.calls, launch, no_pace)
        try:
            yield threads
        finally:
            async with asyncio.timeout(PATIENCE):
                await threads.aclose()


def run(command: str) -> str:
    return f"[[scene: run cmd={shlex.quote(command)}]]".replace("'", '"')


NETWORK = "sandbox_workspace_write.network_access"


@pytest.mark.parametrize("config", [{}, {NETWORK: True}], ids=["without network", "with network"])
@pytest.mark.parametrize("way", ["{}", "setsid -w {}", "env -i {}"])
async def test_a_sandboxed_command_cannot_connect_to_the_core(
    tmp_path: Path, config: dict[str, object], way: str
) -> None:
    async with surviving_threads(tmp_path) as threads:
        thread = await open_thread(threads, tmp_path, sandbox="workspace-write", config=config)
        script, said = tmp_path / "work" / "knock.py", tmp_path / "work" / "said"
        script.write_text(KNOCK)
        words = way.format(f"{sys.executable} {script} {the_record(tmp_path).socket} {said}")
        outcome = await end(submit(thread, run(words)))
        assert outcome.status is Status.COMPLETED, outcome
        assert said.read_text().split() == ["PermissionError", "PermissionError"]


async def test_a_sandboxed_command_cannot_change_what_the_next_server_believes(tmp_path: Path) -> None:
    async with surviving_threads(tmp_path) as threads:
        keys = ("network_access", "exclude_slash_tmp", "exclude_tmpdir_env_var")  # this test's state is in one of those
        config = {f"sandbox_workspace_write.{key}": True for key in keys}
        thread = await open_thread(threads, tmp_path, sandbox="workspace-write", config=config)
        core = tmp_path / "state" / "core"
        before = {path.name: path.lstat().st_mtime_ns for path in core.iterdir()}
        await end(
            submit(thread, run(f"cd {core}; for each in *; do echo forged > $each; rm -f $each; done; touch new"))
        )
        assert {path.name: path.lstat().st_mtime_ns for path in core.iterdir()} == before


async def test_sandboxed_commands_work_when_the_package_of_the_running_core_was_removed(tmp_path: Path) -> None:
    import codex_cli_bin  # noqa: PLC0415

    source, package = Path(codex_cli_bin.__file__).parent, tmp_path / "package"
    for name in ("bin/codex", "codex-path/rg", "codex-resources/bwrap", "codex-package.json"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).hardlink_to(source / name)
    async with surviving_threads(tmp_path, package / "bin" / "codex") as threads:
        thread = await open_thread(threads, tmp_path, sandbox="workspace-write")
        await end(submit(thread, run("touch before")))
        shutil.rmtree(package)
        outcome = await end(submit(thread, run("touch after")))
        assert outcome.status is Status.COMPLETED
        assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["after", "before"]
