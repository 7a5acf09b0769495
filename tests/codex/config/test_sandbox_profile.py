"""A permission profile that allows exactly what a sandbox policy allows, and has entries for single paths."""

import subprocess
from pathlib import Path

from codex_mcp.codex.config.permissions import Grant, with_entries
from codex_mcp.codex.config.sandbox_profile import OURS, TABLE, profile_of
from codex_mcp.codex.core import ThreadSpec
from codex_mcp.scripted_model.load import load_script
from codex_mcp.scripted_model.server import ScriptedModel
from tests.support.core.app_server import AppServer, Json
from tests.support.servers.mcp_server import TOUR

NETWORK: Json = {
    "type": "workspaceWrite",
    "writableRoots": ["/more"],
    "networkAccess": True,
    "excludeTmpdirEnvVar": True,
    "excludeSlashTmp": False,
}


def test_a_policy_becomes_a_profile() -> None:
    assert profile_of(NETWORK, {"/more/config": "read"}) == {
        "filesystem": {
            ":root": "read",
            ":workspace_roots": "write",
            ":slash_tmp": "write",
            "/more": "write",
            "/more/config": "read",
        },
        "network": {"enabled": True},
    }
    named = profile_of(NETWORK, {"/tree": "write", "/tree/sub": "write"})
    assert named["filesystem"] == {
        ":root": "read",
        ":slash_tmp": "write",
        "/more": "write",
        "/tree": "write",
        "/tree/sub": "write",
    }
    assert profile_of({"type": "readOnly"}, {"/secret": "deny"}) == {
        "filesystem": {":root": "read", "/secret": "deny"},
        "network": {"enabled": False},
    }


def test_secrets_are_hidden_where_there_is_a_network() -> None:
    hidden = ["/h/codex-mcp"]
    assert with_entries(Grant(policy=NETWORK), ThreadSpec(), hidden).entries == {"/h/codex-mcp": "deny"}
    closed = Grant(policy={**NETWORK, "networkAccess": False})
    for grant, spec in (
        (closed, ThreadSpec()),
        (Grant(policy={"type": "dangerFullAccess"}), ThreadSpec()),
        (Grant(profile="mine"), ThreadSpec()),
        (Grant(policy=NETWORK), ThreadSpec(environment="far")),
    ):
        assert with_entries(grant, spec, hidden) == grant
    assert with_entries(closed, ThreadSpec(entries={"/w/.git": "read"}), hidden).entries == {"/w/.git": "read"}


def _make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


PROBE = """
for place in inside .git/x .codex/x .agents/x EXTRA/y EXTRA/.git/y $TMPDIR/z OUTSIDE/w; do
  (mkdir -p $(dirname $place) && echo hi > $place) 2> /dev/null && echo "wrote $place" || echo "kept $place"
done
(exec 3<> /dev/tcp/127.0.0.1/1) 2>&1 | grep -oE 'not permitted|refused'
ls -a
"""


async def test_the_real_codex_treats_policy_and_profile_alike(tmp_path: Path) -> None:
    """In a repository and in a plain folder, with and without network and temporary folder."""
    home, extra = tmp_path / "home", tmp_path / "home/extra"
    kinds: list[Json] = [
        {"networkAccess": network, "excludeTmpdirEnvVar": excluded, "excludeSlashTmp": True, "type": "workspaceWrite"}
        for network in (False, True)
        for excluded in (False, True)
    ]
    (home / "plain").mkdir(parents=True)
    for folder in (extra, home / "repository"):
        _make_repository(folder)
    (extra / "kept").write_text("")
    command = PROBE.replace("EXTRA", str(extra)).replace("OUTSIDE", str(home)).replace("\n", "\\n").replace('"', '\\"')
    async with ScriptedModel(load_script(TOUR)) as model, AppServer(home, model.codex_overrides()) as server:
        for policy in [{**kind, "writableRoots": [str(extra)]} for kind in kinds]:
            for folder in (home / "plain", home / "repository"):
                told = []
                for grant in ({"sandboxPolicy": policy}, {"permissions": OURS}):
                    profile = profile_of(policy, {str(extra / "kept"): "read"})
                    thread = await server.start_thread(
                        cwd=str(folder), approvalPolicy="never", sandbox="read-only", config={TABLE: profile}
                    )
                    await server.request("thread/settings/update", {"threadId": thread, **grant})
                    turn = await server.finish_turn(await server.start_turn(thread, f'[[scene: run cmd="{command}"]]'))
                    told.append(turn.text.partition("Output:")[2])
                assert told[0] == told[1]
                assert "wrote inside" in told[0]
                assert "kept .git/x" in told[0]
                assert ("refused" in told[0]) is policy["networkAccess"]


async def test_a_thread_whose_workspace_is_named_cannot_write_where_a_link_leads(tmp_path: Path) -> None:
    home, tree, victim = tmp_path / "home", tmp_path / "home/tree", tmp_path / "home/victim"
    for folder in (home, tree, victim):
        folder.mkdir()
    (tree / "sub").symlink_to(victim)
    policy: Json = {"type": "workspaceWrite", "excludeTmpdirEnvVar": True, "excludeSlashTmp": True}
    command = f"touch {victim}/x; touch {tree}/x; pwd -P"
    async with ScriptedModel(load_script(TOUR)) as model, AppServer(home, model.codex_overrides()) as server:
        thread = await server.start_thread(
            cwd=str(tree / "sub"),
            approvalPolicy="never",
            sandbox="read-only",
            config={TABLE: profile_of(policy, {str(tree): "write"})},
        )
        await server.request("thread/settings/update", {"threadId": thread, "permissions": OURS})
        turn = await server.finish_turn(await server.start_turn(thread, f'[[scene: run cmd="{command}"]]'))
    assert (list(victim.iterdir()), (tree / "x").exists()) == ([], True), turn.text
