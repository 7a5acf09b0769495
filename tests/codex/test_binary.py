import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import codex_cli_bin
import pytest

from codex_mcp import __version__
from codex_mcp.base.errors import NoCodex
from codex_mcp.base.settings.core import CoreSettings
from codex_mcp.base.settings.kinds import Backend
from codex_mcp.codex import binary
from codex_mcp.codex.binary import Binary, Origin, find_codex, find_codex_soon
from codex_mcp.codex.versions import verdicts
from codex_mcp.codex.versions.measured import MEASURED, is_fit, parse_version, shown
from codex_mcp.codex.versions.verdict import Verdict

OWN = codex_cli_bin.bundled_codex_path()


def settings(
    codex_bin: object = None,
    *,
    allow_untested: bool = False,
    backend: str = "auto",
    home: object = "home",
    version: str = "newest",
) -> CoreSettings:
    name = None if codex_bin is None else str(codex_bin)
    return CoreSettings(
        codex_home=str(home),
        codex_bin=name,
        codex_version=version,
        allow_untested_codex=allow_untested,
        backend=Backend(backend),
    )


def tried(path: Path, home: Path, failed: str = "", why: str = "") -> None:
    """Record that this Codex was tried."""
    identity = verdicts.identity_of(str(path))
    verdict = Verdict(identity=identity, sha256="", version="9.9.9", by=__version__, failed=failed, why=why)
    verdicts.record(verdict, str(home))


def program(path: Path, says: str) -> Path:
    """A program that answers `--version` and is not packaged as Codex is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def npm_codex(folder: Path, version: str) -> tuple[Path, Path]:
    """Codex as npm installs it; returns the command that npm puts on PATH, and the program behind it."""
    package, triple = binary.PLATFORMS[os.uname().sysname, os.uname().machine]
    modules = folder / "node_modules"
    wrapper = program(modules / "@openai" / "codex" / "bin" / "codex.js", "the wrapper was asked")
    vendor = modules / "@openai" / package / "vendor" / triple
    native = program(vendor / "bin" / "codex", "the program was asked")
    (vendor / "codex-path").mkdir()
    (vendor / "codex-package.json").write_text(json.dumps({"version": version, "pathDir": "codex-path"}))
    command = modules / ".bin" / "codex"
    command.parent.mkdir()
    command.symlink_to(os.path.relpath(wrapper, command.parent))
    return command, native


def test_without_a_codex_anywhere_else_our_own_is_used() -> None:
    found = find_codex(settings(), "")
    said = subprocess.run([found.path, "--version"], capture_output=True, text=True, check=True).stdout
    assert found == Binary(
        str(OWN), found.version, Origin.PACKAGE, tools_dir=str(codex_cli_bin.bundled_path_dir()), notes=()
    )
    assert said.strip() == f"codex-cli {shown(found.version)}"
    assert is_fit(found.version)


def test_our_own_codex_finds_its_tools_first_on_its_path() -> None:
    found = find_codex(settings(), "")
    assert found.search_path("/usr/bin:/bin") == f"{found.tools_dir}:/usr/bin:/bin"
    assert found.search_path("") == found.tools_dir
    assert Binary("codex", (0, 163, 0), Origin.PATH).search_path("/usr/bin") == "/usr/bin"


def test_a_tested_codex_on_path_goes_before_our_own(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 0.163.0")
    found = find_codex(settings(), f"{tmp_path / 'empty'}:{tmp_path}")
    assert found == Binary(str(codex), (0, 163, 0), Origin.PATH)


def test_of_an_npm_install_the_program_behind_the_wrapper_is_used_and_neither_is_asked(tmp_path: Path) -> None:
    command, native = npm_codex(tmp_path, "0.163.0")
    found = find_codex(settings(), str(command.parent))
    tools = native.parent.parent / "codex-path"
    assert found == Binary(str(native), (0, 163, 0), Origin.PATH, tools_dir=str(tools))
    assert find_codex(settings(command), "").path == str(native)


def test_a_wrapper_without_its_program_is_asked_itself(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "codex" / "bin" / "codex.js", "codex-cli 0.163.0")
    assert find_codex(settings(wrapper), "") == Binary(str(wrapper), (0, 163, 0), Origin.SETTING)


def test_an_old_codex_on_path_is_passed_over_with_a_note(tmp_path: Path) -> None:
    command, _ = npm_codex(tmp_path, "0.153.4")
    found = find_codex(settings(), str(command.parent))
    assert found.origin is Origin.PACKAGE
    assert found.notes == (f"{command} is Codex 0.153.4, which is older; using our own {shown(found.version)}",)


def test_something_else_called_codex_on_path_is_passed_over_with_a_note(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "book binder 0.163.0")
    found = find_codex(settings(), str(tmp_path))
    assert found.origin is Origin.PACKAGE
    assert found.notes[0].startswith(f"cannot run {codex}: it does not say which version of Codex it is")
    assert found.untried == str(codex)


def test_a_codex_on_path_that_did_not_say_its_version_in_a_trial_is_not_asked_again(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "")
    codex.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    tried(codex, tmp_path, failed="version", why="it does not say it")
    found = find_codex(settings(home=tmp_path), str(tmp_path))
    assert (found.origin, found.untried) == (Origin.PACKAGE, None)
    assert found.notes == (f"it does not say it; using our own {shown(found.version)}",)
    assert not (tmp_path / "asked").exists()


def test_relative_folders_on_path_are_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "codex", "codex-cli 0.163.0")
    monkeypatch.chdir(tmp_path)
    assert find_codex(settings(), "bin::.").origin is Origin.PACKAGE


def test_codex_bin_may_be_a_name_on_path(tmp_path: Path) -> None:
    codex = program(tmp_path / "my-codex", "codex-cli 0.163.0")
    assert find_codex(settings("my-codex"), str(tmp_path)) == Binary(str(codex), (0, 163, 0), Origin.SETTING)


@pytest.mark.parametrize(("name", "where"), [("nosuch", "on PATH"), ("/no/such/codex", "there is no such program;")])
def test_a_codex_bin_that_is_not_there_is_an_error_that_says_what_to_do(name: str, where: str) -> None:
    with pytest.raises(NoCodex, match=f"cannot run {name}: .*{where}.* leave it out to use our own Codex"):
        find_codex(settings(name), "/usr/bin")


def test_a_newer_codex_on_path_is_used_once_it_has_passed_a_trial(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 9.9.9")
    untried = find_codex(settings(home=tmp_path), str(tmp_path))
    assert (untried.origin, untried.untried) == (Origin.PACKAGE, str(codex))
    assert untried.notes[0].startswith(f"{codex} is Codex 9.9.9, which has not been tried yet; using our own ")
    tried(codex, tmp_path)
    assert find_codex(settings(home=tmp_path), str(tmp_path)) == Binary(str(codex), (9, 9, 9), Origin.PATH)
    program(tmp_path / "codex", "codex-cli 9.9.10, another file")
    assert find_codex(settings(home=tmp_path), str(tmp_path)).untried == str(codex)


def test_a_newer_codex_on_path_that_failed_its_trial_is_passed_over_with_the_name_of_the_check(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 9.9.9")
    tried(codex, tmp_path, failed="steer", why="it cannot")
    found = find_codex(settings(home=tmp_path), str(tmp_path))
    assert (found.origin, found.untried) == (Origin.PACKAGE, None)
    assert "which failed the self-test (steer: it cannot); using our own" in found.notes[0]
    assert found.unused is not None
    assert found.unused.path == str(codex)
    with pytest.raises(NoCodex, match=r"Codex 9\.9\.9 failed the self-test \(steer: it cannot\); leave it out"):
        find_codex(settings(codex, home=tmp_path), "")


def test_a_script_that_starts_another_version_than_when_it_was_tried_is_untried(tmp_path: Path) -> None:
    real = program(tmp_path / "real", "codex-cli 9.9.9")
    codex = program(tmp_path / "codex", "")
    codex.write_text(f"#!/bin/sh\nexec {real}\n")
    tried(codex, tmp_path)
    assert find_codex(settings(home=tmp_path), str(tmp_path)).path == str(codex)
    program(real, "codex-cli 9.9.10")
    assert find_codex(settings(home=tmp_path), str(tmp_path)).untried == str(codex)
    assert find_codex(settings(codex, home=tmp_path), "").untried == str(codex)


@pytest.mark.parametrize("release", ["0.163.0", "0.166.0"])
def test_what_came_before_a_tested_release_was_not_tested(tmp_path: Path, release: str) -> None:
    codex = program(tmp_path / "codex", f"codex-cli {release}-alpha.3")
    found = find_codex(settings(home=tmp_path), str(tmp_path))
    if is_fit(parse_version(release) or (0, 0, 0)):
        assert (found.origin, found.untried) == (Origin.PACKAGE, str(codex))
        assert f"is Codex {release}-alpha.3, which has not been tried yet" in found.notes[0]
    else:
        assert "and it ignores the model provider" in found.notes[0]
    assert find_codex(settings(codex, home=tmp_path), "").untried == (str(codex) if release == "0.163.0" else None)


def test_with_codex_version_tested_no_other_version_is_used(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 9.9.9")
    tried(codex, tmp_path)
    found = find_codex(settings(home=tmp_path, version="tested"), str(tmp_path))
    assert (found.origin, found.untried) == (Origin.PACKAGE, None)
    assert "codex_version = tested allows 0.163.0" in found.notes[0]


def test_a_version_with_an_exception_is_not_used_unless_it_is_named(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 0.166.0")
    found = find_codex(settings(home=tmp_path), str(tmp_path))
    assert (found.origin, found.untried) == (Origin.PACKAGE, None)
    assert "is Codex 0.166.0, and it ignores the model provider that a call names; using our own" in found.notes[0]
    named = find_codex(settings(version=str(codex)), "")
    assert (named.path, named.untried) == (str(codex), None)
    assert named.notes[0].endswith("; using it because you named it")


def test_an_unknown_codex_that_is_named_has_to_be_tried_unless_the_user_insists(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 9.9.9")
    assert find_codex(settings(codex, home=tmp_path), "").untried == str(codex)
    insisted = find_codex(settings(codex, home=tmp_path, allow_untested=True), "")
    assert (insisted.version, insisted.untried, insisted.notes) == ((9, 9, 9), None, ())
    tried(codex, tmp_path)
    assert find_codex(settings(codex, home=tmp_path), "").untried is None


def test_a_codex_that_hangs_with_a_child_when_asked_for_its_version_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "VERSION_PATIENCE", 0.2)
    codex = program(tmp_path / "codex", "")
    codex.write_text("#!/bin/sh\nsleep 1000\necho codex-cli 9.9.9\n")
    with pytest.raises(NoCodex, match="it does not say which version"):
        find_codex(settings(codex), "")


def test_of_a_codex_that_prints_without_end_no_more_is_read_than_a_version(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "")
    codex.write_text("#!/bin/sh\nexec yes codex-cli 9.9.9\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(NoCodex, match="it does not say which version"):
        find_codex(settings(codex), "")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB; it printed gigabytes


def test_a_codex_that_closes_its_output_and_goes_on_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "VERSION_PATIENCE", 0.2)
    codex = program(tmp_path / "codex", "")
    codex.write_text("#!/bin/sh\necho codex-cli 9.9.9\nexec sleep 1000 >&-\n")
    with pytest.raises(NoCodex, match="it does not say which version"):
        find_codex(settings(codex), "")


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/no/such/interpreter\n"])
def test_a_codex_bin_that_does_not_run_is_an_error(tmp_path: Path, script: str) -> None:
    codex = program(tmp_path / "codex", "")
    codex.write_text(script)
    with pytest.raises(NoCodex, match=f"cannot run {codex}: it does not say"):
        find_codex(settings(codex), "")


def test_a_broken_package_description_is_not_believed(tmp_path: Path) -> None:
    codex = program(tmp_path / "bin" / "codex", "codex-cli 0.163.0")
    (tmp_path / "codex-package.json").write_text("{")
    assert find_codex(settings(codex), "").version == (0, 163, 0)


def test_no_codex_at_all_is_an_error_that_says_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "OUR_PACKAGE", "no_such_package")
    with pytest.raises(NoCodex, match=r"there is no `codex` on PATH, and our own .* is not installed here; install it"):
        find_codex(settings(), str(tmp_path))
    program(tmp_path / "codex", "codex-cli 0.153.4")
    with pytest.raises(NoCodex, match=r"codex is Codex 0\.153\.4, which has not been tried yet, and our own"):
        find_codex(settings(), str(tmp_path))


async def test_it_can_be_found_without_holding_up_the_event_loop(tmp_path: Path) -> None:
    codex = program(tmp_path / "codex", "codex-cli 0.163.0")
    assert await find_codex_soon(settings(), str(tmp_path)) == Binary(str(codex), (0, 163, 0), Origin.PATH)


def test_every_version_that_we_may_install_is_fit() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    found = re.search(r'"openai-codex-cli-bin>=0\.(\d+),<0\.(\d+)"', project)
    assert found is not None
    allowed = range(int(found[1]), int(found[2]))
    assert [row.version[1] for row in MEASURED if row.version[1] in allowed and not row.exceptions] == list(allowed)


def test_finding_codex_imports_nothing_slow() -> None:
    code = "import asyncio, msgspec, sys; before = set(sys.modules); import codex_mcp.codex.binary; "
    code += (
        "print(*sorted({'pathlib', 'tomllib', 'importlib.metadata', 'shutil', 'ctypes'} & (set(sys.modules) - before)))"
    )
    path = {"PYTHONPATH": str(Path(binary.__file__).parents[2])}
    said = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, text=True, check=True).stdout
    assert said.strip() == ""


@pytest.mark.parametrize("version", ["0.103.0", "0.104.0", "0.153.4"])
@pytest.mark.parametrize("backend", ["auto", "mcp-server"])
def test_an_old_codex_that_is_named_is_run_as_mcp_server(tmp_path: Path, version: str, backend: str) -> None:
    codex = program(tmp_path / "codex", f"codex-cli {version}")
    found = find_codex(settings(codex, backend=backend), "")
    assert (found.path, found.is_old, shown(found.version)) == (str(codex), True, version)


@pytest.mark.parametrize(
    ("version", "backend", "why"),
    [
        ("0.153.4", "app-server", "the oldest that works here is 0.163.0"),
        ("0.102.9", "auto", "the oldest that works here is 0.163.0"),
        ("0.154.0", "auto", "the oldest that works here is 0.163.0"),
        ("0.154.0", "mcp-server", "backend mcp-server is for 0.103.0 up to, but not including, 0.154.0"),
        ("0.163.0", "mcp-server", "it is Codex 0.163.0, and backend mcp-server is for"),
    ],
)
def test_a_codex_that_does_not_fit_the_backend_is_refused(tmp_path: Path, version: str, backend: str, why: str) -> None:
    codex = program(tmp_path / "codex", f"codex-cli {version}")
    with pytest.raises(NoCodex) as caught:
        find_codex(settings(codex, backend=backend), "")
    assert why in str(caught.value)


def test_an_old_codex_on_path_is_taken_only_if_it_is_asked_for(tmp_path: Path) -> None:
    command, native = npm_codex(tmp_path, "0.153.4")
    assert find_codex(settings(backend="app-server"), str(command.parent)).origin is Origin.PACKAGE
    found = find_codex(settings(backend="mcp-server"), str(command.parent))
    assert (found.path, found.origin, found.is_old) == (str(native), Origin.PATH, True)
    with pytest.raises(NoCodex, match="cannot find an old Codex: there is no `codex` on PATH; name one of"):
        find_codex(settings(backend="mcp-server"), "")
    newer = program(tmp_path / "newer" / "codex", "codex-cli 0.163.0")
    with pytest.raises(NoCodex, match=f"cannot run {newer} as mcp-server: it is Codex 0.163.0"):
        find_codex(settings(backend="mcp-server"), str(newer.parent))


def test_of_an_older_npm_install_the_program_is_found_where_it_was_then(tmp_path: Path) -> None:
    package, triple = binary.PLATFORMS[os.uname().sysname, os.uname().machine]
    wrapper = program(tmp_path / "node_modules/@openai/codex/bin/codex.js", "the wrapper was asked")
    vendor = tmp_path / "node_modules/@openai" / package / "vendor" / triple
    native = program(vendor / "codex" / "codex", "codex-cli 0.104.0")
    (vendor / "path").mkdir()
    found = find_codex(settings(wrapper), "")
    assert found == Binary(str(native), (0, 104, 0), Origin.SETTING, str(vendor / "path"), is_old=True)
