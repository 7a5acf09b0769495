"""Enforces the sandbox of a request, or refuses the request.

A process runs inside bubblewrap: with its own view of the file system, processes and network, without privileges, and
under a system call filter. File requests that a policy limits run in a helper process inside the same kind of view, so
that the kernel checks every path, including links and races. Helpers are kept for a while; one is reused only if a new
view would be the same, down to the files and folders under its mounts. Nothing runs without the requested limits.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from codex_mcp.execserver.errors import invalid_params, os_error_text
from codex_mcp.execserver.launch import ProcessSpec
from codex_mcp.execserver.sandbox.bubblewrap import Command, Layer, MountKind, View, arguments
from codex_mcp.execserver.sandbox.helper import helper_command, runtime_paths
from codex_mcp.execserver.sandbox.helper_pool import HelperPool, PreparedView
from codex_mcp.execserver.sandbox.helper_pool_state import ViewKey
from codex_mcp.execserver.sandbox.mounts import Mounts
from codex_mcp.execserver.sandbox.placeholders import Placeholders
from codex_mcp.execserver.sandbox.policy import REFUSAL, CannotEnforce, Policy, policy_of
from codex_mcp.execserver.sandbox.repositories import Repositories
from codex_mcp.execserver.sandbox.seccomp import ARCHITECTURES, seccomp_program
from codex_mcp.wire.exec.files import OpenFile
from codex_mcp.wire.exec.sandbox import Access, Sandbox

logger = logging.getLogger(__name__)

PROBE_TIMEOUT: Final = 10.0
"""Seconds to test bubblewrap. It takes some hundredths."""


class ConfinedLaunch(Struct, frozen=True):
    spec: ProcessSpec
    started: ExitStack
    """To be closed once the process has started."""
    ended: ExitStack
    """To be closed when the process has ended."""
    is_wrapped: bool = False
    """The process is bubblewrap, with the command inside."""

    def release(self) -> None:
        """The process was not started."""
        self.started.close()
        self.ended.close()


class Confinement:
    """Enforces sandboxes with the bubblewrap of this machine."""

    def __init__(self, candidates: Sequence[str], temporary: Sequence[str] = ()) -> None:
        """`candidates` are bubblewrap programs, best first; `temporary` are the server's own temporary folders."""
        self._candidates = candidates
        self._temporary = tuple(temporary)
        self._placeholders = Placeholders()
        self._repositories = Repositories()
        self._helpers = HelperPool()
        self._found: str | None = None

    def confine_process(self, spec: ProcessSpec, sandbox: Sandbox | None) -> ConfinedLaunch:
        """The process under this sandbox. Raises RequestFailed if it cannot be enforced."""
        policy = self._policy(sandbox, temporary_folders(spec.env)) if sandbox is not None else Policy(has_network=True)
        if policy.is_free:
            self.release_placeholders()
            return ConfinedLaunch(spec, ExitStack(), ExitStack())
        with ExitStack() as started, ExitStack() as ended:
            view = View(policy.has_network, MountKind.WRITE)
            if policy.grants is not None:
                mounts = self._mounts(policy, started, ended)
                view = View(policy.has_network, mounts.base, mounts.layers)
            wrapped = self._wrapped(spec, view, started)
            limited = replace(wrapped, cwd=spec.cwd, tty=spec.tty, pipe_stdin=spec.pipe_stdin)
            return ConfinedLaunch(limited, started.pop_all(), ended.pop_all(), is_wrapped=True)

    def needs_helper(self, sandbox: Sandbox, *, writes: bool) -> bool:
        """Whether a helper must do a file request. Not if the policy does not limit this kind of request."""
        policy = self._policy(sandbox, self._temporary)
        return policy.grants is not None and (writes or not policy.reads_all)

    def release_placeholders(self) -> None:
        """Call before something runs without a sandbox, which would see the placeholders of idle helpers."""
        self._helpers.release_placeholders()

    def close(self) -> None:
        self._helpers.close()

    async def file_request(self, asked: Struct) -> object:
        """Do a file request within its sandbox. Raises RequestFailed."""
        answer, _ = await self._helpers.ask(lambda: self._helper(asked), asked)
        return answer

    async def open_file(self, asked: OpenFile) -> int:
        """Open a file within its sandbox; return the descriptor. Raises RequestFailed."""
        _, descriptor = await self._helpers.ask(lambda: self._helper(asked), asked)
        assert descriptor is not None, "the helper answers with a descriptor or with an error"
        return descriptor

    def _helper(self, asked: Any) -> PreparedView:
        policy = replace(self._policy(asked.sandbox, self._temporary), has_network=False)
        with ExitStack() as undo:
            mounts = self._mounts(policy, undo, undo)
            key, held = ViewKey(policy, mounts.fingerprint), undo.pop_all()

        def launch() -> ProcessSpec:
            layers = list(mounts.layers)
            if mounts.base is None:
                layers += [Layer(path, MountKind.READ, _folder(path, held)) for path in runtime_paths()]
            view = View(has_network=False, base=mounts.base, layers=layers, is_dev_writable=False)
            return self._wrapped(helper_command(), view, held)

        return PreparedView(key, launch, held, mounts.holds_placeholders)

    def _policy(self, sandbox: Sandbox, temporary: Sequence[str]) -> Policy:
        try:
            return policy_of(sandbox, temporary)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None

    def _wrapped(self, spec: ProcessSpec, view: View, started: ExitStack) -> ProcessSpec:
        seccomp = _in_memory(seccomp_program(os.uname().machine, has_network=view.has_network), started)
        words = arguments(replace(view, seccomp=seccomp), Command(spec.cwd, spec.env, spec.arg0))
        # Through a descriptor, so that the environment does not show in the process list.
        listed = _in_memory(b"".join(os.fsencode(word) + b"\0" for word in words), started)
        passed = [seccomp, listed, *(layer.descriptor for layer in view.layers if layer.descriptor >= 0)]
        return ProcessSpec([self._bubblewrap(), "--args", str(listed), "--", *spec.argv], "/", {}, pass_fds=passed)

    def _mounts(self, policy: Policy, started: ExitStack, ended: ExitStack) -> Mounts:
        self._bubblewrap()  # refuses before anything is touched
        if any(grant.access is Access.WRITE and grant.path in self._placeholders for grant in policy.grants or ()):
            self.release_placeholders()
        try:
            return Mounts(policy, self._placeholders, self._repositories, started, ended)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None
        except OSError as exc:
            raise invalid_params(f"{REFUSAL}: {os_error_text(exc)}") from None

    def _bubblewrap(self) -> str:
        """A bubblewrap that works. While none does, each request tries again: the cause may be temporary."""
        if self._found is None:
            is_known = os.uname().machine in ARCHITECTURES
            self._found = next((found for found in self._candidates if is_known and _works(found)), None)
            if self._found is None:
                why = "see above" if self._candidates else "bubblewrap is not installed"
                logger.warning("refused a sandbox: %s", why if is_known else "unknown processor architecture")
                raise invalid_params(REFUSAL)
            logger.info("using %s for sandboxes", self._found)
        return self._found


def temporary_folders(environment: Mapping[str, str]) -> list[str]:
    """The folders that `tmpdir` means for a process with this environment, as in the real server."""
    named = environment.get("TMPDIR", "")
    return [named] if os.path.isabs(named) else []


def _works(bubblewrap: str) -> bool:
    """Whether it can do everything that we need on this machine."""
    with ExitStack() as undo:
        root = _folder("/", undo)
        namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--cap-drop", "ALL"]
        mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind-fd", str(root), "/"]
        argv = [bubblewrap, *namespaces, *mounts, "--dev", "/dev", "--proc", "/proc", "--", "/bin/sh", "-c", ":"]
        try:
            probe = subprocess.run(argv, env={}, capture_output=True, timeout=PROBE_TIMEOUT, pass_fds=[root])
        except (OSError, subprocess.TimeoutExpired) as exc:
            logger.warning("cannot use %s for sandboxes: %s", bubblewrap, exc)
            return False
        if probe.returncode:
            logger.warning("cannot use %s for sandboxes: %s", bubblewrap, probe.stderr.decode(errors="replace").strip())
        return probe.returncode == 0


def _folder(path: str, undo: ExitStack) -> int:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    undo.callback(os.close, descriptor)
    return descriptor


def _in_memory(content: bytes, undo: ExitStack) -> int:
    descriptor = os.memfd_create("sandbox", os.MFD_CLOEXEC)
    undo.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def bubblewraps() -> list[str]:
    """The system's bubblewrap, which may have extra privileges; then that of the Codex wheel, which is not imported."""
    wheel = importlib.util.find_spec("codex_cli_bin")
    folders = wheel.submodule_search_locations if wheel is not None else None
    found = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", *(f"{path}/codex-resources/bwrap" for path in folders or ())]
    return [path for path in found if os.access(path, os.X_OK)]
