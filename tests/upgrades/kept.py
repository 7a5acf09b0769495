"""A home folder as one readable file: texts as they are, databases as their statements and rows.

The folder in which everything was is `{root}` in it.
"""

import base64
import contextlib
import json
import re
import socket
import sqlite3
from pathlib import Path
from typing import Any, Final

KEPT: Final = Path(__file__).parent
PLACES: Final = ("home/.codex/sessions", "home/.codex/codex-mcp", "home/.config/atm/codex-sessions", "work")
"""What a version writes, below the folder: conversations, what our servers share, the state of a team."""

PASSING: Final = re.compile(r"\.lock$|\.sock$|\.db-(wal|shm)$|/nodes/|/control/")
"""Locks and sockets of servers that have ended."""

LONGEST: Final = 400
"""Characters of a text of a conversation that are kept."""

Json = dict[str, Any]


def versions() -> list[str]:
    """Those whose folders are kept."""
    return sorted(file.stem for file in KEPT.glob("*.json"))


def keep(folder: Path, version: str) -> Path:
    """Write what is in this folder."""
    files: Json = {}
    databases: Json = {}
    for path in sorted(each for place in PLACES for each in (folder / place).rglob("*") if each.is_file()):
        name = str(path.relative_to(folder))
        if PASSING.search(name):
            continue
        if path.suffix == ".db":
            databases[name] = _dumped(path)
        elif path.suffix == ".jsonl":
            files[name] = "".join(
                f"{json.dumps(_shortened(json.loads(line)))}\n" for line in path.read_text().splitlines()
            )
        else:
            files[name] = path.read_text()
    text = json.dumps({"files": files, "databases": databases}, indent=1, ensure_ascii=False)
    file = KEPT / f"{version}.json"
    text = re.sub(rf'(?<="){re.escape(socket.gethostname())}(?=\\?")', "elsewhere", text.replace(str(folder), "{root}"))
    file.write_text(f"{text}\n")
    return file


def restore(version: str, folder: Path) -> None:
    """Make the folder again."""
    found = json.loads((KEPT / f"{version}.json").read_text().replace("{root}", str(folder)))
    for name, text in found["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, database in found["databases"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _make(path, database)


def _shortened(value: Any) -> Any:
    """Without most of Codex's long instructions."""
    match value:
        case dict():
            return {key: _shortened(each) for key, each in value.items()}
        case list():
            return [_shortened(each) for each in value]
        case str() if len(value) > LONGEST:
            return f"{value[:LONGEST]}…"
    return value


def _dumped(path: Path) -> Json:
    with contextlib.closing(sqlite3.connect(path)) as database:
        schema = database.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        rows = {
            name: [[_plain(value) for value in row] for row in database.execute(f'SELECT * FROM "{name}"')]
            for name, kind, _ in schema
            if kind == "table"
        }
        (number,) = database.execute("PRAGMA user_version").fetchone()
    return {"user_version": number, "schema": [sql for _, _, sql in schema], "rows": rows}


def _make(path: Path, found: Json) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for sql in found["schema"]:
            database.execute(sql)
        for name, rows in found["rows"].items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                database.execute(f'INSERT INTO "{name}" VALUES ({marks})', [_value(value) for value in row])
        database.execute(f"PRAGMA user_version = {found['user_version']}")
        database.commit()


def _plain(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    try:
        return {"text": value.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def _value(value: Any) -> object:
    match value:
        case {"text": text}:
            return text.encode()
        case {"base64": text}:
            return base64.b64decode(text)
    return value
