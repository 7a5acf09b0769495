"""Finds the Codex to run: the one that the user names, else a fit `codex` on PATH, else the one installed with us.

Fit is what our tests ran with (`versions.measured`), or what has passed a trial on this machine (`versions.verdicts`).

The version is read from `codex-package.json`, which every packaged Codex has, or else from `codex --version`. npm's
`codex` is a Node program that starts the real one; running the real one directly saves a process and 40 ms. This reads
files; on an event loop use `find_codex_soon`.
"""

import contextlib
import importlib.util
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from enum import StrEnum

import msgspec
from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import NoCodex
from codex_mcp.base.files import read_if_there
from codex_mcp.base.processes.programs import find, is_program, places
from codex_mcp.base.settings.core import NEWEST, TESTED, CoreSettings
from codex_mcp.base.settings.kinds import Backend
from codex_mcp.codex.versions.measured import (
    MEASURED,
    Version,
    fit_versions,
    is_fit,
    is_old,
    measured,
    old_range,
    parse_version,
    preview_of,
    shown,
)
from codex_mcp.codex.versions.release import Unused
from codex_mcp.codex.versions.verdicts import verdict_on

OUR_PACKAGE = "codex_cli_bin"
"""The module of the distribution openai-codex-cli-bin, which contains Codex and its tools."""

OLD_PLACE = "codex"
"""The program's folder in npm packages without a `codex-package.json`; its tools are in `path` beside it."""

VERSION_PATIENCE = 10.0
"""Seconds for `codex --version`, which takes 0.02 s; a wrapper on a cold disk takes longer."""

PATH_PATIENCE = 2.0
"""Seconds for a `codex` on PATH that nobody named, while a user's first call waits. A trial then gives it longer."""

LONGEST_VERSION = 4096
"""Bytes. A program that prints more is no Codex; without this limit it could fill the memory."""

NO_VERSION = "version"
"""In a verdict: what has failed if it did not say its version."""

TRY_AGAIN = "run `codex-mcp doctor --self-test` to try it again"

PLATFORMS: dict[tuple[str, str], tuple[str, str]] = {
    # system and machine as in uname: npm package, folder in it
    ("Linux", "x86_64"): ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    ("Linux", "aarch64"): ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
    ("Darwin", "x86_64"): ("codex-darwin-x64", "x86_64-apple-darwin"),
    ("Darwin", "arm64"): ("codex-darwin-arm64", "aarch64-apple-darwin"),
}


OLDEST: Version = MEASURED[0].version
"""An older app-server lacks methods that we need."""


class Origin(StrEnum):
    SETTING = "codex_bin"
    PATH = "PATH"
    PACKAGE = "openai-codex-cli-bin"


class Binary(Struct, frozen=True):
    """A Codex that can be run."""

    path: str
    version: Version
    origin: Origin
    tools_dir: str | None = None
    """A folder of its own programs (rg), for its PATH."""

    preview: str = ""
    """The suffix of its version (`-alpha.3`). Our tests ran with the release, which is another program."""

    is_old: bool = False
    """It runs as `codex mcp-server`."""

    notes: tuple[str, ...] = ()
    """Warnings about the choice, such as a `codex` on PATH that was not used."""

    untried: str | None = None
    """A Codex that has to be tried before it is used: this one, or a newer one on PATH."""

    unused: Unused | None = None

    @property
    def is_fit(self) -> bool:
        """Whether our tests ran with it, and everything works in it."""
        return not self.preview and is_fit(self.version)

    @property
    def full_version(self) -> str:
        return shown(self.version) + self.preview

    def search_path(self, search_path: str) -> str:
        """The PATH for this Codex, with its own tools first."""
        return os.pathsep.join(filter(None, (self.tools_dir, search_path)))


class NoVersion(NoCodex):
    """A program that may be anything, and may hang."""

    def __init__(self, path: str) -> None:
        super().__init__(f"cannot run {path}: it does not say which version of Codex it is, or is no Codex at all")
        self.path = path


class _Package(Struct):
    """The fields of `codex-package.json` that are read."""

    version: str
    pathDir: str | None = None


async def find_codex_soon(settings: CoreSettings, search_path: str) -> Binary:
    """`find_codex` without blocking the event loop."""
    return await in_thread(find_codex, settings, search_path)


def find_codex(settings: CoreSettings, search_path: str) -> Binary:
    """The Codex to run; `search_path` is the user's PATH. Raises NoCodex."""
    if settings.named_codex is not None:
        return _of_setting(settings, settings.named_codex, search_path)
    if settings.backend is Backend.MCP_SERVER:
        return _old_on_path(search_path)
    own = _own_codex()
    chosen, unused = _on_path(settings, search_path, own)
    if chosen is not None:
        return chosen
    if own is None:
        raise _nothing_found(unused)
    if unused is None:
        return own
    notes = (f"{unused.why}; using our own {shown(own.version)}",)
    return msgspec.structs.replace(own, notes=notes, untried=unused.untried, unused=unused)


def _on_path(settings: CoreSettings, search_path: str, own: Binary | None) -> tuple[Binary | None, Unused | None]:
    """The `codex` on PATH if it is fit, else why it is not used; neither if there is none."""
    path = _which("codex", search_path)
    if path is None:
        return None, None
    verdict = verdict_on(_behind_wrapper(os.path.realpath(path)), settings.codex_home)
    if verdict is not None and verdict.failed == NO_VERSION:  # not asked again: it may hang
        return None, Unused(verdict.why, f"correct it, then {TRY_AGAIN}", path=path, has_failed=True)
    try:
        found = _examined(path, Origin.PATH, PATH_PATIENCE if own is not None else None)
    except NoCodex as error:
        return None, Unused(str(error), "correct it, or do nothing", path=path)
    if found.is_fit:
        return found, None
    return _unmeasured(settings, found, path, own)


def _unmeasured(
    settings: CoreSettings, found: Binary, path: str, own: Binary | None
) -> tuple[Binary | None, Unused | None]:
    """A Codex that is not known to be fit: one with exceptions, an older one, or one that has to be tried."""
    is_newer = own is not None and found.version > own.version
    who = f"{path} is Codex {found.full_version}"
    if (row := measured(found.version)) is not None and row.exceptions:
        return None, Unused(f"{who}, and {row.exceptions[0]}", "update it", is_newer)
    if own is not None and found.version < own.version:
        return None, Unused(f"{who}, which is older", "update it, or do nothing")
    if settings.codex_version == TESTED:
        why = f"{who}, and codex_version = {TESTED} allows {fit_versions()}"
        return None, Unused(why, f"set codex_version to {NEWEST}, which tries it", is_newer)
    verdict = verdict_on(found.path, settings.codex_home, found.full_version)
    if verdict is None:
        why = f"{who}, which has not been tried yet"
        return None, Unused(why, "run `codex-mcp doctor --self-test` to try it", is_newer, found.path)
    if verdict.is_fit:
        return found, None
    why = f"{who}, which failed the self-test ({verdict.failed}: {verdict.why})"
    return None, Unused(why, f"update codex-mcp, or {TRY_AGAIN}", is_newer, found.path, has_failed=True)


def check_codex(settings: CoreSettings, search_path: str) -> None:
    """Raise NoCodex if there is certainly no Codex. Unlike `find_codex` it starts no program, so it takes no time."""
    if settings.named_codex is not None:
        _program_of_setting(settings.named_codex, search_path)
    elif settings.backend is not Backend.MCP_SERVER and _own_codex() is None:
        find_codex(settings, search_path)


def _of_setting(settings: CoreSettings, named: str, search_path: str) -> Binary:
    found = _examined(_program_of_setting(named, search_path), Origin.SETTING)
    if settings.backend is not Backend.APP_SERVER and is_old(found.version):
        return msgspec.structs.replace(found, is_old=True)
    if settings.backend is Backend.MCP_SERVER:
        raise _not_old(named, found.version)
    if found.is_fit or settings.allow_untested_codex:
        return found
    if (row := measured(found.version)) is not None and row.exceptions:
        note = f"{named} is Codex {found.full_version}, and {row.exceptions[0]}; using it because you named it"
        return msgspec.structs.replace(found, notes=(note,))
    if found.version < OLDEST:
        raise NoCodex(
            f"cannot run {named}: it is Codex {shown(found.version)}, and the oldest that works here is "
            f"{shown(OLDEST)}",
            "update it, or leave it out to use our own Codex",
        )
    verdict = verdict_on(found.path, settings.codex_home, found.full_version)
    if verdict is not None and not verdict.is_fit:
        raise NoCodex(
            f"cannot run {named}: Codex {found.full_version} failed the self-test ({verdict.failed}: {verdict.why})",
            "leave it out to use our own Codex",
        )
    return found if verdict is not None else msgspec.structs.replace(found, untried=found.path)


def _program_of_setting(named: str, search_path: str) -> str:
    path = named if os.sep in named else _which(named, search_path)
    if path is None or not is_program(path):
        where = "there is no such program" if os.sep in named else "there is no such program on PATH"
        raise NoCodex(f"cannot run {named}: {where}", "correct codex_version, or leave it out to use our own Codex")
    return path


def _old_on_path(search_path: str) -> Binary:
    path = _which("codex", search_path)
    if path is None:
        raise NoCodex(
            "cannot find an old Codex: there is no `codex` on PATH", f"name one of {old_range()} as codex_version"
        )
    found = _examined(path, Origin.PATH)
    if not is_old(found.version):
        raise _not_old(path, found.version)
    return msgspec.structs.replace(found, is_old=True)


def _not_old(what: str, version: Version) -> NoCodex:
    return NoCodex(
        f"cannot run {what} as mcp-server: it is Codex {shown(version)}, and backend mcp-server is for {old_range()}",
        "set backend to auto, or name an old Codex as codex_version",
    )


def _own_codex() -> Binary | None:
    spec = importlib.util.find_spec(OUR_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "bin", "codex")
    return _examined(path, Origin.PACKAGE) if is_program(path) else None


def _examined(path: str, origin: Origin, patience: float | None = None) -> Binary:
    path = _behind_wrapper(os.path.realpath(path))
    root = os.path.dirname(os.path.dirname(path))
    package = _package_of(root)
    said = package.version if package else _asked_version(path, patience or VERSION_PATIENCE)
    version = parse_version(said)
    if version is None:
        raise NoVersion(path)
    tools = package.pathDir if package else "path" if os.path.basename(os.path.dirname(path)) == OLD_PLACE else None
    tools_dir = os.path.join(root, tools) if tools else None
    tools_dir = tools_dir if tools_dir and os.path.isdir(tools_dir) else None
    return Binary(path, version, origin, tools_dir, preview_of(said))


def _package_of(root: str) -> _Package | None:
    try:
        data = read_if_there(os.path.join(root, "codex-package.json"))
        return None if data is None else msgspec.json.decode(data, type=_Package)
    except (OSError, msgspec.DecodeError):
        return None


def _asked_version(path: str, patience: float) -> str:
    """What it says of its version; empty if it does not say it in time, or is no Codex."""
    try:
        process = subprocess.Popen(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return ""
    with process:
        said = _output(process, time.monotonic() + patience)
        if said is None:
            # With its children: one of them may hold the pipe open.
            os.killpg(process.pid, signal.SIGKILL)
            return ""
    return said if process.returncode == 0 and "codex" in said else ""


def _output(process: subprocess.Popen[bytes], deadline: float) -> str | None:
    """What it prints until it ends; None if it prints too much, or has not ended by then."""
    assert process.stdout is not None
    said = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while len(said) <= LONGEST_VERSION and selector.select(max(0.0, deadline - time.monotonic())):
            if data := os.read(process.stdout.fileno(), LONGEST_VERSION):
                said += data
                continue
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
                return said.decode(errors="replace")
            break
    return None


def _behind_wrapper(path: str) -> str:
    """The real Codex that npm's `bin/codex.js` would start; any other path is returned unchanged."""
    machine = os.uname()
    if os.path.basename(path) != "codex.js" or (machine.sysname, machine.machine) not in PLATFORMS:
        return path
    package, triple = PLATFORMS[machine.sysname, machine.machine]
    root = os.path.dirname(os.path.dirname(path))
    inside = [os.path.join(place, "node_modules", "@openai", package) for place in _upward(root)]
    vendors = [os.path.join(folder, "vendor", triple) for folder in (*inside, root)]
    candidates = (os.path.join(vendor, place, "codex") for vendor in vendors for place in ("bin", OLD_PLACE))
    return next(filter(is_program, candidates), path)


def _upward(folder: str) -> Iterator[str]:
    """The folder and its parents, where Node looks for packages."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _which(name: str, search_path: str) -> str | None:
    return find(name, places(search_path))


def _nothing_found(unused: Unused | None) -> NoCodex:
    found = unused.why if unused is not None else "there is no `codex` on PATH"
    return NoCodex(
        f"cannot find Codex: {found}, and our own ({Origin.PACKAGE}) is not installed here",
        f"install it with `pip install {Origin.PACKAGE}`, or name a Codex {fit_versions()} as codex_version",
    )
