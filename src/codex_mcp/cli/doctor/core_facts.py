"""Starts Codex as a server does, and asks for what can be known without a turn; runs a turn on a scripted model."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Final

from msgspec import Raw

from codex_mcp.base.disk.scratch import scratch_folder
from codex_mcp.base.errors import Explained, Notice
from codex_mcp.base.processes.programs import OURSELVES
from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.doctor import facts
from codex_mcp.cli.mcp_client.client import ServerLaunch, Unattended, connect
from codex_mcp.codex.binary import Binary
from codex_mcp.codex.core import CoreError
from codex_mcp.codex.launch import launcher
from codex_mcp.rpc.peer import no_pace
from codex_mcp.scripted_model.load import PACKAGED
from codex_mcp.threads.threads import Threads

ANSWER: Final = "codex-mcp works"
PROMPT: Final = f'[[scene: say text="{ANSWER}"]]'
TURN_PATIENCE: Final = 60.0
"""Seconds; the turn takes less than one."""

UNKNOWN_ACCOUNT: Final = "an account"


async def ask_core(settings: Settings, environment: Mapping[str, str], *, is_old: bool) -> facts.Core:
    """Start Codex, ask for its account and its configuration, and end it."""
    threads = Threads(settings.core, settings.calls, launcher(settings.core, environment), no_pace)
    try:
        core = await threads.supervisor.core()
        if is_old:
            return facts.Core(is_known=False)
        account = await core.account()
        try:
            await core.request("config/read", {"includeLayers": False}, Raw)
            config_error = None
        except CoreError as exc:
            config_error = Notice(" ".join(exc.notice.problem.split()), exc.notice.fix)
        return facts.Core(
            config_error=config_error, account=_kind(account.account), needs_sign_in=account.requires_openai_auth
        )
    except Explained as exc:
        return facts.Core(error=str(exc))
    finally:
        await threads.aclose()


def _kind(account: object) -> str | None:
    """The kind of an account; its e-mail address stays private."""
    if account is None:
        return None
    kind = account.get("type") if isinstance(account, Mapping) else None
    return kind if isinstance(kind, str) else UNKNOWN_ACCOUNT


def run_turn(binary: Binary, environment: Mapping[str, str], codex_home: str) -> facts.Turn:
    """One call of the tool `codex` to a server of its own, in a temporary home, with a scripted model."""
    try:
        with scratch_folder(codex_home) as folder:
            for name in (os.path.join("home", ".codex"), "work", "temporary"):
                os.makedirs(os.path.join(folder, name))
            began = time.monotonic()
            error = asyncio.run(_turn(binary, _environment(environment, folder), os.path.join(folder, "work")))
            return facts.Turn(error, time.monotonic() - began)
    except OSError as exc:
        return facts.Turn(f"cannot make a folder for it in {codex_home}: {exc.strerror}", 0.0)


def _environment(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    kept = {name: environment[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in environment}
    home = os.path.join(folder, "home")
    temporary = os.path.join(folder, "temporary")
    return {**kept, "HOME": home, "CODEX_HOME": os.path.join(home, ".codex"), "TMPDIR": temporary}


async def _turn(binary: Binary, environment: Mapping[str, str], cwd: str) -> str:
    """Why it failed; empty if it worked."""
    argv = [*OURSELVES, "mcp-server", "--scripted", str(PACKAGED / "tour.toml")]
    argv += ["--codex-bin", binary.path, "--allow-untested-codex", "--shutdown-grace", "0"]
    try:
        async with (
            asyncio.timeout(TURN_PATIENCE),
            connect(ServerLaunch(argv, environment, cwd), Unattended()) as client,
        ):
            await client.initialize()
            result = await client.call_tool("codex", {"prompt": PROMPT, "cwd": cwd})
    except TimeoutError:
        return f"there was no answer after {TURN_PATIENCE:g} s"
    except Explained as exc:
        return str(exc)
    said = result.text
    return "" if ANSWER in said else f"the answer was not the expected one: {said[:200]}"
