"""Pure. What a setting may be: the kinds of values, the choices, and the entry of the table for each setting.

A kind turns a raw value (the text of a flag or variable, or a TOML value) into the setting's value. If it cannot, it
raises ValueError with a text that completes the sentence "it must be …"; docs/settings.md shows that text as what is
allowed.
"""

import posixpath
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypedDict, TypeVar, Unpack

from msgspec import Struct

from codex_mcp.base.identity import EXPECTED as IDENTITY
from codex_mcp.base.identity import LONGEST, is_identity
from codex_mcp.base.settings.prices import prices_from

E = TypeVar("E", bound=StrEnum)
G = TypeVar("G", bound=Struct)
T = TypeVar("T")

TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")

TEAM_NAME = rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{LONGEST - 1}}}"

MIB = 1024 * 1024
GIB = 1024 * MIB
UNITS = {"kib": 1024, "mib": MIB, "gib": GIB}

HOUR = 3600.0
DAY = 24 * HOUR
MONTH = 30 * DAY
"""No timeout needs to be longer, and much larger numbers overflow the clocks of the operating system."""

INSTANT = 0.01
"""The shortest time other than 0. A hundred notifications per second are still no load."""

MOST_TOKENS = 10**15

AS_CODEX = "as Codex is configured"


class Place(Struct, frozen=True):
    """Where a value was written: the folder that its relative paths start from, and what `~` means."""

    folder: str
    home: str


Kind = Callable[[object, Place], object]


class Setting(Struct, frozen=True):
    """How one setting is given, and what `--help` says about it. Without a metavar, its flag is a switch."""

    kind: Kind
    metavar: str
    help: str
    flag: str = ""
    """The name of the flag, if it differs from the setting's."""
    short: str = ""
    variables: tuple[str, ...] = ()
    """Environment variables that count after `CODEX_MCP_NAME`: those of Codex, OpenTelemetry, atm and atm-agent-mcp."""
    shown: str = ""
    """The default in words, if it is not a constant."""

    @property
    def is_list(self) -> bool:
        """Its flag can be repeated, and values from several places add up."""
        return self.kind in (assignments, prices, words)

    def flags_for(self, name: str) -> tuple[str, ...]:
        """The flags of the setting with this name, the short one first."""
        long = f"--{self.flag or name.replace('_', '-')}"
        return (f"-{self.short}", long) if self.short else (long,)


class _More(TypedDict, total=False):
    flag: str
    short: str
    variables: tuple[str, ...]
    shown: str


TABLE: dict[str, Setting] = {}
"""The settings of all groups that are loaded; see groups.SETTINGS."""

_declared: list[Setting] = []


def setting(default: T, kind: Kind, metavar: str, text: str, **more: Unpack[_More]) -> T:
    _declared.append(Setting(kind, metavar, text, **more))
    return default


def group(cls: type[G]) -> type[G]:
    """Enter the settings of a group into the table. Every field is a setting, or another group."""
    hints = cls.__annotations__.items()
    names = [name for name, hint in hints if not (isinstance(hint, type) and issubclass(hint, Struct))]
    TABLE.update(zip(names, _declared, strict=True))
    _declared.clear()
    return cls


class Events(StrEnum):
    """Which `codex/event` notifications a client gets."""

    STANDARD = "standard"
    FULL = "full"
    NONE = "none"


class OnClientTimeout(StrEnum):
    """What happens to the turn of a client that does not wait for its answer any longer."""

    CONTINUE = "continue"
    STOP = "stop"


class Backend(StrEnum):
    """The command by which Codex serves us."""

    AUTO = "auto"
    APP_SERVER = "app-server"
    MCP_SERVER = "mcp-server"


class Protocol(StrEnum):
    """Which eras of MCP the server speaks."""

    BOTH = "both"
    LEGACY = "legacy"


class Surface(StrEnum):
    """Which tools a server offers."""

    CODEX = "codex"
    SESSIONS = "sessions"
    TEAM = "team"
    ALL = "all"


class SlowReader(StrEnum):
    """What happens to a listener on the bus that falls behind."""

    DROP_OLDEST = "drop-oldest"
    DISCONNECT = "disconnect"
    WAIT = "wait"


class Dashboard(StrEnum):
    """What the pages of a server are for."""

    OFF = "off"
    READ_ONLY = "read-only"
    ON = "on"


class LogLevel(StrEnum):
    OFF = "off"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    DEBUG = "debug"
    TRACE = "trace"


class Sandbox(StrEnum):
    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    DANGER_FULL_ACCESS = "danger-full-access"


class ApprovalPolicy(StrEnum):
    """When a person is asked before a command runs."""

    UNTRUSTED = "untrusted"
    ON_FAILURE = "on-failure"
    ON_REQUEST = "on-request"
    NEVER = "never"


OUR_LOG_TARGETS = ("codex_mcp", "codex_mcp_server")
"""Names of this program in a log filter: our package, and the program that we replace."""

_LEVEL_NAMES: dict[str, LogLevel] = {**{level.value: level for level in LogLevel}, "warn": LogLevel.WARNING}


def level_from_filter(text: str) -> LogLevel | None:
    """The level that a filter such as `debug` or `codex_mcp_server=debug,axum=info` sets for this program, or None.

    Our own target wins over the default, wherever it stands; of two alike, the last one wins. Parts that cannot be read
    are skipped, since RUST_LOG belongs to other programs as well.
    """
    default: LogLevel | None = None
    ours: LogLevel | None = None
    for part in text.lower().split(","):
        target, is_targeted, level = part.strip().rpartition("=")
        if not is_targeted:
            default = _LEVEL_NAMES.get(level.strip(), default)
        elif target.strip().replace("-", "_") in OUR_LOG_TARGETS:
            ours = _LEVEL_NAMES.get(level.strip(), ours)
    return ours or default


def text(value: object, _: Place) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def identity(value: object, _: Place) -> str:
    if not isinstance(value, str) or not is_identity(value):
        raise ValueError(IDENTITY)
    return value


def team_name(value: object, _: Place) -> str:
    if not isinstance(value, str) or re.fullmatch(TEAM_NAME, value) is None:
        raise ValueError(f"a name of letters, digits, -, _ and ., at most {LONGEST} characters, such as backend")
    return value


def path(value: object, place: Place) -> str:
    """A file or folder; a relative path starts where it was written."""
    name = text(value, place)
    if name == "~" or name.startswith("~/"):
        name = place.home + name[1:]
    return posixpath.normpath(posixpath.join(place.folder, name))


def program(value: object, place: Place) -> str:
    name = text(value, place)
    return path(name, place) if "/" in name or name.startswith("~") else name


def socket_address(value: object, place: Place) -> str:
    url = text(value, place)
    if not re.fullmatch(r"(?:wss?|relay\+https?)://([^\s/:@\[\]]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/\S*)?", url):
        raise ValueError("an address such as ws://127.0.0.1:4512 or relay+https://HOST/ID")
    return url


def place_of_commands(value: object, place: Place) -> str:
    """The address of an exec-server, or the name of an environment."""
    name = text(value, place)
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        return name
    try:
        return socket_address(value, place)
    except ValueError:
        raise ValueError("an address such as ws://127.0.0.1:4512, or the name of an environment") from None


def fingerprint(value: object, place: Place) -> str:
    found = text(value, place)
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        raise ValueError("sha256: and 64 digits, as the executor prints it at its start")
    return found


def switch(value: object, _: Place) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in TRUE + FALSE:
        raise ValueError("true or false")
    return word in TRUE


def one_of(choices: type[E]) -> Kind:

    def kind(value: object, _: Place) -> E:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in set(choices):
            raise ValueError("one of " + ", ".join(choices))
        return choices(word)

    return kind


def level(value: object, _: Place) -> LogLevel:
    """A log level, or a filter that sets one for this program."""
    found = level_from_filter(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("one of " + ", ".join(LogLevel) + ", or a filter such as codex_mcp=debug")
    return found


def seconds(least: float, most: float, *, zero: str = "") -> Kind:
    """A time. `zero` says what 0 means, if 0 is allowed."""
    allowed = f"a number of seconds from {least:g} to {most:.0f}" + (f" (or 0, {zero})" if zero else "")
    return _bounded(least, most, allowed, or_zero=bool(zero))


def count(least: int, most: int, *, zero: str = "") -> Kind:
    """A whole number. `zero` says what 0 means, if that is special."""
    allowed = f"a whole number from {least} to {most}" + (f" (0: {zero})" if zero else "")

    def kind(value: object, _: Place) -> int:
        number = _number(value, allowed)
        if not least <= number <= most or number != int(number):
            raise ValueError(allowed)
        return int(number)

    return kind


def size(least: int, most: int = GIB) -> Kind:
    """A number of bytes, with or without a unit."""
    allowed = f"a number of bytes from {least} to {most}, such as {64 * MIB} or 64MiB"

    def kind(value: object, place: Place) -> int:
        factor = 1
        if isinstance(value, str):
            word = value.strip().lower()
            factor = UNITS.get(word[-3:], 1)
            value = word[:-3] if factor > 1 else word
        number = _number(value, allowed) * factor
        if not least <= number <= most:
            raise ValueError(allowed)
        return int(number)

    return kind


def with_unit(number: int) -> str:
    """A number of bytes in the largest unit that fits."""
    unit, word = (GIB, "GiB") if number % GIB == 0 else (MIB, "MiB") if number % MIB == 0 else (1024, "KiB")
    return f"{number // unit}{word}"


def rate(least: float, most: float) -> Kind:
    """A number per second; 0 means no limit."""
    return _bounded(least, most, f"a number from {least:g} to {most:.0f} (or 0: no limit)", or_zero=True)


def _bounded(least: float, most: float, allowed: str, *, or_zero: bool) -> Kind:
    def kind(value: object, _: Place) -> float:
        number = _number(value, allowed)
        if not least <= number <= most and not (number == 0 and or_zero):
            raise ValueError(allowed)
        return number

    return kind


def limit(most: int) -> Kind:
    """A whole number; 0 means no limit."""
    return count(0, most, zero="no limit")


def assignments(value: object, _: Place) -> tuple[str, ...]:
    """`key=value` texts: a list, or a text with one per line."""
    items = value.splitlines() if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError('a list of key=value, such as ["model=o3"]')
    found = tuple(item for item in items if not isinstance(item, str) or item.strip())
    if not all(isinstance(item, str) and item.partition("=")[0].strip() and "=" in item for item in found):
        raise ValueError("key=value, such as model=o3 or tools.web_search=true")
    return found


def words(value: object, _: Place) -> tuple[str, ...]:
    items = value.splitlines() if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("a list of texts")
    return tuple(item.strip() for item in items if item.strip())


def prices(value: object, place: Place) -> tuple[str, ...]:
    found = words(value, place)
    prices_from(found)
    return found


def _number(value: object, allowed: str) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(allowed)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(allowed) from None
