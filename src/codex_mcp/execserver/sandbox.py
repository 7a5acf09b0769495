"""Confinement: turns what a request allows into what enforces it, or refuses.

A process runs inside bubblewrap: its own view of the file system, processes and network, no privileges, a system call
filter. File requests that a policy limits run in a helper process inside the same kind of view, so that the kernel
decides about every path, links and races included. Nothing is ever run without the limits that were asked for.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import Struct

from codex_mcp.execserver.bubblewrap import Command, Kind, Layer, View, arguments
from codex_mcp.execserver.errors import invalid_params, os_error_text
from codex_mcp.execserver.helper_call import call_helper, helper_launch, runtime_paths
from codex_mcp.execserver.launch import Launch
from codex_mcp.execserver.mounts import Mounts
from codex_mcp.execserver.placeholders import Placeholders
from codex_mcp.execserver.policy import CannotEnforce, Policy, policy_of
from codex_mcp.execserver.seccomp import ARCHITECTURES, seccomp_program
from codex_mcp.wire.exec_files import OpenFile
from codex_mcp.wire.exec_sandbox import Sandbox

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
        self._placeholders = Placeholders()
        self._found: str | None = None
        self._has_looked = False

    def of_process(self, what: Launch, sandbox: Sandbox | None) -> Confined:
        """The launch of a process under this sandbox. Raises RequestFailed if it cannot be enforced."""
        policy = self._policy(sandbox) if sandbox is not None else Policy(has_network=True)
        if policy.is_free:
            return Confined(what, ExitStack(), ExitStack())
        with ExitStack() as started, ExitStack() as ended:
            wrapped = replace(
                self._wrapped(policy, what, (), (started, ended)),
                cwd=what.cwd,
                tty=what.tty,
                pipe_stdin=what.pipe_stdin,
            )
            return Confined(wrapped, started.pop_all(), ended.pop_all(), is_wrapped=True)

    def needs_helper(self, sandbox: Sandbox, *, writes: bool) -> bool:
        """Must a file request be done by the helper? Not if its kind is free anyway."""
        policy = self._policy(sandbox)
        return policy.grants is not None and (writes or not policy.reads_all)

    async def file_request(self, asked: Struct) -> object:
        """Do a file request within its limits. Raises RequestFailed."""
        with self._helper(asked) as (launch, started):
            answer, _ = await call_helper(launch, started, asked)
        return answer

    async def open_file(self, asked: OpenFile) -> int:
        """Open a file within its limits, and return the descriptor. Raises RequestFailed."""
        with self._helper(asked) as (launch, started):
            _, descriptor = await call_helper(launch, started, asked)
        assert descriptor is not None, "the helper answers with a descriptor or with an error"
        return descriptor

    @contextmanager
    def _helper(self, asked: Any) -> Iterator[tuple[Launch, ExitStack]]:
        policy = replace(self._policy(asked.sandbox), has_network=False)
        with ExitStack() as started, ExitStack() as ended:
            yield self._wrapped(policy, helper_launch(), runtime_paths(), (started, ended)), started

    def _policy(self, sandbox: Sandbox) -> Policy:
        try:
            return policy_of(sandbox, self._temporary)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None

    def _wrapped(
        self, policy: Policy, what: Launch, extra: Sequence[str], release: tuple[ExitStack, ExitStack]
    ) -> Launch:
        bubblewrap = self._bubblewrap()
        started, _ = release
        base, layers = self._layers(policy, release)
        if base is None:
            layers += [Layer(path, Kind.READ, _folder(path, started)) for path in extra]
        seccomp = _in_memory(seccomp_program(os.uname().machine, has_network=policy.has_network), started)
        view = View(policy.has_network, base, layers, seccomp)
        words = arguments(view, Command(what.cwd, what.env, what.arg0))
        # By way of a descriptor: no other process shall read our environment in the list of processes.
        listed = _in_memory(b"".join(os.fsencode(word) + b"\0" for word in words), started)
        passed = [seccomp, listed, *(layer.descriptor for layer in layers if layer.descriptor >= 0)]
        return Launch([bubblewrap, "--args", str(listed), "--", *what.argv], "/", {}, pass_fds=passed)

    def _layers(self, policy: Policy, release: tuple[ExitStack, ExitStack]) -> tuple[Kind | None, list[Layer]]:
        if policy.grants is None:
            return Kind.WRITE, []
        try:
            mounts = Mounts(policy, self._placeholders, *release)
        except CannotEnforce as exc:
            raise invalid_params(str(exc)) from None
        except OSError as exc:
            raise invalid_params(f"{REFUSAL}: {os_error_text(exc)}") from None
        return mounts.base, mounts.layers

    def _bubblewrap(self) -> str:
        if not self._has_looked:
            self._has_looked = True
            is_known = os.uname().machine in ARCHITECTURES
            self._found = next((found for found in self._candidates if is_known and _works(found)), None)
        if self._found is None:
            raise invalid_params(REFUSAL)
        return self._found


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
        except (OSError, subprocess.TimeoutExpired):
            return False
        if probe.returncode:
            logger.warning("%s cannot confine here: %s", bubblewrap, probe.stderr.decode(errors="replace").strip())
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
