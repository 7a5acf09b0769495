"""What is loaded before anybody opens a page."""

import subprocess
import sys

STDIO = """
import sys
import codex_mcp.cli.cmd_serve, codex_mcp.mcp.serve, codex_mcp.mcp.control.door, codex_mcp.mcp.tools.team_tools
print(*sorted({"jinja2", "uvicorn", "codex_mcp.dashboard"} & set(sys.modules)))
"""
HTTP = """
import sys
import codex_mcp.cli.cmd_serve, codex_mcp.mcp.http.serve
from codex_mcp.access.access_control import AccessControl
from codex_mcp.base.settings.http import HttpSettings
from codex_mcp.dashboard.late import LatePages
pages = LatePages("state", "home")
pages.opened(AccessControl(HttpSettings(), "home"), "http://127.0.0.1:1")
pages.stop()
print(pages.url, *sorted({"jinja2", "codex_mcp.dashboard.site"} & set(sys.modules)))
link, seconds = pages.sign_in("mira", view=False)
print(link.startswith("http://127.0.0.1:1/ui/sign-in?code="), seconds, "jinja2" in sys.modules)
"""


def said(program: str) -> list[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )


def test_a_server_over_stdio_loads_no_pages_and_no_web_server() -> None:
    assert said(STDIO) == ["", ""]


def test_a_server_with_a_port_loads_its_pages_with_the_first_request() -> None:
    assert said(HTTP) == ["http://127.0.0.1:1/ui", "True 60.0 True", ""]
