"""A Python as on macOS: everything that only Linux has is taken away before our modules are loaded."""

import os
from pathlib import Path

SITE = """
import fcntl, os, resource, select, signal, sys

for module, names in {
    os: "O_PATH O_TMPFILE O_DIRECT O_NOATIME O_RSYNC memfd_create MFD_CLOEXEC pidfd_open P_PIDFD eventfd eventfd_read "
    "timerfd_create splice pipe2 copy_file_range sched_getaffinity sched_setaffinity sched_setscheduler getrandom "
    "getxattr setxattr listxattr removexattr fdatasync posix_fallocate posix_fadvise unshare setns getresuid setresuid "
    "waitid P_PID P_PGID P_ALL WEXITED WNOWAIT",
    select: "epoll EPOLLIN EPOLLOUT EPOLLERR EPOLLHUP",
    signal: "pidfd_send_signal sigwaitinfo sigtimedwait SIGPWR SIGPOLL SIGRTMIN SIGRTMAX SIGSTKFLT SIGCLD",
    fcntl: "F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_GET_SEALS F_OFD_SETLK F_OFD_SETLKW F_OFD_GETLK F_NOTIFY",
    resource: "prlimit RLIMIT_OFILE RLIMIT_SIGPENDING RLIMIT_RTPRIO",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)

import socket  # not before: it would have taken epoll

for name in (
    "SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED SO_PASSCRED SO_BINDTODEVICE SO_DOMAIN SO_PROTOCOL SCM_CREDENTIALS "
    "MSG_CMSG_CLOEXEC MSG_NOSIGNAL TCP_QUICKACK TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_CORK TCP_DEFER_ACCEPT TCP_INFO "
    "AF_NETLINK AF_PACKET AF_VSOCK AF_ALG"
).split():
    if hasattr(socket, name):
        delattr(socket, name)
sys.platform = "darwin"

import types  # what urllib asks for the proxies of a Mac

proxies = sys.modules["_scproxy"] = types.ModuleType("_scproxy")
proxies._get_proxies = proxies._get_proxy_settings = dict
"""


def like_macos(folder: Path, sources: Path) -> dict[str, str]:
    """The environment of such a Python. `folder` is its home."""
    place = folder / "like-macos"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(SITE)
    path = os.pathsep.join([str(place), str(sources)])
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": path, "LC_ALL": "C.UTF-8"}
