from pathlib import Path

import pytest

from codex_mcp.access.token_files import read_token_file
from codex_mcp.base.errors import Refused


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o640, False), (0o644, True)])
def test_a_file_that_others_can_read_draws_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, *, warns: bool
) -> None:
    file = tmp_path / "token"
    file.write_text("  hunter2\n")
    file.chmod(mode)
    assert read_token_file(str(file)) == "hunter2"
    assert (f"can read the token file {file}; run chmod 600" in caplog.text) == warns
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("content", "why"), [(b" \n", "it is empty"), (b"\xff", "it is not UTF-8"), (None, "No such file")]
)
def test_a_file_without_a_token_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Refused, match=f"the token file {file}: {why}"):
        read_token_file(str(file))
