"""How the core is started: which program, with which configuration, in which environment."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from codex_mcp.base.blocking import in_thread
from codex_mcp.base.errors import NoCodex, Refused
from codex_mcp.base.files import make_private_folder
from codex_mcp.base.ownership import chown_advice
from codex_mcp.base.secrets.client_variables import without_client_secrets
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.codex.app_server import AppServer, AppServerSetup
from codex_mcp.codex.binary import Binary, find_codex_soon
from codex_mcp.codex.config.command_line import visible_overrides
from codex_mcp.codex.config.overrides import CoreConfig, core_config
from codex_mcp.codex.config.profiles import read_user_config
from codex_mcp.codex.environments import Reach, reach_directly
from codex_mcp.codex.starting.core_git import core_variables
from codex_mcp.codex.supervisor import CoreLaunch, Launcher
from codex_mcp.codex.surviving.terms import Survival
from codex_mcp.codex.versions.measured import shown
from codex_mcp.codex.versions.release import Release
from codex_mcp.codex.versions.trials import Trials

logger = logging.getLogger(__name__)

UNLOAD_DELAY: Final = "thread_unload_delay_secs=1"
"""The server decides when a thread is unloaded; the core need not keep it for another half hour."""

SNAPSHOTS: Final = "shell_snapshots"
"""The folder in which Codex stores the state of the user's shell for its commands."""


def launcher(
    settings: CoreSettings,
    environment: Mapping[str, str],
    reach: Reach = reach_directly,
    hidden: Callable[[], Sequence[str]] = tuple,
    trials: Trials | None = None,
) -> Launcher:
    """`hidden`: existing paths that no thread with network access may read. `trials` tries a Codex that is not known
    yet; without them, one that the user names is run as it is."""
    search_path = environment.get("PATH", os.defpath)

    async def launch() -> CoreLaunch:
        binary = await find_codex_soon(settings, search_path)
        if trials is not None and binary.untried is not None:
            binary = await _after_trial(binary, settings, search_path, trials)
        for note in binary.notes:
            logger.warning("%s", note)
        _make_home(settings.codex_home)
        _hide_snapshots(settings.codex_home)
        config = core_config(settings.overrides, read_user_config(settings.codex_home))
        child_environment = {
            **without_client_secrets(environment, settings.overrides),
            "CODEX_HOME": settings.codex_home,
            **core_variables(settings.codex_home, binary.search_path(search_path)),
        }
        if binary.is_old:
            return _old(binary, config, child_environment, settings)
        arguments = [word for text in (UNLOAD_DELAY, *visible_overrides(config.overrides)) for word in ("-c", text)]
        argv = [binary.path, "app-server", *arguments]
        release = Release(binary.full_version, binary.unused)
        converse = partial(AppServer, setup=AppServerSetup(config.overrides, reach, hidden, release))
        version = release.version
        return CoreLaunch(argv, child_environment, converse, version=version, is_guarded=True, dies_with_us=True)

    return launch


def outliving(launch: Launcher, survival: Survival, codex_home: str) -> Launcher:
    """The same core, which may outlive the server. An old Codex does not."""
    from codex_mcp.codex.surviving.programs import kept_program  # noqa: PLC0415  few servers need it

    async def launch_on_socket() -> CoreLaunch:
        found = await launch()
        if found.backend != "app-server":
            return found
        program = found.argv[0]
        try:
            kept = await in_thread(kept_program, codex_home, program)
        except OSError as exc:
            logger.warning("an update of Codex while it runs may break it: cannot keep %s: %s", program, exc)
            return replace(found, survival=survival)
        environment = {**found.environment, "PATH": kept.search_path(found.environment["PATH"])}
        return replace(found, argv=[kept.program, *found.argv[1:]], environment=environment, survival=survival)

    return launch_on_socket


async def _after_trial(binary: Binary, settings: CoreSettings, search_path: str, trials: Trials) -> Binary:
    """Let a newer Codex on PATH be tried in the background; wait for the trial of one that the user names."""
    assert binary.untried is not None
    if binary.untried != binary.path:
        trials.start(binary.untried)
        return binary
    await trials.run(binary.untried)
    tried = await find_codex_soon(settings, search_path)
    if tried.untried is not None:
        raise NoCodex(
            f"cannot run {tried.path}: it could not be tried",
            "`codex-mcp doctor --self-test` shows why, and allow_untested_codex runs it without a trial",
        )
    return tried


def _make_home(codex_home: str) -> None:
    """Codex does not start without its home. Raises Refused."""
    try:
        make_private_folder(codex_home)
        if not os.access(codex_home, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), codex_home)
    except OSError as exc:
        why, remedy = exc.strerror or str(exc), "make it a folder that you can write to"
        if isinstance(exc, FileExistsError):
            why, remedy = "it is not a folder", "move it away"
        elif isinstance(exc, PermissionError) and (command := chown_advice(codex_home, os.path.expanduser("~"))):
            remedy = f"run `{command}`"
        raise Refused(
            f"cannot use Codex's folder {codex_home}: {why}; {remedy}, or choose another one with --codex-home or "
            "CODEX_HOME"
        ) from exc


def _hide_snapshots(codex_home: str) -> None:
    """Keep other users out of Codex's shell snapshots, which hold the environment and have mode 0644.

    A stricter umask would also apply to every file that agents create.
    """
    folder = os.path.join(codex_home, SNAPSHOTS)
    try:
        make_private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        logger.warning("cannot make %s readable by you alone: %s", folder, exc.strerror)
        return
    try:
        os.fchmod(descriptor, 0o700)
    except OSError as exc:
        logger.warning("cannot make %s readable by you alone: %s", folder, exc.strerror)
    finally:
        os.close(descriptor)


def _old(binary: Binary, config: CoreConfig, environment: Mapping[str, str], settings: CoreSettings) -> CoreLaunch:
    """An old Codex does not apply its `-c` to threads, so each thread gets them."""
    version = shown(binary.version)
    if settings.environments:
        raise Refused(
            f"cannot use an exec-server with Codex {version}; "
            "use a newer Codex (remove codex_version, codex_bin and backend)"
        )
    # Few servers drive an old Codex; the others start sooner without these modules.
    from codex_mcp.codex.legacy.core import LegacyCore, OldRelease  # noqa: PLC0415

    return CoreLaunch(
        [binary.path, "mcp-server"],
        environment,
        partial(LegacyCore, release=OldRelease(version, config.overrides)),
        dies_with_us=True,
        is_guarded=True,
        backend="mcp-server",
        version=version,
    )
