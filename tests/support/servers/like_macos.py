"""A Python as on macOS: everything that only Linux has is taken away before our modules are loaded."""

import os
from pathlib import Path

SITE = """
import os, select, signal, sys

for module, names in {
    os: "O_PATH O_TMPFILE O_DIRECT O_NOATIME memfd_create MFD_CLOEXEC pidfd_open P_PIDFD eventfd splice pipe2 "
    "copy_file_range sched_getaffinity getrandom getxattr setxattr fdatasync posix_fallocate posix_fadvise",
    select: "epoll EPOLLIN EPOLLOUT EPOLLERR EPOLLHUP",
    signal: "pidfd_send_signal sigwaitinfo sigtimedwait SIGPWR SIGPOLL SIGRTMIN SIGRTMAX",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

import socket  # not before: it would have taken epoll

for name in "SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED TCP_QUICKACK".split():
    if hasattr(socket, name):
        delattr(socket, name)
sys.platform = "darwin"
"""


def like_macos(folder: Path, sources: Path) -> dict[str, str]:
    """The environment of such a Python. `folder` is its home."""
    place = folder / "like-macos"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join([str(place), str(sources)])
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": path, "LC_ALL": "C.UTF-8"}
