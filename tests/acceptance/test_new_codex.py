"""A Codex that our tests did not run with: tried before it is used, while our own serves."""

import os
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.codex.versions.verdicts import verdict_on
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.core.odd_codex import odd_codex
from tests.support.mail.folders import until
from tests.support.processes import the_server
from tests.support.servers.mcp_server import TOUR, McpServer, Setup, scripted_server

HELLO = {"prompt": "hello"}


def path_with(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


async def test_a_newer_codex_on_path_serves_once_it_has_passed_while_our_own_serves_meanwhile(tmp_path: Path) -> None:
    codex = odd_codex(tmp_path / "bin")
    home = str(tmp_path / "home/.codex")
    async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
        await server.initialize()
        result = await server.run("codex", HELLO)
        assert result["structuredContent"]["status"] == "completed"
        assert f"started: {codex}" not in server.log
        await until(lambda: verdict_on(str(codex), home) is not None)
    async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
        await server.initialize()
        result = await server.run("codex", HELLO)
        assert result["structuredContent"]["status"] == "completed"
        assert f"started: {codex}" in server.log


async def test_a_version_with_an_exception_is_named_and_not_used(tmp_path: Path) -> None:
    """0.166.0 ignores the model provider of a call; with it on PATH, a call chooses its provider nevertheless."""
    codex = tmp_path / "bin/codex"
    codex.parent.mkdir()
    codex.write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    codex.chmod(0o755)
    async with (
        ScriptedModel(load_script(TOUR)) as second,
        scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, model),
    ):
        await server.initialize()
        described = {"name": "second", "base_url": second.base_url, "wire_api": "responses"}
        config = {"model_provider": "second", "model_providers.second": described}
        result = await server.run("codex", {**HELLO, "config": config})
        assert result["structuredContent"]["status"] == "completed"
        assert (len(second.requests), len(model.requests)) == (1, 0)
        assert f"{codex} is Codex 0.166.0, and it ignores the model provider that a call names; using our" in server.log


async def test_an_unfit_codex_that_the_user_names_serves_no_call(tmp_path: Path) -> None:
    codex = odd_codex(tmp_path / "bin", "ignores the provider")
    async with scripted_server(tmp_path, "--codex-version", str(codex)) as (server, model):
        await server.initialize()
        for _ in range(2):  # the second time from the verdict
            result = await server.run("codex", HELLO)
            assert result["isError"]
            assert "Codex 9.9.9 failed the self-test (provider: a call could not choose its model provider" in str(
                result["content"]
            )
        assert not model.requests


def only_claims(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "codex"
    path.write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    path.chmod(0o755)
    return path


LIES: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "only claims a version": (only_claims, "schema", "it does not describe its protocol (exit code 0)"),
    "lacks a method": (partial(odd_codex, habit="lacks a method"), "schema", "it has no method turn/steer"),
    "dies": (partial(odd_codex, habit="dies"), "turn", "an agent did not answer"),
    "fails one behaviour": (partial(odd_codex, habit="asks nobody"), "approval", "was not asked about once"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_codex_on_path_that_lies_never_serves(tmp_path: Path, lie: str) -> None:
    make, check, why = LIES[lie]
    codex = make(tmp_path / "bin")
    home = str(tmp_path / "home/.codex")
    for _ in range(2):  # the second time with the verdict
        async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
            await server.initialize()
            assert (await server.run("codex", HELLO))["structuredContent"]["status"] == "completed"
            assert f"started: {codex}" not in server.log
            await until(lambda: verdict_on(str(codex), home) is not None)
    verdict = verdict_on(str(codex), home)
    assert verdict is not None
    assert (verdict.failed, why in verdict.why) == (check, True), verdict
    assert f"{codex} is Codex 9.9.9, which failed the self-test ({check}: {verdict.why}); using our own" in server.log


async def test_a_codex_on_path_that_hangs_when_asked_for_its_version_is_asked_once(tmp_path: Path) -> None:
    codex = tmp_path / "bin/codex"
    codex.parent.mkdir()
    codex.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexec sleep 1000\n")
    codex.chmod(0o755)
    home = str(tmp_path / "home/.codex")
    for _ in range(2):
        async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
            await server.initialize()
            assert (await server.run("codex", HELLO))["structuredContent"]["status"] == "completed"
            assert f"cannot run {codex}: it does not say which version of Codex it is" in server.log
            await until(lambda: verdict_on(str(codex), home) is not None)
    assert (tmp_path / "asked").read_text().count("asked") == len(["the first server", "its trial"])


def tried_at(codex: Path) -> set[int]:
    """The processes of a trial: those whose command line has this Codex."""
    found = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return {pid for pid in found if str(codex).encode() in arguments(pid)}


def arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def test_a_trial_goes_on_when_our_own_codex_dies(tmp_path: Path) -> None:
    codex = odd_codex(tmp_path / "bin", "waits for a file")
    home = str(tmp_path / "home/.codex")
    async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
        await server.initialize()
        await server.run("codex", HELLO)
        await until(lambda: bool(tried_at(codex)))
        await server.kill_core()
        await server.run("codex", HELLO)
        (codex.parent / "file").touch()
        await until(lambda: verdict_on(str(codex), home) is not None)
    assert "could not be tried" not in server.log
    assert "Unknown child process" not in server.log


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
async def test_a_trial_ends_with_its_server(tmp_path: Path, end: signal.Signals) -> None:
    codex = odd_codex(tmp_path / "bin", "hangs")
    async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
        await server.initialize()
        await server.run("codex", HELLO)
        await until(lambda: any(b"thread_unload_delay_secs" in arguments(pid) for pid in tried_at(codex)))
        os.kill(the_server(server.setup.home).pid, end)
        await until(lambda: not tried_at(codex))
    assert verdict_on(str(codex), str(tmp_path / "home/.codex")) is None
    assert "could not be tried" not in server.log
    assert "Unknown child process" not in server.log


FUTURE = 'model_provider = "from-the-future"\n'


def refused_home(folder: Path) -> None:
    """A configuration that the Codex of the tests does not know yet, as `gcp` was unknown before 0.166.0."""
    home = folder / "home/.codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(FUTURE)


async def test_an_older_core_on_a_newer_configuration_names_the_version_as_the_likely_cause(tmp_path: Path) -> None:
    refused_home(tmp_path)
    own = version_of(bundled_codex_path())
    async with McpServer(Setup(tmp_path, [], (), {})) as server:
        await server.initialize()
        result = await server.run("codex", HELLO)
    assert result["content"][0]["text"] == (
        "Failed to load Codex configuration from overrides: Model provider `from-the-future` not found: the likely "
        f"cause is that this is Codex {own}, and a newer one wrote or needs this setting; name a newer Codex as "
        "codex_version, or correct the setting"
    )


async def test_an_older_core_on_a_newer_configuration_names_the_newer_codex_that_would_know(tmp_path: Path) -> None:
    refused_home(tmp_path)
    codex = odd_codex(tmp_path / "bin")
    async with McpServer(Setup(tmp_path, [], ("--codex-version", "tested"), path_with(codex.parent))) as server:
        await server.initialize()
        for config in ({}, {"model_provider": "from-the-future"}):
            said = (await server.run("codex", {**HELLO, "config": config}))["content"][0]["text"]
            assert f"not found: the likely cause is that this is Codex {version_of(bundled_codex_path())}" in said
            assert f", while {codex} is Codex 9.9.9, and codex_version = tested allows " in said
            assert said.endswith("; set codex_version to newest, which tries it, then start this server again")


def version_of(codex: Path) -> str:
    said = subprocess.run([codex, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[-1]
