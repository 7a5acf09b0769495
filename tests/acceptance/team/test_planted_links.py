"""A sandboxed agent plants links wherever it may write while the server looks at its work: it harms nothing."""

import sys
from pathlib import Path

import pytest

from tests.support.repositories import repository
from tests.support.servers.mcp_server import Json
from tests.support.team.fixtures import Team
from tests.support.team.scenes import TEAM_SCRIPT

WRITING: Json = {"sandbox": "workspace-write", "approval-policy": "never"}

LOOKS = 8
"""Calls of codex_diff; one to three were enough."""

ATTACK = """
import os, sys
victim, started, places = sys.argv[1], sys.argv[2], sys.argv[3:]
known = {each.path for place in places if os.path.isdir(place) for each in os.scandir(place)}
open(started, "w").close()
while True:
    for place in places:
        try:
            found = [each.path for each in os.scandir(place) if each.path not in known]
        except OSError:
            continue
        for folder in found:
            try:
                os.symlink(victim, folder + "/planted")
                os.rename(folder + "/planted", folder + "/index")
            except OSError:
                pass
"""


@pytest.mark.parametrize("at_home", [False, True])
async def test_links_planted_while_a_diff_is_made_harm_nothing(team: Team, tmp_path: Path, *, at_home: bool) -> None:
    home = tmp_path / "home"
    checkout = repository(home if at_home else tmp_path / "repo", a="1\n")
    (checkout / ".gitignore").write_text("/.*\n")
    victim = tmp_path / "outside" / ".bashrc"
    victim.parent.mkdir()
    victim.write_text("precious\n")
    attack, started = checkout / "attack.py", checkout / "started"
    attack.write_text(ATTACK)
    places = [tmp_path / "tmp", home / ".codex/codex-mcp/scratch", home / ".config/atm/codex-sessions"]
    command = " ".join(map(str, [sys.executable, attack, victim, started, *places]))
    no_tmp = ["sandbox_workspace_write.exclude_slash_tmp=true"]  # the test's own folders are in it
    async with team(script=TEAM_SCRIPT, overrides=no_tmp) as (server, _):
        agent = await server.start("hello", identity="arch", cwd=str(checkout), **WRITING)
        await server.reply("arch", f'[[scene: run cmd="{command}"]]', background=True)
        await server.until(started.exists)
        (checkout / "a").write_text("2\n")
        for _ in range(LOOKS):
            await server.answer(server.call("codex_diff", {"id": agent["codex_id"], "of": "uncommitted"}))
            assert victim.read_text() == "precious\n"
        shown = await server.run("codex_diff", {"id": agent["codex_id"], "of": "uncommitted"})
        assert "+2" in shown["content"][0]["text"]
        await server.run("codex_interrupt", {"codex_id": agent["codex_id"]})
    assert [each.name for each in victim.parent.iterdir()] == [".bashrc"]
