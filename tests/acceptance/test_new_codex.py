"""A Codex that our tests did not run with: tried before it is used, while our own serves."""

import os
from pathlib import Path

from codex_mcp.codex.versions.verdicts import verdict_on
from tests.support.core.odd_codex import odd_codex
from tests.support.mail.folders import until
from tests.support.servers.mcp_server import scripted_server

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
