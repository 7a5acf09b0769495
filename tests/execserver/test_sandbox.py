import os
from pathlib import Path

import pytest
from codex_cli_bin import bundled_codex_path

from codex_mcp.execserver.launch import Launch
from codex_mcp.execserver.sandbox import Confinement, bubblewraps
from codex_mcp.rpc.errors import RequestFailed
from codex_mcp.wire.exec_sandbox import Disabled, Permissions, ReadOnly, Sandbox, WorkspaceWrite

TRUE = Launch(["/bin/true"], "/", {"LD_PRELOAD": "/evil.so", "SECRET": "x"})


def bundled() -> str:
    return str(Path(bundled_codex_path()).parent.parent / "codex-resources" / "bwrap")


def sandbox(permissions: Permissions) -> Sandbox:
    return Sandbox(permissions, "disabled", cwd="file:///usr")


def test_without_limits_a_launch_stays_as_it_is() -> None:
    for asked in (None, sandbox(Disabled())):
        confined = Confinement([]).of_process(TRUE, asked)
        assert confined.launch is TRUE
        assert not confined.is_wrapped


def test_limits_that_nothing_here_can_keep_are_refused() -> None:
    for candidates in ([], ["/bin/false"], ["/nonexistent"]):
        with pytest.raises(RequestFailed) as caught:
            Confinement(candidates).of_process(TRUE, sandbox(ReadOnly()))
        assert caught.value.error.code == -32602
        assert caught.value.error.message == "sandbox intent cannot be enforced on this executor"


def test_the_program_that_sets_limits_runs_without_the_clients_environment() -> None:
    confined = Confinement([bundled()]).of_process(TRUE, sandbox(ReadOnly()))
    assert confined.is_wrapped
    assert confined.launch.env == {}
    assert not any("SECRET" in word for word in confined.launch.argv)
    confined.release()


def test_a_refused_sandbox_leaves_no_placeholder(tmp_path: Path) -> None:
    (tmp_path / ".aws").symlink_to("elsewhere")
    asked = Sandbox(WorkspaceWrite(), "disabled", cwd=tmp_path.as_uri())
    with pytest.raises(RequestFailed, match="symbolic link"):
        Confinement([bundled()]).of_process(TRUE, asked)
    assert os.listdir(tmp_path) == [".aws"]


def test_only_what_may_be_limited_goes_to_the_helper() -> None:
    confinement = Confinement([])
    assert not confinement.needs_helper(sandbox(Disabled()), writes=True)
    assert not confinement.needs_helper(sandbox(ReadOnly()), writes=False)
    assert confinement.needs_helper(sandbox(ReadOnly()), writes=True)


def test_bubblewrap_is_looked_for_where_programs_are() -> None:
    assert bundled() in bubblewraps(bundled())
    assert "/nonexistent" not in bubblewraps("/nonexistent")
