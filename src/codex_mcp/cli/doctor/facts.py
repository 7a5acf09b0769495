"""Pure. What doctor knows about this machine, and what it makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

from msgspec import Struct

from codex_mcp.base.errors import Notice
from codex_mcp.cli.clients.everywhere.entry import Entry, UnreadableFile


class Level(IntEnum):
    """The worst one first."""

    ERROR = 0
    """Agents, or a client, cannot work."""
    WARNING = 1
    OK = 2


class Group(StrEnum):
    CODEX = "Codex"
    SIGN_IN = "Sign-in"
    CONFIGURATION = "Configuration"
    SANDBOX = "Sandbox"
    FOLDERS = "Folders"
    CLIENTS = "Clients"
    NETWORK = "Network"
    AGENTS = "Agents"
    TURN = "Scripted turn"


class Finding(Struct, frozen=True):
    check: str
    """A stable name, for programs."""
    group: Group
    level: Level
    text: str
    fix: str = ""
    """What to do; empty if nothing needs to be done."""


class Fitness(StrEnum):
    """How it is known that a Codex is fit to be the core."""

    TESTED = "a tested version"
    TRIED = "it has passed the self-test here"
    WITH_EXCEPTIONS = "not everything works in it"
    UNTRIED = "it has not been tried"


class Codex(Struct, frozen=True):
    """The Codex that a server would run here, or why there is none."""

    version: str = ""
    path: str = ""
    why: str = ""
    """Why this one: codex_version, PATH, or our own."""
    fitness: Fitness = Fitness.TESTED
    is_old: bool = False
    unused: str = ""
    """Why the Codex on PATH is not used, and which one is."""
    remedy: str = ""
    """What to do so that it is used."""
    error: Notice | None = None


class Core(Struct, frozen=True):
    """What `codex app-server` answered."""

    error: str = ""
    """Why it did not start."""
    config_error: Notice | None = None
    """Why it cannot use its configuration."""
    account: str | None = None
    """The kind of sign-in: `chatgpt`, `apiKey`; None without one."""
    needs_sign_in: bool = False
    is_known: bool = True
    """An old Codex cannot be asked for its sign-in."""


class Provider(Struct, frozen=True):
    """The model provider that config.toml names."""

    name: str
    env_key: str = ""
    is_key_set: bool = True
    url: str = ""
    is_local: bool = False
    """It is on this machine."""
    silence: str = ""
    """Why nobody can be reached at its address."""


class Configuration(Struct, frozen=True):
    settings_error: Notice | None = None
    warnings: tuple[Notice, ...] = ()
    config_path: str = ""
    has_config: bool = False
    syntax_error: str = ""
    """Why config.toml is no TOML."""
    provider: Provider | None = None
    has_openai_key: bool = False
    """OPENAI_API_KEY is set."""


class Sandbox(Struct, frozen=True):
    trouble: str = ""
    """Why a command in Codex's sandbox failed."""
    is_linux: bool = True
    has_bubblewrap: bool = True
    """On Linux: the system's, or the one that comes with Codex."""
    blocked_by: str = ""
    """The kernel setting that forbids user namespaces, as `name=value` that would allow them."""


class Folder(Struct, frozen=True):
    purpose: str
    setting: str
    path: str
    free_bytes: int = 0
    obstacle: str = ""
    """Why it cannot be used."""
    remedy: str = ""
    """The command that removes the obstacle, if one does."""


class Folders(Struct, frozen=True):
    folders: tuple[Folder, ...] = ()
    open_sign_in: str = ""
    """The path of a sign-in file that other users can read."""
    held_locks: tuple[str, ...] = ()
    damaged_state: str = ""
    """What is wrong with the database of the state folder."""
    database: str = ""
    """The PostgreSQL that has the state instead, if the settings name one that can be used."""
    database_error: Notice | None = None
    """Why it cannot be used."""


class Clients(Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    tool_timeout: float | None = None
    """Seconds in MCP_TOOL_TIMEOUT."""
    soft_deadline: float | None = None
    """The setting of that name."""
    is_path_codex_old: bool = False
    """`codex` on PATH still has `mcp-server`."""
    our_command: str = "codex-mcp"
    addresses: Mapping[str, str] = {}
    """What each address says that `install` wrote: `answers`, or what is wrong."""


class Port(Struct, frozen=True):
    number: int
    needed_by: str
    problem: str
    """Why it cannot be used; empty if it can."""
    instead: str
    """What to do then."""


class Limited(Struct, frozen=True):
    """A running server whose account has reached its usage limit."""

    pid: int
    until: float | None = None
    """Seconds since 1970; None if nobody knows."""


class Agents(Struct, frozen=True):
    total: int = 0
    stale: tuple[str, ...] = ()
    error: Notice | None = None
    limited: tuple[Limited, ...] = ()


class Turn(Struct, frozen=True):
    error: str = ""
    seconds: float = 0.0


class Facts(Struct, frozen=True):
    configuration: Configuration = Configuration()
    codex: Codex = Codex()
    core: Core | None = None
    """None if it was not started: there is no Codex, or no settings."""
    sandbox: Sandbox | None = None
    """None if Codex does not start with its configuration."""
    folders: Folders = Folders()
    clients: Clients = Clients()
    ports: tuple[Port, ...] = ()
    agents: Agents = Agents()
    turn: Turn | None = None
    """None unless it was asked for and Codex starts."""


LEAST_FREE_BYTES: Final = 100 * 2**20
LOW_FREE_BYTES: Final = 2**30
"""A long conversation has some hundred megabytes on disk."""
