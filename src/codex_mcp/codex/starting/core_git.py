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

import contextlib
import logging
import os
from typing import Final

from codex_mcp.base.files import make_private_folder, read_if_there, write_whole
from codex_mcp.base.processes.programs import find, is_program, places

logger = logging.getLogger(__name__)

FOLDER: Final = ".codex-mcp-bin"
"""In Codex's home, which sandboxed agents cannot write. All servers that use this home share it."""

LOOKUPS: Final = (
    *("branch", "config", "for-each-ref", "log", "merge-base", "remote", "rev-list", "rev-parse", "symbolic-ref"),
    "version",
)

IN_HOME: Final = ("checkout", "fetch", "reset", "sparse-checkout")
"""Never what Codex runs in the folder of a thread: agents also work in checkouts below that home, as `worktrees/`."""

VARIABLE: Final = "CODEX_MCP_CORE_GIT"
"""Which git runs for Codex itself: PATH may name folders in which agents work. Without it, it is looked for on PATH."""

SANDBOX: Final = "bwrap"
SOUGHT: Final = ("bash", "getconf", "sh", "zsh", SANDBOX)
"""Programs that Codex looks for on PATH and runs outside of its sandbox, or as its sandbox (seen with 0.163.0)."""

NOTHING: Final = "#!/bin/sh\nexit 127\n"
"""In the place of a bubblewrap that is nowhere else. Codex then uses its own."""

SCRIPT: Final = f"""#!/bin/sh
# Made by codex-mcp. Codex runs git outside of its sandbox, in folders that agents write: for its own calls, this runs
# only what no setting of a repository turns into a program. All other calls get git as it is.
own=
[ "$1 $2" != '-c safe.bareRepository=explicit' ] || own=yes
set -f
git=${{own:+${VARIABLE}}}
search=$PATH
[ -z "$git" ] || search=
IFS=:
for place in $search; do
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
[ -n "$own" ] || exec "$git" "$@"
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


def core_variables(codex_home: str, search_path: str) -> dict[str, str]:
    """The PATH for a core, with our `git` first unless there can be none, and which git that runs for Codex."""
    given = [place for place in search_path.split(os.pathsep) if os.path.isabs(place)]
    safe = places(search_path)
    is_safe = len(safe) == len(given)
    if is_safe and find("git", safe) is None:
        return {"PATH": search_path}
    folder = os.path.join(codex_home, FOLDER)
    safe = [place for place in safe if os.path.realpath(place) != os.path.realpath(folder)]
    program = os.path.join(folder, "git")
    try:
        make_private_folder(folder)
        if read_if_there(program) != SCRIPT.encode():
            write_whole(program, SCRIPT.encode(), mode=0o700)
        if not is_program(program):
            os.chmod(program, 0o700)
        _fill(folder, None if is_safe else safe)
        why = "" if is_program(program) else "programs cannot be run there"
    except OSError as exc:
        why = exc.strerror or str(exc)
    if why:
        logger.warning(
            "Codex runs git with the settings of the repositories that it finds: cannot make %s: %s", program, why
        )
    return {"PATH": os.pathsep.join((folder, search_path)), VARIABLE: find("git", safe) or os.devnull}


def _fill(folder: str, safe: list[str] | None) -> None:
    """Put what Codex looks for before the folders of PATH in which agents may have put a program of that name.

    None: there are no such folders.
    """
    for name in SOUGHT:
        target = None if safe is None else find(name, safe)
        path = os.path.join(folder, name)
        draft = f"{path}.{os.urandom(6).hex()}"
        if target is not None:
            os.symlink(target, draft)
        elif safe is not None and name == SANDBOX:
            write_whole(draft, NOTHING.encode(), mode=0o700)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            continue
        os.replace(draft, path)
