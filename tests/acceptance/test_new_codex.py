"""A Codex that our tests did not run with: tried before it is used, while our own serves."""

import os
import subprocess
from pathlib import Path

from codex_cli_bin import bundled_codex_path

from codex_mcp.codex.versions.verdicts import verdict_on
from tests.support.core.odd_codex import odd_codex
from tests.support.mail.folders import until
from tests.support.servers.mcp_server import McpServer, Setup, scripted_server

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


async def test_a_codex_on_path_that_only_claims_a_version_never_serves(tmp_path: Path) -> None:
    codex = tmp_path / "bin/codex"
    codex.parent.mkdir()
    codex.write_text("#!/bin/sh\necho codex-cli 9.9.9\n")
    codex.chmod(0o755)
    home = str(tmp_path / "home/.codex")
    async with scripted_server(tmp_path, environment=path_with(codex.parent)) as (server, _model):
        await server.initialize()
        assert (await server.run("codex", HELLO))["structuredContent"]["status"] == "completed"
        await until(lambda: verdict_on(str(codex), home) is not None)
    verdict = verdict_on(str(codex), home)
    assert verdict is not None
    assert (verdict.failed, verdict.why) == ("schema", "it does not describe its protocol (exit code 0)")


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
