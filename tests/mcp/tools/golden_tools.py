"""What each surface lists, and what each tool says to arguments that are wrong; the same without and with a team.

`python -m tests.mcp.tools.golden_tools` writes it anew. The arguments that a tool accepts are taken from its own error,
so that every one of them is tried, also those that are not listed.
"""

import asyncio
import contextlib
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from codex_mcp import __version__
from codex_mcp.base.settings.kinds import Surface
from codex_mcp.mcp.tools.product import MakeProduct, plain_product, team_product
from codex_mcp.state.contract import Store
from codex_mcp.team.mail.team_mail import MailPlace
from codex_mcp.team.profile.roles import Role
from tests.support.servers.mcp_session import FarEnd, Json, memory_session
from tests.support.state.memory import MemoryStore, World

FOLDER: Final = Path(__file__).parent / "golden"

PLAIN: Final = (None, Surface.CODEX, Surface.SESSIONS, Surface.ALL)
TEAM: Final = (*PLAIN, Surface.TEAM)

WRONG: Final = (None, [[1]], "nothing like it", -1.5, 10**400, True)
"""Values that few arguments allow. A call that they do not stop is stopped by its argument `nope`."""

COMBINED: Final[tuple[tuple[str, Json], ...]] = (
    ("codex", {"prompt": "hi", "cwd": "a", "workingDirectory": "b", "sessionId": "s"}),
    ("codex", {"prompt": "hi", "callbackUri": "a\nb", "sessionId": "s"}),
    ("codex", {"prompt": "hi", "sessionId": "../s"}),
    ("codex", {"prompt": "hi", "goal": " "}),
    ("codex", {"prompt": "hi", "approval_policy": "never", "approvalPolicy": "never"}),
    ("codex", {"identity": "arch"}),
    ("codex", {"codex_id": "codex:1", "agent_file": "a.md"}),
    ("codex", {"codex_id": "codex:1", "model": "m", "worktree": True}),
    ("codex", {"agent_id": "codex:1", "cwd": "/"}),
    ("codex", {"fork_from": "codex:1"}),
    ("codex", {"fork_from": "codex:1", "prompt": "hi", "role": "r", "profile": "p"}),
    ("codex", {"prompt": "hi", "request_id": "x" * 1001}),
    ("codex", {"prompt": "hi", "sessionId": "s", "identity": "arch"}),
    ("codex-reply", {"prompt": "hi"}),
    ("codex-reply", {"prompt": "hi", "id": "nobody"}),
    ("codex_wait", {"ids": ["nobody"]}),
    ("codex_close", {}),
    ("codex_close", {"agent_id": "nobody"}),
    ("agent_close", {}),
    ("codex_interrupt", {"id": "nobody"}),
    ("codex_diff", {}),
    ("codex_diff", {"identity": "nobody"}),
    ("codex_review", {"id": "nobody", "cwd": "/"}),
    ("codex_review", {"of": "main"}),
    ("codex_review", {"target": "base"}),
    ("codex_review", {"base": "main", "commit": "1"}),
    ("codex_approvals", {}),
    ("codex_approvals", {"id": "q"}),
    ("codex_approvals", {"id": "q", "decision": "approved"}),
    ("codex_threads", {}),
    ("agent_sessions", {}),
    ("review", {"base": "main", "commit": "1"}),
    ("review", {"title": "T"}),
    ("websearch", {"query": " "}),
    ("listSessions", {}),
    ("ping", {}),
    ("ping", {"message": "hello"}),
    ("help", {}),
    ("atm_send", {"identity": "nobody", "to": "arch", "message": "hi"}),
    ("atm_read", {"identity": "nobody"}),
    ("nope", {}),
)


async def _open_store() -> Store:
    return MemoryStore(World())


def _product(home: Path, *, team: bool) -> MakeProduct:
    roles = {"tester": Role(purpose="writes tests. "), "Bad Name": Role()}
    return team_product(roles, _open_store, MailPlace(str(home / "mail"))) if team else plain_product


@contextlib.asynccontextmanager
async def surface_session(
    home: Path, surface: Surface | None, *, team: bool, **more: Any
) -> AsyncIterator[tuple[FarEnd, Any]]:
    settings = {"state_dir": str(home / "state"), **more, **({} if surface is None else {"tools": surface})}
    async with memory_session(home, _product(home, team=team), **settings) as pair:
        yield pair


async def listed(home: Path, *, team: bool) -> bytes:
    """Every form of every tool, with the surfaces on which it is listed like this; and the order of the tools."""
    order: dict[str, list[str]] = {}
    forms: dict[str, list[str]] = {}
    places: Json = {"exec_server": "ws://127.0.0.1:9"}
    kinds: list[tuple[Surface | None, Json]] = [
        *((surface, {}) for surface in (TEAM if team else PLAIN)),
        (Surface.ALL, places),
    ]
    for surface, more in kinds:
        async with surface_session(home, surface, team=team, **more) as (client, _):
            tools = (await client.ask("tools/list"))["result"]["tools"]
        name = "with environments" if more else str(surface or "default")
        order[name] = [tool["name"] for tool in tools]
        for tool in tools:
            forms.setdefault(msgspec.json.encode(tool).decode(), []).append(name)
    tools_on = [{"listed on": names, "tool": msgspec.Raw(form.encode())} for form, names in forms.items()]
    return msgspec.json.format(msgspec.json.encode({"order": order, "tools": tools_on}), indent=1) + b"\n"


def _tried(names: list[str]) -> Iterator[Json]:
    yield {}
    for name in names:
        for value in WRONG:
            yield {name: value, "nope": 1}


async def _told(client: FarEnd, tool: str, arguments: Json | None) -> str:
    params = {"name": tool} if arguments is None else {"name": tool, "arguments": arguments}
    result = (await client.ask("tools/call", params))["result"]
    text = "\n".join(block["text"] for block in result["content"])
    more = {key: value for key, value in result.items() if key not in ("content", "isError")}
    said = text + (f"\n{msgspec.json.encode(more).decode()}" if more else "")
    return said.replace(__version__, "VERSION").replace("\n", "\n    ")


async def refusals(home: Path, *, team: bool) -> bytes:
    """What each tool says to each wrong value of each argument, and to arguments that do not go together."""
    lines: list[str] = []

    async def try_call(tool: str, arguments: Json | None) -> None:
        shown = "nothing" if arguments is None else re.sub(r"(x{9})x+|(10{9})0+", r"\1\2…", repr(arguments))
        told = await _told(client, tool, arguments)
        if "unknown field `nope`" not in told:
            lines.extend((f"{tool} {shown}", f"    {told}"))

    async with surface_session(home, Surface.ALL, team=team) as (client, _):
        tools = [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]
        for tool in tools:
            told = await _told(client, tool, {"nope": 1})
            assert "Unknown tool" not in told, f"{tool} is listed, and has no body"
            accepted = re.findall(r"`([^`]+)`", told.partition("expected one of")[2])
            lines.append(f"== {tool}: {', '.join(accepted)}")
            for arguments in _tried(accepted) if accepted else ():
                if arguments or tool in ("codex", "codex-reply"):
                    await try_call(tool, arguments)
        lines.append("== combined")
        await try_call("codex", None)
        await try_call("codex-reply", None)
        for tool, arguments in COMBINED:
            await try_call(tool, arguments)
    return "\n".join(lines).encode() + b"\n"


async def golden(home: Path) -> dict[str, bytes]:
    return {
        "listed.json": await listed(home, team=False),
        "team-listed.json": await listed(home, team=True),
        "refusals.txt": await refusals(home, team=False),
        "team-refusals.txt": await refusals(home, team=True),
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in asyncio.run(golden(Path(folder))).items():
            (FOLDER / name).write_bytes(contents)
            sys.stdout.write(f"{FOLDER / name}\n")
