"""Confinement: turns what a request allows into what enforces it, or refuses.

A process runs inside bubblewrap: its own view of the file system, processes and network, no privileges, a system call
filter. File requests that a policy limits run in a helper process inside the same kind of view, so that the kernel
decides about every path, links and races included. Helpers are kept for a while; one is asked again only if a new view
would be the same, down to the very files and folders that lie under its mounts. Nothing is ever run without the limits
that were asked for.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import Struct

from codex_mcp.execserver.errors import invalid_params, os_error_text
from codex_mcp.execserver.launch import Launch
from codex_mcp.execserver.sandbox.bubblewrap import Command, Kind, Layer, View, arguments
from codex_mcp.execserver.sandbox.helper_program import helper_launch, runtime_paths
from codex_mcp.execserver.sandbox.helper_shelf import ViewKey
from codex_mcp.execserver.sandbox.helpers import Helpers, Prepared
from codex_mcp.execserver.sandbox.mounts import Known, Mounts
from codex_mcp.execserver.sandbox.policy import CannotEnforce, Policy, policy_of
from codex_mcp.execserver.sandbox.seccomp import ARCHITECTURES, seccomp_program
from codex_mcp.wire.exec.files import OpenFile
from codex_mcp.wire.exec.sandbox import Access, Sandbox

logger = logging.getLogger(__name__)

REFUSAL: Final = "sandbox intent cannot be enforced on this executor"

PROBE_PATIENCE: Final = 10.0
"""Seconds for bubblewrap to show that it works. It takes some hundredths."""


@dataclass(frozen=True, slots=True)
class Confined:
    """A launch that keeps within its bounds."""

    launch: Launch
    started: ExitStack
    """To be closed once it is started."""
    ended: ExitStack
    """To be closed when it is gone."""
    is_wrapped: bool = False
    """Its first process is bubblewrap's and not the command's."""

    def release(self) -> None:
        """Nothing was started."""
        self.started.close()
        self.ended.close()


class Confinement:
    """What this machine can enforce."""

    def __init__(self, candidates: Sequence[str], temporary: Sequence[str] = ()) -> None:
        """`candidates` are bubblewraps, the best first; `temporary` the server's own temporary folders."""
        self._candidates = candidates
        self._temporary = tuple(temporary)
        self._known = Known()
        self._helpers = Helpers()
        self._found: str | None = None

    def of_process(self, what: Launch, sandbox: Sandbox | None) -> Confined:
        """The launch of a process under this sandbox. Raises RequestFailed if it cannot be enforced."""
        policy = self._policy(sandbox, _temporary(what.env)) if sandbox is not None else Policy(has_network=True)
        if policy.is_free:
            self.make_way()
            return Confined(what, ExitStack(), ExitStack())
        with ExitStack() as started, ExitStack() as ended:
            view = View(policy.has_network, Kind.WRITE)
            if policy.grants is not None:
                mounts = self._mounts(policy, started, ended)
                view = View(policy.has_network, mounts.base, mounts.layers)
            wrapped = self._wrapped(what, view, started)
            limited = replace(wrapped, cwd=what.cwd, tty=what.tty, pipe_stdin=what.pipe_stdin)
            return Confined(limited, started.pop_all(), ended.pop_all(), is_wrapped=True)

    def needs_helper(self, sandbox: Sandbox, *, writes: bool) -> bool:
        """Must a file request be done by the helper? Not if its kind is free anyway."""
        policy = self._policy(sandbox, self._temporary)
        return policy.grants is not None and (writes or not policy.reads_all)

    def make_way(self) -> None:
        """Something without limits is about to be done: no helper that only waits shall be in its way."""
        self._helpers.make_way()

    def close(self) -> None:
        """End the helpers. Twice is fine."""
        self._helpers.close()

    async def file_request(self, asked: Struct) -> object:
        """Do a file request within its limits. Raises RequestFailed."""
        answer, _ = await self._helpers.ask(lambda: self._helper(asked), asked)
        return answer

    async def open_file(self, asked: OpenFile) -> int:
        """Open a file within its limits, and return the descriptor. Raises RequestFailed."""
        _, descriptor = await self._helpers.ask(lambda: self._helper(asked), asked)
        assert descriptor is not None, "the helper answers with a descriptor or with an error"
        return descriptor

    def _helper(self, asked: Any) -> Prepared:
        policy = replace(self._policy(asked.sandbox, self._temporary), has_network=False)
        with ExitStack() as undo:
            mounts = self._mounts(policy, undo, undo)
            key, held = ViewKey(policy, mounts.sight), undo.pop_all()

        def launch() -> Launch:
            layers = list(mounts.layers)
            if mounts.base is None:
                layers += [Layer(path, Kind.READ, _folder(path, held)) for path in runtime_paths()]
            view = View(has_network=False, base=mounts.base, layers=layers, has_scratch=False)
            return self._wrapped(helper_launch(), view, held)

        return Prepared(key, launch, held, mounts.holds_places)

    def _policy(self, sandbox: Sandbox, temporary: Sequence[str]) -> Policy:
        try:
            return policy_of(sandbox, temporary)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None

    def _wrapped(self, what: Launch, view: View, started: ExitStack) -> Launch:
        seccomp = _in_memory(seccomp_program(os.uname().machine, has_network=view.has_network), started)
        words = arguments(replace(view, seccomp=seccomp), Command(what.cwd, what.env, what.arg0))
        # By way of a descriptor: no other process shall read our environment in the list of processes.
        listed = _in_memory(b"".join(os.fsencode(word) + b"\0" for word in words), started)
        passed = [seccomp, listed, *(layer.descriptor for layer in view.layers if layer.descriptor >= 0)]
        return Launch([self._bubblewrap(), "--args", str(listed), "--", *what.argv], "/", {}, pass_fds=passed)

    def _mounts(self, policy: Policy, started: ExitStack, ended: ExitStack) -> Mounts:
        self._bubblewrap()  # without one there is no need to touch anything
        placeholders = self._known.placeholders
        if any(grant.access is Access.WRITE and grant.path in placeholders for grant in policy.grants or ()):
            self.make_way()
        try:
            return Mounts(policy, self._known, started, ended)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None
        except OSError as exc:
            raise invalid_params(f"{REFUSAL}: {os_error_text(exc)}") from None

    def _bubblewrap(self) -> str:
        """One that works. As long as none does, each request looks again: the cause may have passed."""
        if self._found is None:
            is_known = os.uname().machine in ARCHITECTURES
            self._found = next((found for found in self._candidates if is_known and _works(found)), None)
            if self._found is None:
                why = "see above" if self._candidates else "bubblewrap is not installed"
                logger.warning("a sandbox was refused: %s", why if is_known else "unknown kind of processor")
                raise invalid_params(REFUSAL)
            logger.info("sandboxes are made by %s", self._found)
        return self._found


def _temporary(environment: Mapping[str, str]) -> list[str]:
    """Where a process with this environment keeps temporary files, as the real server reads it."""
    named = environment.get("TMPDIR", "")
    return [named] if os.path.isabs(named) else []


def _works(bubblewrap: str) -> bool:
    """Can it do here all that we ask of it?"""
    with ExitStack() as undo:
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        undo.callback(os.close, root)
        namespaces = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--cap-drop", "ALL"]
        mounts = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind-fd", str(root), "/"]
        argv = [bubblewrap, *namespaces, *mounts, "--dev", "/dev", "--proc", "/proc", "--", "/bin/sh", "-c", ":"]
        try:
            probe = subprocess.run(argv, env={}, capture_output=True, timeout=PROBE_PATIENCE, pass_fds=[root])
        except (OSError, subprocess.TimeoutExpired) as exc:
            logger.warning("%s cannot be used for sandboxes: %s", bubblewrap, exc)
            return False
        if probe.returncode:
            logger.warning(
                "%s cannot be used for sandboxes: %s", bubblewrap, probe.stderr.decode(errors="replace").strip()
            )
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


def bubblewraps(bundled: str | None) -> list[str]:
    """The system's own, which may have been given the right to do it; then the one that comes with Codex."""
    found = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", *([bundled] if bundled is not None else [])]
    return [path for path in found if os.access(path, os.X_OK)]
