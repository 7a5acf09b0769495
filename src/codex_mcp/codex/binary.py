"""Finds the Codex to run: the one that the user names, else a tested `codex` on PATH, else the one installed with us.

The version is read from `codex-package.json`, which every packaged Codex has, or else from `codex --version`. npm's
`codex` is a Node program that starts the real one; running the real one directly saves a process and 40 ms. This reads
files; on an event loop use `find_codex_soon`.
"""

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from enum import StrEnum

import msgspec
from msgspec import Struct

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import NoCodex
from codex_mcp.base.files import read_if_there
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.kinds import Backend

Version = tuple[int, int, int]

TESTED_FROM: Version = (0, 163, 0)
TESTED_BELOW: Version = (0, 167, 0)
"""The protocol only grows, but Codex's behaviour changes; all versions in this range have passed our tests. The
dependency on openai-codex-cli-bin in pyproject.toml has the same range."""

OLD_FROM: Version = (0, 103, 0)
OLD_BELOW: Version = (0, 154, 0)
"""Versions whose `codex mcp-server` can be the core; 0.154.0 removed it. 0.104.0 and 0.153.4 have been tested."""

OUR_PACKAGE = "codex_cli_bin"
"""The module of the distribution openai-codex-cli-bin, which contains Codex and its tools."""

OLD_PLACE = "codex"
"""The program's folder in npm packages without a `codex-package.json`; its tools are in `path` beside it."""

VERSION_PATIENCE = 10.0
"""Seconds for `codex --version`, which takes 0.02 s; a wrapper on a cold disk takes longer."""

PLATFORMS: dict[tuple[str, str], tuple[str, str]] = {
    # system and machine as in uname: npm package, folder in it
    ("Linux", "x86_64"): ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    ("Linux", "aarch64"): ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
    ("Darwin", "x86_64"): ("codex-darwin-x64", "x86_64-apple-darwin"),
    ("Darwin", "arm64"): ("codex-darwin-arm64", "aarch64-apple-darwin"),
}


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

    is_old: bool = False
    """It runs as `codex mcp-server`."""

    notes: tuple[str, ...] = ()
    """Warnings about the choice, such as an untested `codex` on PATH that was not used."""

    def search_path(self, search_path: str) -> str:
        """The PATH for this Codex, with its own tools first."""
        return os.pathsep.join(filter(None, (self.tools_dir, search_path)))


class _Package(Struct):
    """The fields of `codex-package.json` that are read."""

    version: str
    pathDir: str | None = None


async def find_codex_soon(settings: CoreSettings, search_path: str) -> Binary:
    """`find_codex` without blocking the event loop."""
    return await in_thread(find_codex, settings, search_path)


def find_codex(settings: CoreSettings, search_path: str) -> Binary:
    """The Codex to run; `search_path` is the user's PATH. Raises NoCodex."""
    if settings.codex_bin is not None:
        return _of_setting(settings, settings.codex_bin, search_path)
    if settings.backend is Backend.MCP_SERVER:
        return _old_on_path(search_path)
    notes: list[str] = []
    on_path = _which("codex", search_path)
    if on_path is not None:
        try:
            found = _examined(on_path, Origin.PATH)
        except NoCodex as error:
            notes.append(str(error))
        else:
            if is_tested(found.version):
                return found
            notes.append(f"{on_path} is Codex {shown(found.version)}, and we know {tested_range()}")
    own = _own_codex()
    if own is None:
        raise NoCodex(_nothing_found(notes))
    return msgspec.structs.replace(own, notes=tuple(f"{note}; using our own {shown(own.version)}" for note in notes))


def check_codex(settings: CoreSettings, search_path: str) -> None:
    """Raise NoCodex if there is certainly no Codex. Unlike `find_codex` it starts no program, so it takes no time."""
    if settings.codex_bin is not None:
        _program_of_setting(settings.codex_bin, search_path)
    elif settings.backend is not Backend.MCP_SERVER and _own_codex() is None:
        find_codex(settings, search_path)


def is_tested(version: Version) -> bool:
    return TESTED_FROM <= version < TESTED_BELOW


def is_old(version: Version) -> bool:
    return OLD_FROM <= version < OLD_BELOW


def old_range() -> str:
    return f"{shown(OLD_FROM)} up to, but not including, {shown(OLD_BELOW)}"


def tested_range() -> str:
    return f"{shown(TESTED_FROM)} up to, but not including, {shown(TESTED_BELOW)}"


def shown(version: Version) -> str:
    return ".".join(map(str, version))


def parse_version(text: str) -> Version | None:
    """The first x.y.z in a text such as `codex-cli 0.163.0`; a suffix (`-alpha.1`) is ignored."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def _of_setting(settings: CoreSettings, codex_bin: str, search_path: str) -> Binary:
    found = _examined(_program_of_setting(codex_bin, search_path), Origin.SETTING)
    if settings.backend is not Backend.APP_SERVER and is_old(found.version):
        return msgspec.structs.replace(found, is_old=True)
    if settings.backend is Backend.MCP_SERVER:
        raise NoCodex(_not_old(f"codex_bin {codex_bin}", found.version))
    if is_tested(found.version):
        return found
    mismatch = f"codex_bin {codex_bin} is Codex {shown(found.version)}, and we know {tested_range()}"
    if not settings.allow_untested_codex:
        raise NoCodex(f"cannot run it: {mismatch}; leave it out to use our own Codex, or set allow_untested_codex")
    return msgspec.structs.replace(found, notes=(f"{mismatch}; running it because of allow_untested_codex",))


def _program_of_setting(codex_bin: str, search_path: str) -> str:
    path = codex_bin if os.sep in codex_bin else _which(codex_bin, search_path)
    if path is None or not _is_program(path):
        where = "there is no such program" if os.sep in codex_bin else "there is no such program on PATH"
        raise NoCodex(f"cannot run codex_bin {codex_bin}: {where}; correct it, or leave it out to use our own Codex")
    return path


def _old_on_path(search_path: str) -> Binary:
    path = _which("codex", search_path)
    if path is None:
        raise NoCodex(f"cannot find an old Codex: there is no `codex` on PATH; name one of {old_range()} as codex_bin")
    found = _examined(path, Origin.PATH)
    if not is_old(found.version):
        raise NoCodex(_not_old(path, found.version))
    return msgspec.structs.replace(found, is_old=True)


def _not_old(what: str, version: Version) -> str:
    return (
        f"cannot run {what} as mcp-server: it is Codex {shown(version)}, and backend mcp-server is for {old_range()}; "
        "set backend to auto, or name an old Codex as codex_bin"
    )


def _own_codex() -> Binary | None:
    spec = importlib.util.find_spec(OUR_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    path = os.path.join(os.path.dirname(spec.origin), "bin", "codex")
    return _examined(path, Origin.PACKAGE) if _is_program(path) else None


def _examined(path: str, origin: Origin) -> Binary:
    path = _behind_wrapper(os.path.realpath(path))
    root = os.path.dirname(os.path.dirname(path))
    package = _package_of(root)
    version = parse_version(package.version) if package else _asked_version(path)
    if version is None:
        raise NoCodex(f"cannot run {path}: it does not say which version of Codex it is, or is no Codex at all")
    tools = package.pathDir if package else "path" if os.path.basename(os.path.dirname(path)) == OLD_PLACE else None
    tools_dir = os.path.join(root, tools) if tools else None
    return Binary(path, version, origin, tools_dir if tools_dir and os.path.isdir(tools_dir) else None)


def _package_of(root: str) -> _Package | None:
    try:
        data = read_if_there(os.path.join(root, "codex-package.json"))
        return None if data is None else msgspec.json.decode(data, type=_Package)
    except (OSError, msgspec.DecodeError):
        return None


def _asked_version(path: str) -> Version | None:
    try:
        answer = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=VERSION_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = answer.stdout.decode(errors="replace")
    return parse_version(said) if answer.returncode == 0 and "codex" in said else None


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
    return next(filter(_is_program, candidates), path)


def _upward(folder: str) -> Iterator[str]:
    """The folder and its parents, where Node looks for packages."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _which(name: str, search_path: str) -> str | None:
    folders = [folder for folder in search_path.split(os.pathsep) if os.path.isabs(folder)]
    return next(filter(_is_program, (os.path.join(folder, name) for folder in folders)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _nothing_found(notes: list[str]) -> str:
    found = "; ".join(notes) or "there is no `codex` on PATH"
    return (
        f"cannot find Codex: {found}, and our own ({Origin.PACKAGE}) is not installed here; "
        f"install it with `pip install {Origin.PACKAGE}`, or name a Codex {tested_range()} as codex_bin"
    )
