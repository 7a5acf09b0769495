"""Pure. What may be said for each setting, in words and numbers: the kinds of values, and the help of each flag.

A kind turns a raw value (text of a flag or variable, or what TOML holds) into the setting's own, or raises ValueError
with a text that ends the sentence "it must be …".
"""

import posixpath
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from codex_mcp.base.identity import EXPECTED as IDENTITY
from codex_mcp.base.identity import LONGEST, is_identity
from codex_mcp.base.settings.groups import (
    MIB,
    ApprovalPolicy,
    Backend,
    Events,
    LogLevel,
    Protocol,
    Sandbox,
    SlowReader,
    level_from_filter,
)

E = TypeVar("E", bound=StrEnum)

TRUE = ("true", "1", "yes", "on")
FALSE = ("false", "0", "no", "off")

TEAM_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{LONGEST - 1}}}")

GIB = 1024 * MIB
UNITS = {"kib": 1024, "mib": MIB, "gib": GIB}

HOUR = 3600.0
DAY = 24 * HOUR
MONTH = 30 * DAY
"""No wait is meant to be longer; and far larger numbers overflow the clocks of the operating system."""

INSTANT = 0.01
"""The shortest time that is not none: a hundred notifications in a second are no load yet."""

MOST_TOKENS = 10**15


class Place(Struct, frozen=True):
    """Where a value was written: what its relative paths are relative to, and what `~` means."""

    folder: str
    home: str


Kind = Callable[[object, Place], object]


class Option(Struct, frozen=True):
    """How one setting may be given."""

    kind: Kind
    help: str
    metavar: str = ""
    flag: str = ""
    """The flag's name, if it is not the setting's."""
    short: str = ""
    is_list: bool = False
    is_switch: bool = False
    is_for_team: bool = False
    """Only `codex-mcp serve` has the flag; files and variables are everybody's."""

    def flags_for(self, name: str) -> tuple[str, ...]:
        """The flags of the setting of this name, the short one first."""
        long = f"--{self.flag or name.replace('_', '-')}"
        return (f"-{self.short}", long) if self.short else (long,)


def text(value: object, _: Place) -> str:
    """Some words."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def identity(value: object, _: Place) -> str:
    """An agent's name."""
    if not isinstance(value, str) or not is_identity(value):
        raise ValueError(IDENTITY)
    return value


def team_name(value: object, _: Place) -> str:
    """A team's name."""
    if not isinstance(value, str) or TEAM_NAME.fullmatch(value) is None:
        raise ValueError(f"a name of letters, digits, -, _ and ., at most {LONGEST} characters, such as backend")
    return value


def path(value: object, place: Place) -> str:
    """A file or folder; `~` is the home, and a relative one is relative to where it was written."""
    name = text(value, place)
    if name == "~" or name.startswith("~/"):
        name = place.home + name[1:]
    return posixpath.normpath(posixpath.join(place.folder, name))


def program(value: object, place: Place) -> str:
    """A path, or the name of a program on PATH."""
    name = text(value, place)
    return path(name, place) if "/" in name or name.startswith("~") else name


def socket_address(value: object, place: Place) -> str:
    """Where a WebSocket leads."""
    url = text(value, place)
    if not re.fullmatch(r"wss?://([^\s/:@\[\]]+|\[[\da-fA-F:.]+\])(:\d{1,5})?(/\S*)?", url):
        raise ValueError("an address such as ws://127.0.0.1:4512")
    return url


def switch(value: object, _: Place) -> bool:
    """Yes or no."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in TRUE + FALSE:
        raise ValueError("true or false")
    return word in TRUE


def one_of(choices: type[E]) -> Kind:
    """One word of a few."""

    def kind(value: object, _: Place) -> E:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in set(choices):
            raise ValueError("one of " + ", ".join(choices))
        return choices(word)

    return kind


def level(value: object, _: Place) -> LogLevel:
    """A log level, or a filter that names one for us."""
    found = level_from_filter(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("one of " + ", ".join(LogLevel) + ", or a filter such as codex_mcp=debug")
    return found


def seconds(least: float, most: float, *, zero: str = "") -> Kind:
    """A time. `zero` says what 0 means, if it is allowed."""
    allowed = f"a number of seconds from {least:g} to {most:.0f}" + (f" (or 0, {zero})" if zero else "")

    def kind(value: object, _: Place) -> float:
        number = _number(value, allowed)
        if not least <= number <= most and not (number == 0 and zero):
            raise ValueError(allowed)
        return number

    return kind


def count(least: int, most: int) -> Kind:
    """A whole number."""
    allowed = f"a whole number from {least} to {most}"

    def kind(value: object, _: Place) -> int:
        number = _number(value, allowed)
        if not (least <= number <= most) or number != int(number):
            raise ValueError(allowed)
        return int(number)

    return kind


def size(least: int, most: int = GIB) -> Kind:
    """A number of bytes, plain or with a unit."""
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


def rate(least: float, most: float) -> Kind:
    """A number per second; 0 is no limit."""
    allowed = f"a number from {least:g} to {most:.0f} (or 0: no limit)"

    def kind(value: object, _: Place) -> float:
        number = _number(value, allowed)
        if not least <= number <= most and number != 0:
            raise ValueError(allowed)
        return number

    return kind


def limit(most: int) -> Kind:
    """A number that must not be passed; 0 is no limit."""
    allowed = f"a whole number from 0 to {most} (0: no limit)"

    def kind(value: object, _: Place) -> int:
        number = _number(value, allowed)
        if not 0 <= number <= most or number != int(number):
            raise ValueError(allowed)
        return int(number)

    return kind


def assignments(value: object, _: Place) -> tuple[str, ...]:
    """`key=value` texts: a list, or one text with one of them in each line."""
    items = value.splitlines() if isinstance(value, str) else value
    if not isinstance(items, list):
        raise ValueError('a list of key=value, such as ["model=o3"]')
    found = tuple(item for item in items if not isinstance(item, str) or item.strip())
    if not all(isinstance(item, str) and item.partition("=")[0].strip() and "=" in item for item in found):
        raise ValueError("key=value, such as model=o3 or tools.web_search=true")
    return found


def words(value: object, _: Place) -> tuple[str, ...]:
    """Several texts: a list, or one text with one of them in each line."""
    items = value.splitlines() if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("a list of texts")
    return tuple(item.strip() for item in items if item.strip())


def _number(value: object, allowed: str) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(allowed)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(allowed) from None


OPTIONS: dict[str, Option] = {
    "codex_home": Option(path, "Codex's folder (default: $CODEX_HOME, else ~/.codex)", "DIR"),
    "codex_bin": Option(program, "the Codex to run (default: one on PATH that we know, else our own)", "FILE"),
    "allow_untested_codex": Option(switch, "run codex_bin even in a version that we do not know", is_switch=True),
    "backend": Option(
        one_of(Backend), "run Codex as app-server, or an old one as mcp-server (default: by its version)", "WHICH"
    ),
    "overrides": Option(
        assignments, "override a value of Codex's config.toml", "KEY=VALUE", flag="config", short="c", is_list=True
    ),
    "profile": Option(text, "the profile of Codex's configuration to use", "NAME", short="p"),
    "scripted": Option(path, "play this script in place of a real model", "FILE"),
    "trust_repo_settings": Option(switch, "let the repository's .atm.toml say what runs", is_switch=True),
    "events": Option(one_of(Events), "which codex/event notifications to send: standard, full or none", "WHICH"),
    "protocol": Option(one_of(Protocol), "which eras of MCP to speak: both, or legacy", "ERAS"),
    "log_level": Option(level, "off, error, warning, info, debug or trace", "LEVEL"),
    "log_file_bytes": Option(size(4096, 1024 * GIB), "set the log file aside at this size", "BYTES"),
    "log_files_kept": Option(count(0, 99), "how many older log files to keep", "N"),
    "otlp_endpoint": Option(text, "send traces to this collector (OTLP over HTTP)", "URL"),
    "approval_timeout": Option(
        seconds(INSTANT, MONTH, zero="refuse at once"), "deny what nobody has answered by then", "SECONDS"
    ),
    "soft_deadline": Option(
        seconds(1, MONTH, zero="never"), "return a longer call as still running (default: by client)", "SECONDS"
    ),
    "progress_interval": Option(seconds(INSTANT, HOUR), "send progress at least this often", "SECONDS"),
    "start_timeout": Option(seconds(0.1, HOUR), "give up on a Codex that has not started by then", "SECONDS"),
    "request_timeout": Option(seconds(0.1, DAY), "give up on a request to Codex by then", "SECONDS"),
    "unreachable_timeout": Option(
        seconds(INSTANT, DAY, zero="no limit"), "fail a turn whose model cannot be reached for this long", "SECONDS"
    ),
    "max_requests_in_flight": Option(count(1, 128), "requests to Codex at once", "N"),
    "max_turns_waiting": Option(count(0, 10_000), "prompts that may wait for one thread", "N"),
    "max_message_bytes": Option(size(65536), "the longest message that is read", "BYTES"),
    "outbox_bytes": Option(size(65536), "unsent bytes beyond which a client's events are held back", "BYTES"),
    "finished_turns_kept": Option(count(1, 100_000), "results kept until they are collected", "N"),
    "thread_idle": Option(seconds(0.1, MONTH), "put a thread away that nobody used for this long", "SECONDS"),
    "exec_server": Option(socket_address, "run agents' commands on this exec-server (ws://…)", "URL"),
    "exec_server_token": Option(path, "a file with the bearer token for it", "FILE"),
    "host": Option(text, "listen here for HTTP (default: 127.0.0.1)", "ADDRESS"),
    "port": Option(count(0, 65535), "serve HTTP and WebSocket on this port, in place of stdio", "PORT"),
    "tokens": Option(path, "admit only bearer tokens of this file", "FILE"),
    "generate_token": Option(switch, "admit only a token that we make, in CODEX_HOME/codex-mcp/token", is_switch=True),
    "jwks": Option(path, "admit tokens signed by a key of this file", "FILE"),
    "jwt_issuer": Option(text, "who must have signed them", "ISSUER"),
    "jwt_audience": Option(text, "for whom they must have been signed", "AUDIENCE"),
    "allowed_hosts": Option(words, "another name by which we may be called", "NAME", is_list=True),
    "allowed_origins": Option(words, "a web page that may call us, https://host:port", "ORIGIN", is_list=True),
    "tls_cert": Option(path, "speak HTTPS with this certificate", "FILE"),
    "tls_key": Option(path, "and this private key", "FILE"),
    "max_sessions": Option(count(1, 1_000_000), "how many HTTP sessions at once", "N"),
    "sessions_per_principal": Option(count(1, 1_000_000), "and how many of one principal", "N"),
    "sessions_per_address": Option(count(1, 1_000_000), "and how many from one address", "N"),
    "threads_per_principal": Option(count(1, 1_000_000), "threads of one principal that are open", "N"),
    "turns_per_principal": Option(count(1, 1_000_000), "turns of one principal that run at once", "N"),
    "queued_turns_per_principal": Option(count(1, 1_000_000), "turns of one principal that may wait", "N"),
    "queued_bytes_per_principal": Option(size(65536), "what their prompts and images may hold", "BYTES"),
    "session_idle": Option(seconds(0.1, MONTH), "put away an HTTP session that nobody used for this long", "SECONDS"),
    "strict_sessions": Option(switch, "refuse session ids that we did not make", is_switch=True),
    "quiet_time": Option(seconds(INSTANT, HOUR), "answer longer HTTP calls as a stream", "SECONDS"),
    "ping_interval": Option(
        seconds(INSTANT, HOUR), "show on a silent HTTP stream this often that it is alive", "SECONDS"
    ),
    "max_body_bytes": Option(size(1024), "the longest body of a POST", "BYTES"),
    "session_inbox": Option(count(1, 100_000), "messages of an HTTP session that may wait", "N"),
    "subscriber_queue": Option(count(1, 100_000), "messages that a listener on the bus may lag behind", "N"),
    "slow_reader": Option(one_of(SlowReader), "and then: drop-oldest, disconnect or wait", "POLICY"),
    "stall_timeout": Option(seconds(0.1, DAY), "cut a connection that takes nothing for this long", "SECONDS"),
    "requests_per_second": Option(
        rate(0.1, 1_000_000), "how many requests a principal may make each second (0: no limit)", "NUMBER"
    ),
    "interrupt_grace": Option(
        seconds(INSTANT, HOUR, zero="do not wait"), "how long an interrupted turn may take to end", "SECONDS"
    ),
    "shutdown_grace": Option(
        seconds(INSTANT, DAY, zero="interrupt at once"), "how long running turns may go on at the end", "SECONDS"
    ),
    "team": Option(team_name, "the team of the agents", "NAME", is_for_team=True),
    "default_identity": Option(
        identity, "the name of agents that are given none", "NAME", flag="identity", is_for_team=True
    ),
    "role": Option(text, "the role of agents that are given none", "NAME", is_for_team=True),
    "state_dir": Option(path, "where agents are remembered", "DIR", is_for_team=True),
    "turn_timeout": Option(
        seconds(INSTANT, MONTH, zero="no limit"),
        "interrupt a turn that runs longer",
        "SECONDS",
        flag="timeout",
        is_for_team=True,
    ),
    "max_concurrent_threads": Option(
        count(1, 1000), "active agents of a principal, idle ones as well", "N", is_for_team=True
    ),
    "model": Option(text, "the model of agents whose call and role name none", "NAME", is_for_team=True),
    "reasoning_effort": Option(text, "how hard it thinks, such as low or high", "EFFORT", is_for_team=True),
    "sandbox": Option(one_of(Sandbox), "what their commands may do: " + ", ".join(Sandbox), "MODE", is_for_team=True),
    "approval_policy": Option(
        one_of(ApprovalPolicy), "when a person is asked: " + ", ".join(ApprovalPolicy), "POLICY", is_for_team=True
    ),
    "base_prompt_file": Option(path, "instructions in place of Codex's own", "FILE", is_for_team=True),
    "extra_instructions_file": Option(path, "instructions in addition, for every agent", "FILE", is_for_team=True),
    "auto_mail": Option(switch, "hand new mail to idle agents: yes or no", "YES|NO", is_for_team=True),
    "turns_per_hour": Option(limit(1_000_000), "turns of one agent in an hour (0: no limit)", "N", is_for_team=True),
    "tokens_per_thread": Option(
        limit(MOST_TOKENS), "tokens of one agent in its life (0: no limit)", "N", is_for_team=True
    ),
    "tokens_per_team": Option(limit(MOST_TOKENS), "tokens of all agents together (0: no limit)", "N", is_for_team=True),
    "max_hops": Option(count(1, 1000), "how often mail may cause mail without a person", "N", is_for_team=True),
    "summary_timeout": Option(
        seconds(INSTANT, HOUR, zero="no summaries"), "how long an agent may take to sum up", "SECONDS", is_for_team=True
    ),
}
"""Every setting, in the order of base/settings.py."""
