"""The token of an executor: where it comes from, and what is said if there is none."""

from pathlib import Path

import pytest

from codex_mcp.base.errors import Refused
from codex_mcp.execserver.remote.sign_in import registry_proof


def test_the_first_token_that_exists_counts(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from the file\n")
    (tmp_path / "auth.json").write_text(
        '{"tokens": {"access_token": "signed in", "id_token": "x", "account_id": "account-1"}, "OPENAI_API_KEY": null}'
    )
    environment = {"CODEX_HOME": str(tmp_path), "CODEX_API_KEY": "key", "CODEX_MCP_RENDEZVOUS_TOKEN": "ours"}
    assert registry_proof(str(file), environment)() == {"Authorization": "Bearer from the file"}
    assert registry_proof(None, environment)() == {"Authorization": "Bearer ours"}
    del environment["CODEX_MCP_RENDEZVOUS_TOKEN"]
    assert registry_proof(None, environment)() == {"Authorization": "Bearer key"}
    del environment["CODEX_API_KEY"]
    account = {"ChatGPT-Account-ID": "account-1"}
    assert registry_proof(None, environment)() == {"Authorization": "Bearer signed in", **account}


def test_an_agent_identity_excludes_everything_else(tmp_path: Path) -> None:
    environment = {"CODEX_HOME": str(tmp_path), "CODEX_API_KEY": "key", "CODEX_MCP_RENDEZVOUS_TOKEN": "ours"}
    with pytest.raises(Refused, match="CODEX_ACCESS_TOKEN"):
        registry_proof(None, environment, is_agent=True)
    with pytest.raises(Refused, match="give one of them"):
        registry_proof("token", environment, is_agent=True)
    with pytest.raises(Refused, match="without a token"):
        registry_proof(None, {"CODEX_HOME": str(tmp_path), "CODEX_ACCESS_TOKEN": "not asked for"})


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
        registry_proof(None, {"CODEX_HOME": str(tmp_path)})


@pytest.mark.parametrize(("content", "why"), [(b"", "it is empty"), (b"\xff\xfe", "not UTF-8")])
def test_a_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(Refused, match=why):
        registry_proof(str(file), {})
    with pytest.raises(Refused, match="cannot read"):
        registry_proof(str(tmp_path), {})
