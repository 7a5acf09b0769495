"""Which program is started as the core, and how."""

import asyncio
import contextlib
import os
import stat
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.base.errors import NoCodex, Refused
from codex_mcp.codex.launch import UNLOAD_DELAY, launcher
from codex_mcp.codex.legacy.core import LegacyCore
from codex_mcp.codex.supervisor import CoreLaunch, Launcher
from codex_mcp.codex.versions.trials import Trials
from tests.support.core.cores import Listener, no_pace, settings_below
from tests.support.rpc.memory_channel import memory_pair
from tests.support.settings import make_settings


async def _launched(launch: Launcher) -> CoreLaunch:
    return await launch()


def fake_codex(folder: Path, version: str) -> Path:
    path = folder / "codex"
    path.write_text(f"#!/bin/sh\necho codex-cli {version}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def test_our_own_codex_is_started_as_an_app_server_in_the_home_of_the_settings(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, overrides=('model="m"',))
    launch = await launcher(settings.core, {"PATH": str(tmp_path), "NAME": "Ada"})()
    assert list(launch.argv[:4]) == [str(bundled_codex_path()), "app-server", "-c", UNLOAD_DELAY]
    assert 'model="m"' in launch.argv
    assert launch.environment["CODEX_HOME"] == settings.core.codex_home
    assert launch.environment["NAME"] == "Ada"
    assert launch.environment["PATH"].endswith(f"{os.pathsep}{tmp_path}")


def test_a_home_that_is_not_there_is_made(tmp_path: Path) -> None:
    settings = settings_below(tmp_path)
    Path(settings.core.codex_home).rmdir()
    asyncio.run(_launched(launcher(settings.core, {"PATH": ""})))
    assert stat.S_IMODE(Path(settings.core.codex_home).stat().st_mode) == 0o700


@pytest.mark.parametrize("way", ["a file", "a dead link", "below a file"])
async def test_a_home_that_cannot_be_used_is_refused_with_what_to_do(tmp_path: Path, way: str) -> None:
    home = tmp_path / "there"
    if way == "a dead link":
        home.symlink_to(tmp_path / "gone")
    else:
        home.write_text("")
    chosen = home / "below" if way == "below a file" else home
    settings = make_settings(codex_home=str(chosen))
    remedy = "make it a folder" if way == "below a file" else "move it away"
    with pytest.raises(Refused, match=f"cannot use Codex's folder {chosen}: .*; {remedy}.* or CODEX_HOME"):
        await launcher(settings.core, {"PATH": ""})()


@pytest.mark.parametrize("is_there", [False, True])
async def test_the_folder_of_shell_snapshots_is_private(tmp_path: Path, is_there: bool) -> None:  # noqa: FBT001
    settings = settings_below(tmp_path)
    folder = tmp_path / "home/.codex/shell_snapshots"
    if is_there:
        folder.mkdir(mode=0o755)
    await launcher(settings.core, {"PATH": ""})()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_folder_of_shell_snapshots_that_cannot_be_made_is_no_hindrance(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_below(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (tmp_path / "home/.codex/shell_snapshots").symlink_to(elsewhere)
    await launcher(settings.core, {"PATH": ""})()
    assert "shell_snapshots readable by you alone" in caplog.text
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


async def test_the_environment_may_have_no_path(tmp_path: Path) -> None:
    launch = await launcher(settings_below(tmp_path).core, {})()
    assert os.defpath in launch.environment["PATH"]


async def test_a_codex_that_was_passed_over_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fake_codex(tmp_path, "0.1.0")
    launch = await launcher(settings_below(tmp_path).core, {"PATH": str(tmp_path)})()
    assert launch.argv[0] == str(bundled_codex_path())
    assert "is Codex 0.1.0" in caplog.text


async def test_a_codex_that_is_not_there_cannot_be_started(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, codex_bin="/nowhere/codex")
    with pytest.raises(NoCodex, match="there is no such program"):
        await launcher(settings.core, {"PATH": ""})()


async def test_a_codex_that_cannot_be_tried_is_refused(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, codex_bin=str(fake_codex(tmp_path, "9.9.9")))
    (tmp_path / "home/.codex/codex-mcp").write_text("in the way of what trials leave")
    async with contextlib.aclosing(Trials(settings.core.codex_home, os.environ)) as trials:
        with pytest.raises(NoCodex, match="it could not be tried; `codex-mcp doctor --self-test` shows why, and"):
            await launcher(settings.core, {"PATH": ""}, trials=trials)()


async def test_an_override_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, overrides=("no equals sign",))
    with pytest.raises(Refused):
        await launcher(settings.core, {"PATH": ""})()


async def test_an_old_codex_is_started_as_its_own_mcp_server_and_its_threads_are_given_the_overrides(
    tmp_path: Path,
) -> None:
    codex = fake_codex(tmp_path, "0.153.4")
    settings = settings_below(tmp_path, codex_bin=str(codex), overrides=('model="m"', "a.b=1"))
    launch = await launcher(settings.core, {"PATH": ""})()
    assert list(launch.argv) == [str(codex), "mcp-server"]
    assert (launch.backend, launch.version) == ("mcp-server", "0.153.4")
    near, _far = memory_pair()
    core = launch.converse(near, Listener(), settings.core, no_pace)
    assert isinstance(core, LegacyCore)
    assert core.version == "0.153.4"
    assert core._config["model"] == "m"
    assert core._config["a"] == {"b": 1}
    await core.aclose()


async def test_an_old_codex_and_an_exec_server_do_not_go_together(tmp_path: Path) -> None:
    settings = settings_below(tmp_path, codex_bin=str(fake_codex(tmp_path, "0.104.0")), exec_server="ws://x")
    with pytest.raises(Refused, match=r"cannot use an exec-server with Codex 0\.104\.0"):
        await launcher(settings.core, {"PATH": ""})()
