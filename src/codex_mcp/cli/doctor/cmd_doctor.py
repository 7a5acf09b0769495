"""`codex-mcp doctor`: checks everything that agents need on this machine, and says how to put it right."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codex_mcp import __version__
from codex_mcp.base.errors import Explained
from codex_mcp.base.processes.programs import our_command
from codex_mcp.base.settings.groups import Settings
from codex_mcp.cli.account.codex_program import add_codex_arguments
from codex_mcp.cli.doctor import gathering
from codex_mcp.cli.doctor.checks import judge
from codex_mcp.cli.doctor.core_facts import ask_core, run_turn
from codex_mcp.cli.doctor.facts import Codex, Core, Facts, Finding, Level, Sandbox, Turn
from codex_mcp.cli.doctor.report import MARKS, PLAIN_MARKS, as_json, as_summary, as_text, private, runnable
from codex_mcp.cli.output import SCHEMA, print_json, print_text, terminal_width
from codex_mcp.cli.state.folder import add_state_argument
from codex_mcp.codex.binary import NoVersion, find_codex
from codex_mcp.config.load import likely_codex_home, load

DESCRIPTION: Final = (
    "Check Codex, its sign-in, its sandbox, the settings, the folders and the MCP clients of this machine. Each "
    "problem comes with its fix. The output contains no secrets and can be pasted into an issue."
)


FOUND_ERRORS: Final = 1


class NoTrial(Explained):
    """A Codex could not be tried."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit code: 0 if there is no error (warnings do not count), 1 if there is one."
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--summary", action="store_true", help="print one line per group")
    parser.add_argument(
        "--turn", action="store_true", help="also let an agent answer over stdio; a script plays the model"
    )
    parser.add_argument(
        "--self-test", action="store_true", help="only try the newest Codex here with a scripted model, for ten seconds"
    )
    add_codex_arguments(parser)
    add_state_argument(parser)


def run(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> int:
    logging.getLogger("codex_mcp").addHandler(logging.NullHandler())  # what matters of the log becomes a finding
    home = environment.get("HOME") or os.path.expanduser("~")
    findings = (
        [_self_test(arguments, environment, cwd)] if arguments.self_test else judge(gather(arguments, environment, cwd))
    )
    program = our_command(environment.get("PATH", os.defpath))
    homes = {home, os.path.realpath(home)}
    findings = [private(runnable(finding, program), homes) for finding in findings]
    _show(findings, arguments)
    return FOUND_ERRORS if any(finding.level is Level.ERROR for finding in findings) else 0


def gather(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> Facts:
    given = argparse.Namespace(
        codex_home=arguments.codex_home, codex_bin=arguments.codex_bin, state_dir=arguments.state_dir
    )
    loaded, configuration = gathering.load_settings(given, environment, cwd)
    if loaded is None:
        codex_home = likely_codex_home(arguments.codex_home, environment)
        return Facts(configuration, clients=gathering.clients(None, codex_home, environment, cwd))
    settings = loaded.settings
    codex, core, sandbox, turn = _codex_facts(settings, environment, with_turn=arguments.turn)
    needs_sign_in = core is not None and core.needs_sign_in and core.account is None
    return Facts(
        configuration,
        codex,
        core,
        sandbox,
        gathering.folders(settings),
        gathering.clients(settings, settings.core.codex_home, environment, cwd),
        tuple(gathering.ports(settings, needs_sign_in=needs_sign_in)),
        gathering.agents(settings.team.state_dir, environment),
        turn,
    )


def _self_test(arguments: argparse.Namespace, environment: Mapping[str, str], cwd: str) -> Finding:
    """Try the Codex that would be used, or a newer one on PATH that has not been tried or has failed."""
    from codex_mcp.cli.doctor.self_test import judge_trial, record_no_version, try_codex  # noqa: PLC0415  few need it

    given = argparse.Namespace(codex_home=arguments.codex_home, codex_bin=arguments.codex_bin)
    settings = load(given, environment, cwd).settings.core
    search_path = environment.get("PATH", os.defpath)
    try:
        found = find_codex(replace(settings, allow_untested_codex=True), search_path)
        if found.unused is not None and found.unused.path is not None:
            found = find_codex(replace(settings, codex_bin=found.unused.path, allow_untested_codex=True), search_path)
        with _progress(f"trying Codex {found.full_version}"):
            return judge_trial(try_codex(found, settings.codex_home, environment))
    except NoVersion as exc:
        return judge_trial(record_no_version(exc, settings.codex_home))
    except OSError as exc:
        raise NoTrial(f"cannot try Codex in {settings.codex_home}: {exc.strerror or exc}; correct that") from exc


def _codex_facts(
    settings: Settings, environment: Mapping[str, str], *, with_turn: bool
) -> tuple[Codex, Core | None, Sandbox | None, Turn | None]:
    with _progress("looking for Codex"):
        binary, codex = gathering.find(settings.core, environment.get("PATH", os.defpath))
    if binary is None:
        return codex, None, None, None
    with _progress("starting Codex"):
        core = asyncio.run(ask_core(settings, environment, is_old=binary.is_old))
    if core.error or core.config_error:
        return codex, core, None, None  # the sandbox and a turn would fail for the same reason
    with _progress("trying the sandbox"):
        sandbox = gathering.sandbox(binary, {**environment, "CODEX_HOME": settings.core.codex_home})
    if not with_turn:
        return codex, core, sandbox, None
    with _progress("running a scripted turn"):
        return codex, core, sandbox, run_turn(binary, environment, settings.core.codex_home)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[None]:
    """Show what is done, for as long as it is done."""
    if not sys.stderr.isatty():
        yield
        return
    text = f"{what} …"
    print(text, end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(" " * len(text), end="\r", file=sys.stderr, flush=True)


def _show(findings: list[Finding], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json({"schema": SCHEMA, "system": gathering.system(), **as_json(findings, __version__)})
        return
    marks = MARKS if _can_show("".join(MARKS.values())) else PLAIN_MARKS
    if arguments.summary:
        print_text(as_summary(findings, marks))
        return
    heading = f"codex-mcp {__version__}, {gathering.system()}"
    print_text(as_text(heading, findings, terminal_width(), marks))


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True
