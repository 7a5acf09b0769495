"""Reads scripts from files: the user's own, and those in the package."""

from pathlib import Path

from codex_mcp.base.files import read_regular
from codex_mcp.scripted_model.script import Script, parse_script
from codex_mcp.scripted_model.steps import ScriptError

PACKAGED = Path(__file__).parent / "scripts"


def load_script(path: str | Path) -> Script:
    try:
        text = read_regular(str(path)).decode()
    except OSError as exc:
        raise ScriptError(f"cannot read the script {path}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ScriptError(f"cannot read the script {path}: it is not UTF-8 text") from exc
    return parse_script(text, str(path))


def packaged_script(name: str) -> Script:
    return load_script(PACKAGED / f"{name}.toml")
