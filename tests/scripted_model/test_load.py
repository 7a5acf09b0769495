"""Scripts are read from files, and the packaged and the documented ones are good."""

import re
from pathlib import Path

import msgspec
import pytest

from codex_mcp.scripted_model.load import PACKAGED, load_script, packaged_script
from codex_mcp.scripted_model.script import SceneTable, ScriptTable, parse_script
from codex_mcp.scripted_model.steps import KINDS, ScriptError

PAGE = (Path(__file__).parents[2] / "docs" / "scripted-model.md").read_text(encoding="utf-8")


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


def test_every_documented_script_can_be_played() -> None:
    examples = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 3
    for example in examples:
        parse_script(example, "the example")


def test_every_key_of_a_script_is_documented() -> None:
    tables: tuple[type[msgspec.Struct], ...] = (ScriptTable, SceneTable, *KINDS.values())
    keys = {key for table in tables for key in table.__struct_fields__}
    assert [key for key in sorted(keys) if not re.search(rf"`{key}\b", PAGE)] == []
