"""What a server loads before it is asked for anything."""

import subprocess
import sys

LOADED = """
import sys
import codex_mcp.mcp.tools.team_tools, codex_mcp.team.team
from codex_mcp.mcp.control import inside, late
print(*sorted(name for name in sys.modules if name.startswith("codex_mcp.") and "control" in name))
"""


def test_the_socket_is_not_loaded_before_the_server_has_joined_its_store() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    modules = ["codex_mcp.mcp.control", "codex_mcp.mcp.control.inside", "codex_mcp.mcp.control.late"]
    assert done.stdout.split() == [*modules, "codex_mcp.wire.control"]  # and the types of its messages
