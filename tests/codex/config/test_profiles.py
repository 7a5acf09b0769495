from pathlib import Path

import pytest

from codex_mcp.base.errors import BadOverride, UnknownProfile
from codex_mcp.codex.config.profiles import read_profile, read_user_config


def test_no_config_and_a_broken_config_are_both_left_to_codex(tmp_path: Path) -> None:
    assert read_user_config(str(tmp_path)) is None
    (tmp_path / "config.toml").write_text("model =")
    assert read_user_config(str(tmp_path)) is None
    (tmp_path / "config.toml").write_bytes(b"\xff")
    assert read_user_config(str(tmp_path)) is None
    (tmp_path / "config.toml").write_text('model = "m"')
    assert read_user_config(str(tmp_path)) == {"model": "m"}


def test_a_changed_config_is_read_anew(tmp_path: Path) -> None:
    for model in ("a", "b", "a"):
        (tmp_path / "config.toml").write_text(f'model = "{model}"')
        assert read_user_config(str(tmp_path)) == {"model": model}


def test_a_profile_is_read_from_its_file_or_from_the_legacy_table(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[profiles.old]\nmodel = "a"\n[profiles.both]\nmodel = "b"\n')
    (tmp_path / "both.config.toml").write_text('model = "c"\n')
    assert read_profile(str(tmp_path), "old") == {"model": "a"}
    assert read_profile(str(tmp_path), "both") == {"model": "c"}


def test_a_profile_never_leads_out_of_codex_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "x.config.toml").write_text('model = "outside"')
    with pytest.raises(UnknownProfile):
        read_profile(str(home), "../x")


def test_a_profile_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.config.toml").write_text("model =")
    with pytest.raises(BadOverride, match=r"cannot read .*p\.config\.toml: .*; fix the file"):
        read_profile(str(tmp_path), "p")


def test_a_profile_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.config.toml").mkdir()
    with pytest.raises(BadOverride, match=r"cannot read .*p\.config\.toml: Is a directory"):
        read_profile(str(tmp_path), "p")
