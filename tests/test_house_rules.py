"""Rules that no linter knows: pure modules, sizes, docstrings, tests beside their package, neutral texts."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
PACKAGE = "codex_mcp"

MAX_LINES = 400
"""A file that is longer holds two things."""

MAX_MODULES = 16
"""A folder with more of them needs folders of its own."""

MAX_FUNCTION_LINES = 40
"""What one can take in without scrolling."""

IMPURE = frozenset(
    {"asyncio", "contextvars", "logging", "os", "pathlib", "random", "select", "selectors", "shutil", "signal"}
    | {"socket", "ssl", "subprocess", "tempfile", "threading", "time"}
)
"""What a pure module may not import: whatever waits, touches the world, or answers differently the second time."""

# The names are put together from halves, so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.*~$}/<-])/(?:(?:wo" + r"rk|ro" + r"ot)(?![\w-])|tm" + "p/)")
REGISTRY = re.compile("|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(?:org|com)"]))


@cache
def modules() -> dict[str, Path]:
    """Every module of ours: dotted name to file."""
    return {dotted(path): path for path in sorted((SRC / PACKAGE).rglob("*.py"))}


def dotted(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def is_pure(path: Path) -> bool:
    """A module says in its docstring that it is pure; an empty one does nothing anyway."""
    return not tree(path).body or (ast.get_docstring(tree(path)) or "").startswith("Pure.")


def imports(path: Path) -> Iterator[str]:
    """The full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


def why_not_pure(imported: str) -> str | None:
    top = imported.partition(".")[0]
    if top in IMPURE:
        return "which does things"
    if top == PACKAGE and imported in modules() and not is_pure(modules()[imported]):
        return "which is not pure"
    return None


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).is_file()]


def test_pure_modules_import_nothing_that_acts() -> None:
    broken = [
        f"{name} imports {imported}, {why}"
        for name, path in modules().items()
        if is_pure(path)
        for imported in imports(path)
        if (why := why_not_pure(imported))
    ]
    assert broken == []


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, path in modules().items() if tree(path).body and not ast.get_docstring(tree(path))] == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in modules().values()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_a_package_file_holds_a_docstring_and_nothing_else() -> None:
    inner = [path for name, path in modules().items() if path.name == "__init__.py" and name != PACKAGE]
    assert [str(path) for path in inner if len(tree(path).body) > bool(ast.get_docstring(tree(path)))] == []


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert {str(folder): count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_no_file_is_too_long() -> None:
    files = [*SRC.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_function_is_too_long() -> None:
    too_long = [
        f"{name}.{node.name}: {length} lines"
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]
    assert too_long == []


def test_every_package_has_its_tests_at_the_same_place() -> None:
    folders = {path.parent.relative_to(SRC / PACKAGE) for name, path in modules().items() if path.name != "__init__.py"}
    missing = [str(folder) for folder in folders if not any((ROOT / "tests" / folder).glob("test_*.py"))]
    assert missing == []


CATCHES_ALL = {"execserver.connection", "mcp.tracing", "rpc.peer", "team.records.record_writer"}
"""The modules that STYLE.md allows to catch every exception."""


def test_every_exception_is_caught_only_where_the_style_guide_says() -> None:
    found = {
        name.removeprefix(f"{PACKAGE}.")
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == "Exception"
    }
    assert found == CATCHES_ALL
    text = (ROOT / "STYLE.md").read_text(encoding="utf-8")
    assert [name for name in CATCHES_ALL if f"{name.replace('.', '/')}.py" not in text] == []


def test_tests_start_no_task_without_an_owner() -> None:
    ownerless = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr in {"create_task", "ensure_future"}
        and isinstance(node.value, ast.Name)
        and node.value.id in {"asyncio", "loop"}
    ]
    assert ownerless == []


def test_no_tracked_file_names_this_machine_or_a_registry() -> None:
    found = []
    for path in tracked_files():
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), 1):
            found += [
                f"{path.relative_to(ROOT)}:{number}: {match.group()}"
                for match in (MACHINE_PATH.search(line), REGISTRY.search(line))
                if match
            ]
    assert found == []


def test_what_names_this_machine_or_a_registry_is_recognised() -> None:
    for path in ["tmp/x", "root", "root/.codex", "work", "work/main"]:
        assert MACHINE_PATH.search(f'cwd = "/{path}"')
    for path in ["example.com/" + "work/x", "/workspace/x", "$HOME/tmp/x", "var/tmp/x", "the temporary folder"]:
        assert not MACHINE_PATH.search(f'cwd = "{path}"')
    assert REGISTRY.search("https://" + "py" + "pi.org/simple")


READS = {"open", "os.open", "os.fdopen", "io.open", "io.FileIO", "codecs.open", "tomllib.load", "mmap.mmap"}
"""Calls that open files, besides all methods and functions of these names:"""

READING_METHODS = {"read_text", "read_bytes", "copyfile", "copy", "copy2", "copytree", "move"}

OPENED_ELSEWHERE = {
    "access.other_end": "/proc",
    "access.process_tree": "/proc",
    "base.files": "the one place",
    "base.logs": "writes the log, which may be a pipe or a terminal that the user names; never waits for it",
    "base.disk.scratch": "opens folders of its own",
    "base.disk.trees": "opens folders only, through no link",
    "base.secrets.rules": "a file of this package",
    "base.processes.marks": "/proc",
    "base.processes.offspring": "/proc",
    "cli.clients.http_access": "/proc",
    "cli.clients.own_folder.lock": "opens a folder of its own",
    "cli.cmd_update": "a file of our installation",
    "cli.doctor.gathering": "/proc",
    "cli.main": "/dev/null",
    "cli.output": "/dev/null",
    "codex.launch": "opens a folder",
    "codex.silent_server": "/proc",
    "execserver.files.operations": "a client's own requests: regular files only, in pieces",
    "execserver.files.trees": "a client's own requests: regular files only, in pieces",
    "execserver.processes.interrupts": "/proc",
    "execserver.sandbox.confinement": "names a place for bubblewrap, without reading it",
    "execserver.sandbox.mounts": "/proc, and names of places for bubblewrap",
    "execserver.sandbox.placeholders": "opens folders",
    "execserver.serve": "/proc",
    "git.agent_files": "an agent's git folder: regular files only, through no link, in limited numbers and sizes",
    "mail.owners": "/proc",
    "transports.local.sockets": "opens folders only",
}
"""The modules that open files by themselves, and why a pipe, a device or a file without end does no harm there."""


def called(node: ast.Call) -> str:
    """The name of what is called, as far as it is written: `open`, `os.open`, `read_text`."""
    match node.func:
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name(module), name) if f"{module}.{name}" in READS or module in ("shutil",):
            return f"{module}.{name}"
        case ast.Attribute(_, name):
            return f".{name}"
    return ""


OWN_THREADS = {"access.peers", "state.embedded.small_database", "team.records.audit", "transports.stdio"}
"""Modules with a thread of their own for as long as the server runs. It ends with the process."""


def test_work_that_blocks_has_one_way_to_threads() -> None:
    found = {
        name.removeprefix(f"{PACKAGE}.")
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and (
            node.attr in ("run_in_executor", "to_thread", "ThreadPoolExecutor")
            or ast.unparse(node) == "threading.Thread"
        )
    }
    assert found <= {"base.blocking", *OWN_THREADS}


def test_we_start_ourselves_in_one_way() -> None:
    """`python -m` looks into the working folder first."""
    found = {
        name.removeprefix(f"{PACKAGE}.")
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.List | ast.Tuple) and "'-m', 'codex_mcp'" in ast.unparse(node)
    }
    assert found == {"base.processes.programs"}


def test_files_are_opened_in_one_place() -> None:
    found = {
        name.removeprefix(f"{PACKAGE}.")
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and ((what := called(node)) in READS or (what.rpartition(".")[2] in READING_METHODS and "." in what))
        and what != ".copy"  # of dictionaries
    }
    assert found - OPENED_ELSEWHERE.keys() == set()
    assert {name for name in OPENED_ELSEWHERE if f"{PACKAGE}.{name}" in modules()} <= found


OPENERS = {"bz2", "configparser", "dbm", "fileinput", "gzip", "linecache", "lzma", "mailbox", "netrc", "shelve"}
OPENERS |= {"tarfile", "tempfile", "zipfile"}
"""Modules that open files by their names, which nothing here needs."""


def test_files_are_opened_by_no_other_module_or_name() -> None:
    """`test_files_are_opened_in_one_place` sees calls as they are written, so nothing that opens has another name."""
    found = []
    for name, path in modules().items():
        for node in ast.walk(tree(path)):
            match node:
                case ast.Import(names):
                    found += [f"{name}: {each.name}" for each in names if each.name.partition(".")[0] in OPENERS]
                    found += [f"{name}: {each.asname}" for each in names if each.name in {"os", "io"} and each.asname]
                case ast.ImportFrom(module=str(module), names=names):
                    taken = {f"{module}.{each.name}" for each in names}
                    found += [f"{name}: {each}" for each in taken & READS or ({module} & OPENERS)]
                case ast.Call(ast.Attribute(ast.Call(ast.Name("Path")), "open")):
                    found.append(f"{name}: Path.open")
                case _:
                    pass
    assert found == []
