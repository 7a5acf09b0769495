"""The token of an executor: where it comes from, and what is said if there is none."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.remote.sign_in import registry_token


def test_the_first_token_that_exists_counts(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from the file\n")
    (tmp_path / "auth.json").write_text(
        '{"tokens": {"access_token": "signed in", "id_token": "x"}, "OPENAI_API_KEY": null}'
    )
    environment = {"CODEX_HOME": str(tmp_path), "CODEX_API_KEY": "key", "CODEX_MCP_RENDEZVOUS_TOKEN": "ours"}
    assert registry_token(str(file), environment) == "from the file"
    assert registry_token(None, environment) == "ours"
    del environment["CODEX_MCP_RENDEZVOUS_TOKEN"]
    assert registry_token(None, environment) == "key"
    del environment["CODEX_API_KEY"]
    assert registry_token(None, environment) == "signed in"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("auth.json", "{", "run codex login again"),
        ("other", "", "without a token"),
        ("auth.json", '{"tokens": null}', "without a token"),
    ],
)
def test_no_token_is_explained(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Refused, match=why):
        registry_token(None, {"CODEX_HOME": str(tmp_path)})


@pytest.mark.parametrize(("content", "why"), [(b"", "missing or empty"), (b"\xff\xfe", "not UTF-8")])
def test_a_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(Refused, match=why):
        registry_token(str(file), {})
    with pytest.raises(Refused, match="cannot read"):
        registry_token(str(tmp_path), {})
