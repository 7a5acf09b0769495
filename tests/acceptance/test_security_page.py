"""The sandboxes confine commands as the table of docs/security.md says."""

from pathlib import Path

import pytest

from tests.support.servers.mcp_server import scripted_server
from tests.test_docs import ROOT, table_rows

WORKS = {
    "read-only": {"read"},
    "workspace-write": {"read", "wrote"},
    "danger-full-access": {"read", "wrote", "git", "net"},
}


@pytest.mark.parametrize("sandbox", [*WORKS, None])
async def test_a_sandbox_allows_what_the_page_says(tmp_path: Path, sandbox: str | None) -> None:
    secret = tmp_path / "secret"
    secret.write_text("read\n")
    async with scripted_server(tmp_path) as (server, model):
        (server.setup.work / ".git").mkdir()
        port = model.base_url.rpartition(":")[2].partition("/")[0]
        tries = [
            f"cat {secret}",
            "touch made && echo wrote",
            "touch .git/made && echo git",
            f"bash -c 'echo > /dev/tcp/127.0.0.1/{port}' && echo net",
        ]
        await server.initialize()
        arguments = {"prompt": f'[[scene: run cmd="{"; ".join(tries)}"]]', "approval-policy": "never"}
        result = await server.run("codex", arguments | ({"sandbox": sandbox} if sandbox else {}))
    printed = set(result["structuredContent"]["content"].splitlines())
    assert printed & {"read", "wrote", "git", "net"} == WORKS[sandbox or "read-only"]


def test_the_page_has_a_row_for_each_sandbox() -> None:
    named = {row[0].strip("`") for row in table_rows(ROOT / "docs/security.md") if len(row) == 4}
    assert named >= WORKS.keys()
