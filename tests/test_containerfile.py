"""The Containerfile, read as a builder reads it: what it copies exists, and what it starts can be started."""

import json
import re
import subprocess
from importlib.metadata import requires
from pathlib import Path

from codex_mcp.cli import cmd_serve
from codex_mcp.cli.parser import Parser
from codex_mcp.config.load import load

ROOT = Path(__file__).parents[1]


def instructions() -> list[tuple[str, str]]:
    """The instructions in their order: name and the rest, with lines joined and comments left out."""
    lines = [line for line in (ROOT / "Containerfile").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest) for name, _, rest in found]


def values(name: str) -> list[str]:
    return [rest for other, rest in instructions() if other == name]


def test_its_instructions_are_known_and_begin_with_the_base() -> None:
    names = [name for name, _ in instructions()]
    assert names[:2] == ["ARG", "FROM"]
    assert {*names} <= {"ARG", "FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert names.index("USER") > max(index for index, name in enumerate(names) if name == "RUN")
    assert values("USER") == ["codex"]


def test_it_names_no_address_but_that_of_its_base() -> None:
    assert re.findall(r"https?://\S+", (ROOT / "Containerfile").read_text()) == []


def test_what_it_copies_is_in_the_repository_and_is_all_that_a_build_needs() -> None:
    copied = {word for rest in values("COPY") for word in rest.split()[:-1]}
    assert [word for word in copied if not (ROOT / word).exists()] == []
    project = (ROOT / "pyproject.toml").read_text()
    assert {"pyproject.toml", "src", "hatch_build.py", "README.md", "server.json", "LICENSE"} <= copied
    assert 'license-files = ["LICENSE", "src/' in project


def test_what_it_downloads_has_hashes_and_the_rest_downloads_nothing() -> None:
    (step,) = [rest for rest in values("RUN") if "pip" in rest]
    runs = [part for part in step.split(" && ") if re.search(r"pip (install|wheel)", part)]
    assert [part for part in runs if "--require-hashes" not in part and "--no-index" not in part] == []
    assert [part for part in runs if "--no-index" in part and "--no-deps" not in part] == []
    assert any("requirements/runtime.txt" in part for part in runs)


def test_what_builds_it_is_locked_with_all_that_it_needs(tmp_path: Path) -> None:
    (step,) = [rest for rest in values("RUN") if "pip" in rest]
    (command,) = [part for part in step.split(" && ") if part.startswith("awk ")]
    (tmp_path / "requirements").symlink_to(ROOT / "requirements")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    entries = re.split(r"(?m)^(?=[a-z])", (tmp_path / "build.txt").read_text())[1:]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    names = {entry.partition("==")[0] for entry in entries}
    needed = {"hatchling"}
    for requirement in requires("hatchling") or ():
        if "extra ==" not in requirement and "python_version" not in requirement:
            needed.add(re.split(r"[^a-z0-9-]", requirement, maxsplit=1)[0])
    assert names == needed


def test_what_it_starts_serves_on_the_port_that_it_exposes(tmp_path: Path) -> None:
    program, name, *flags = [word for rest in (*values("ENTRYPOINT"), *values("CMD")) for word in json.loads(rest)]
    parser = Parser("codex-mcp serve")
    cmd_serve.configure(parser)
    settings = load(parser.read(flags), {"HOME": str(tmp_path)}, str(tmp_path)).settings.http
    assert (program, name, [str(settings.port)]) == ("codex-mcp", "serve", values("EXPOSE"))
    assert (settings.host, settings.generate_token) == ("0.0.0.0", True)
