"""Scripts are read from files, and the packaged ones are good."""

from pathlib import Path

import pytest

from codex_mcp.scripted_model.load import PACKAGED, load_script, packaged_script
from codex_mcp.scripted_model.steps import ScriptError


def test_a_script_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[scenes.a]\nsteps = [{ say = "Grüße" }]')
    assert load_script(path).name == str(path)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match=r"^cannot read the script .*nope\.toml: No such file"):
        load_script(tmp_path / "nope.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ScriptError, match="it is not UTF-8 text"):
        load_script(str(binary))


@pytest.mark.parametrize("path", sorted(PACKAGED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_packaged_script_can_be_played(path: Path) -> None:
    assert packaged_script(path.stem).scenes
