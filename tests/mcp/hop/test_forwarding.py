"""What a server loads of the way to other servers before a call is for one of them."""

import subprocess
import sys

LOADED = """
import sys
import codex_mcp.mcp.tools.team_tools, codex_mcp.mcp.tools.product
late = ("codex_mcp.mcp.hop.", "codex_mcp.control", "codex_mcp.wire.hop")
print(*sorted(name for name in sys.modules if name.startswith(late)))
"""


def test_what_sends_is_not_loaded_before_a_call_is_forwarded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["codex_mcp.mcp.hop.forwarding", "codex_mcp.mcp.hop.ways"]
