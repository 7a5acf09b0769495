"""The program `codex-mcp`: loads one command and runs it; a refusal becomes one sentence and an exit code."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from codex_mcp.base.errors import Explained, NotFound, Refused
from codex_mcp.base.secrets.client_variables import is_of_session
from codex_mcp.cli.commands import ALIASES, COMMANDS, FOLDERS
from codex_mcp.cli.parser import BadUsage, Parser, guess, help_width


class Command(Protocol):
    """What a module `cmd_*` has."""

    @property
    def DESCRIPTION(self) -> str:
        """For `--help`."""

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
        """Run the command and return its exit code."""


SERVERS: Final = ("mcp-server", "serve")


def load_command(name: str) -> Command:
    """Import the module of this command: each start loads only the command that it runs."""
    folder = next((f"{folder}." for folder, names in FOLDERS.items() if name in names), "")
    module: Any = import_module(f"codex_mcp.cli.{folder}cmd_{name.replace('-', '_')}")
    command: Command = module
    return command


HELP: Final = ("--help", "-h")
WORDS: Final = ("help", "version")
"""What people type besides commands."""

NO_COMMAND: Final = "codex-mcp: error: a command is missing, such as mcp-server; codex-mcp --help lists the commands"
FIRST_REQUEST: Final = 1.0
"""Seconds in which a client sends its first request."""

FAILED: Final = 1
USAGE_ERROR: Final = 2
NOT_FOUND: Final = 3

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
"""The exit codes that a shell reports for a program ended by SIGINT and by SIGPIPE."""


NOT_WINDOWS: Final = (
    "codex-mcp does not run on Windows itself: run `wsl --install`, then install and start codex-mcp inside WSL 2; "
    "an MCP client on Windows starts it there with `wsl.exe codex-mcp mcp-server`"
)


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.platform == "win32":
        return _say_not_windows()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    first = ALIASES.get(words[0], words[0]) if words else ""
    if first in COMMANDS:
        return _run(first, words[1:])
    _replace_closed_streams()
    if not words:
        return _run_without_words()
    if words[0] in HELP:
        return _show_help()
    try:
        _read_without_command(words)
    except BadUsage as exc:
        return _refused("", words, exc)
    return 0


def _run_without_words() -> int:
    """Help for a person or a script. A client whose configuration lacks the command sends a request at once."""
    from codex_mcp.cli.start_failure import log_failure, tell_client  # noqa: PLC0415  slow, and seldom needed

    if not tell_client(NO_COMMAND, sys.stdin.fileno(), sys.stdout.fileno(), patience=FIRST_REQUEST):
        return _show_help()
    log_failure(NO_COMMAND, (), os.environ)
    print(NO_COMMAND, file=sys.stderr)
    return USAGE_ERROR


def _show_help() -> int:
    from codex_mcp.cli.overview import overview  # noqa: PLC0415  a command does not need it

    print(overview(help_width()))
    return 0


def _read_without_command(words: Sequence[str]) -> None:
    """Raises BadUsage, or SystemExit once the version is shown."""
    parser = Parser("codex-mcp", usage="codex-mcp COMMAND [FLAGS]")
    if words[0] == "version":
        words = ["--version"]
    if not words[0].startswith("-"):
        hint = guess(words[0], (*COMMANDS, *ALIASES, *WORDS)) or "codex-mcp --help lists the commands"
        parser.error(f"there is no command {words[0]!r}; {hint}")
    parser.read(words)
    raise BadUsage(parser.format_usage(), NO_COMMAND)


def mcp_server_main() -> int:
    return _run("mcp-server", sys.argv[1:])


def exec_server_main() -> int:
    return _run("exec-server", sys.argv[1:])


def _notice_interrupts() -> None:
    """From now on there is something to clean up: Ctrl-C is an exception again (see `entry`)."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _replace_closed_streams() -> None:
    """Otherwise the next file or socket would get their number and be taken for stdin or stdout."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115  stays open
            if opened != number:
                os.close(opened)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as exc:
        raise Explained("cannot work in a folder that was deleted; change to another one") from exc


def _environment() -> Mapping[str, str]:
    """Ours. What belongs to the session of the client that has started us is taken out of what children inherit."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if is_of_session(name)}
    return ChainMap(taken, os.environ) if taken else os.environ


def _say_not_windows() -> int:
    print(NOT_WINDOWS, file=sys.stderr)
    return USAGE_ERROR


def _run(name: str, words: Sequence[str]) -> int:
    if sys.platform == "win32":
        return _say_not_windows()
    _replace_closed_streams()
    try:
        command = load_command(name)
        if not gc.isenabled():  # see `entry`
            gc.freeze()  # what is loaded by now stays for good
            gc.enable()
        parser = Parser(f"codex-mcp {name}", command.DESCRIPTION)
        command.configure(parser)
        _notice_interrupts()
        return command.run(parser.read(words), _environment(), _working_folder())
    except Explained as exc:
        return _refused(name, words, exc)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # after the ^C that the terminal shows
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it. Python would report that once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _refused(name: str, words: Sequence[str], error: Explained) -> int:
    """Say why a command does not run, on stderr and to an MCP client that waits for the server; return the exit code.

    A client may also wait for a server whose name is misspelled or missing in its configuration.
    """
    sentence = error.sentence if isinstance(error, BadUsage) else f"codex-mcp {name}: {error}"
    from codex_mcp.base.printable import visible  # noqa: PLC0415  slow, and seldom needed
    from codex_mcp.cli.sentences import complain, fitted  # noqa: PLC0415  the same

    # A second look at what others may have written: their texts are made printable where they enter.
    if isinstance(error, BadUsage):
        print(fitted(visible(str(error)), sys.stderr), file=sys.stderr, flush=True)
    else:
        complain(name, visible(str(error)))
    if name in (*SERVERS, "") and not _has_port(words):
        from codex_mcp.cli.start_failure import log_failure, tell_client  # noqa: PLC0415  slow, and seldom needed

        log_failure(sentence, words, os.environ)
        tell_client(sentence, sys.stdin.fileno(), sys.stdout.fileno())
    if isinstance(error, NotFound):
        return NOT_FOUND
    return USAGE_ERROR if isinstance(error, Refused) else FAILED


def _has_port(words: Sequence[str]) -> bool:
    return "CODEX_MCP_PORT" in os.environ or any(word.partition("=")[0] == "--port" for word in words)
