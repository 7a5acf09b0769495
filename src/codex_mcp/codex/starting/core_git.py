"""The `git` that Codex itself finds first on its PATH: it runs nothing that a repository chooses.

Codex runs git outside of every sandbox, when a thread and when a turn starts, in folders that agents write: to record
commit, branch and remotes, and to tell its model's provider whether files have changed (`git status`). Git would run
the filters of whatever repository it finds there, or in a submodule. Settings cannot prevent that, because nobody knows
the names of all filters beforehand. So a small program stands before git. Codex's own calls are known by their first
words (measured with 0.153.4 to 0.169.0); everyone else, such as a command of an agent, gets git as it is.

    Codex's own call                        what runs
    --------------------------------------  ------------------------------------------------------------------
    in LOOKUPS                              git: it reads references and settings, and never looks at a file
    clone, ls-remote                        git, in Codex's home: plugins, if the user wants them
    in IN_HOME, in a folder of that home    git: plugins again
    anything else, such as status           nothing; it fails
"""

from __future__ import annotations

import logging
import os
import stat
from typing import Final

from codex_mcp.base.files import make_private_folder, read_if_there, write_whole

logger = logging.getLogger(__name__)

FOLDER: Final = ".codex-mcp-bin"
"""In Codex's home, which sandboxed agents cannot write. All servers that use this home share it."""

LOOKUPS: Final = (
    *("branch", "config", "for-each-ref", "log", "merge-base", "remote", "rev-list", "rev-parse", "symbolic-ref"),
    "version",
)

IN_HOME: Final = ("checkout", "fetch", "reset", "sparse-checkout")
"""Never what Codex runs in the folder of a thread: agents also work in checkouts below that home, as `worktrees/`."""

SCRIPT: Final = f"""#!/bin/sh
# Made by codex-mcp. Codex runs git outside of its sandbox, in folders that agents write: for its own calls, this runs
# only what no setting of a repository turns into a program. All other calls get git as it is.
set -f
git=
IFS=:
for place in $PATH; do
    case $place in
    /*) if [ -x "$place/git" ] && [ ! -d "$place/git" ] && ! [ "$place/git" -ef "$0" ]; then
            git=$place/git
            break
        fi ;;
    esac
done
unset IFS
set +f
if [ -z "$git" ]; then
    echo 'git: not found' >&2
    exit 127
fi
[ "$1 $2" = '-c safe.bareRepository=explicit' ] || exec "$git" "$@"
verb=
option=
folder=$PWD
for word in "$@"; do
    case $option in
    -C) folder=$word ;;
    esac
    if [ -n "$option" ]; then
        option=
        continue
    fi
    case $word in
    -c | -C) option=$word ;;
    -*) ;;
    *)
        verb=$word
        break
        ;;
    esac
done
case $verb in
{" | ".join(LOOKUPS)})
    export GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 GIT_TERMINAL_PROMPT=0
    exec "$git" -c core.hooksPath=/dev/null -c core.fsmonitor=false -c log.showSignature=false \\
        -c format.pretty=medium "$@"
    ;;
clone | ls-remote)
    cd "$CODEX_HOME" && exec "$git" "$@"
    exit 1
    ;;
esac
case $verb:$folder/ in
{" | ".join(f'{verb}:"$CODEX_HOME"/*' for verb in IN_HOME)}) exec "$git" "$@" ;;
esac
echo "codex-mcp does not run git $verb for Codex outside of the sandbox" >&2
exit 1
"""


def with_core_git(codex_home: str, search_path: str) -> str:
    """The PATH for a core: with our `git` first, unless there is none at all."""
    places = [place for place in search_path.split(os.pathsep) if os.path.isabs(place)]
    if not any(_is_program(os.path.join(place, "git")) for place in places):
        return search_path
    folder = os.path.join(codex_home, FOLDER)
    program = os.path.join(folder, "git")
    try:
        make_private_folder(folder)
        if read_if_there(program) != SCRIPT.encode():
            write_whole(program, SCRIPT.encode(), mode=0o700)
        if not _is_program(program):
            os.chmod(program, 0o700)
        why = "" if _is_program(program) else "programs cannot be run there"
    except OSError as exc:
        why = exc.strerror or str(exc)
    if why:
        logger.warning(
            "Codex runs git with the settings of the repositories that it finds: cannot make %s: %s", program, why
        )
    return os.pathsep.join((folder, search_path))


def _is_program(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False
