"""What the confined helper is started with: this Python, the modules that it needs, and where they are."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Final

import msgspec
import pybase64

import codex_mcp
from codex_mcp.execserver.launch import Launch

LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""What Python needs to start, besides itself."""

START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    # msgspec asks for it and does without; it takes longer to load than all the rest.
    "sys.modules['typing_extensions'] = None; "
    "from codex_mcp.execserver.files.helper_main import main; main()"
)


def helper_launch() -> Launch:
    """The helper's command: this Python, isolated, with the modules that we have ourselves."""
    argv = [sys.executable, "-I", "-S", "-c", START, *_module_folders()]
    return Launch(argv, "/", {"LC_ALL": "C.UTF-8"})


def runtime_paths() -> list[str]:
    """What the helper must be able to read in order to start, in a view that shows little."""
    own = [sys.base_prefix, sys.prefix, os.path.dirname(os.path.realpath(sys.executable)), *_module_folders()]
    found = {path for path in (*LIBRARIES, *own) if os.path.isdir(path)}
    return sorted(path for path in found if not any(path.startswith(other + "/") for other in found))


def _module_folders() -> list[str]:
    """Where the helper's modules are. Not all of sys.path: `python -m` puts the current folder there."""
    ours = os.path.dirname(os.path.dirname(codex_mcp.__file__ or ""))
    theirs = [os.path.dirname(os.path.dirname(library.__file__ or "")) for library in (msgspec, pybase64)]
    # Compiled modules of the standard library have a folder of their own; which of them are there differs by system.
    compiled = [path for path in sys.path if os.path.basename(path) == "lib-dynload"]
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), *compiled]
    return list(dict.fromkeys([ours, *standard, *theirs]))
