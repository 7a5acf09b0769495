"""Agent files on a real disk."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.kinds import Sandbox
from codex_mcp.team.profile.agent_file import LONGEST, AgentFile, read_agent_file

REVIEWER = """\
---
name: reviewer
description: Use this agent when: something was written.
model: sonnet
tools: Read, Grep, Glob
color: blue
hooks:
  PreToolUse:
    - matcher: "Bash"
---

You review code.

---
Be kind.
"""


def read(folder: Path, text: str | bytes) -> AgentFile:
    path = folder / "agent.md"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_agent_file("agent.md", str(folder))


def test_a_file_as_people_write_them(tmp_path: Path) -> None:
    found = read(tmp_path, REVIEWER)
    assert found.prompt == "You review code.\n\n---\nBe kind."
    assert found.sandbox is Sandbox.READ_ONLY
    assert found.model is None
    assert found.notes == ("the agent file asks for the model 'sonnet', which is Claude's; Codex's own choice is used",)


def test_a_file_without_a_head_is_a_prompt(tmp_path: Path) -> None:
    assert read(tmp_path, "You review code.\n") == AgentFile(prompt="You review code.")


def test_the_path_may_be_absolute(tmp_path: Path) -> None:
    (tmp_path / "agent.md").write_text("Review.")
    assert read_agent_file(str(tmp_path / "agent.md"), "/nowhere").prompt == "Review."


PRIVATE = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with links that lead out of it, and some that do not."""
    keys, root = tmp_path / "keys", tmp_path / "repository"
    (root / ".claude").mkdir(parents=True)
    keys.mkdir()
    (keys / "id").write_text(PRIVATE)
    (root / "agents").mkdir()
    (root / "agents" / "reviewer.md").write_text("Review.")
    (root / "evil.md").symlink_to(keys / "id")
    (root / "evil-folder").symlink_to(keys)
    (root / ".claude" / "agents").symlink_to("../agents")
    (tmp_path / "link").symlink_to(root)
    return root


@pytest.mark.parametrize("is_git", [True, False])
@pytest.mark.parametrize("path", ["evil.md", "evil-folder/id", "{base}/evil.md", "{base}/evil-folder/id"])
@pytest.mark.parametrize("base", ["repository", "link"])
def test_a_link_that_leads_out_of_its_repository_is_refused(
    repository: Path,
    path: str,
    base: str,
    is_git: bool,  # noqa: FBT001
) -> None:
    if is_git:
        (repository / ".git").write_text("gitdir: elsewhere")
    folder = repository.parent / base
    with pytest.raises(Refused, match="it is a link that leads out of") as caught:
        read_agent_file(path.format(base=folder), str(folder))
    assert PRIVATE not in str(caught.value)


@pytest.mark.parametrize("is_git", [True, False])
@pytest.mark.parametrize("base", ["repository", "link"])
def test_a_link_inside_of_its_repository_is_followed(repository: Path, base: str, is_git: bool) -> None:  # noqa: FBT001
    if is_git:
        (repository / ".git").write_text("gitdir: elsewhere")
    folder = repository.parent / base
    assert read_agent_file(".claude/agents/reviewer.md", str(folder)).prompt == "Review."
    if is_git:  # from a folder inside of it, too
        assert read_agent_file("../agents/reviewer.md", str(folder / ".claude")).prompt == "Review."


def test_a_folder_of_agents_elsewhere_may_be_a_link(repository: Path, tmp_path: Path) -> None:
    """As in a home whose `.claude` is kept in another folder: the caller names it, and no repository is involved."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "agents").symlink_to(repository / "agents")
    assert read_agent_file(str(tmp_path / "home/agents/reviewer.md"), "/").prompt == "Review."


@pytest.mark.parametrize("model", ["sonnet", "Opus", "haiku", "inherit", "claude-opus-4-5", "sonnet[1m]"])
def test_claudes_models_are_left_out_and_it_is_said(tmp_path: Path, model: str) -> None:
    found = read(tmp_path, f"---\nmodel: {model}\n---\nx")
    assert found.model is None
    assert model in found.notes[0]


@pytest.mark.parametrize("model", ["gpt-5.2-codex", "o3", "my-own"])
def test_a_model_that_codex_may_know_is_kept(tmp_path: Path, model: str) -> None:
    assert read(tmp_path, f"---\nmodel: {model}\n---\nx") == AgentFile(prompt="x", model=model)


@pytest.mark.parametrize(
    ("tools", "sandbox"),
    [
        ("Read, Grep", Sandbox.READ_ONLY),
        ("[Read, WebFetch]", Sandbox.READ_ONLY),
        ("\n  - Read\n  - mcp__db__query", Sandbox.READ_ONLY),
        ("[]", Sandbox.READ_ONLY),
        ("", None),
        ("Read, Edit", None),
        ("[Read, Write]", None),
        ("MultiEdit", None),
        ("NotebookEdit", None),
        ("'*'", None),
        ("Read, Bash(git log:*)", None),
    ],
)
def test_a_list_of_tools_that_change_nothing_is_a_sandbox(tmp_path: Path, tools: str, sandbox: Sandbox | None) -> None:
    assert read(tmp_path, f"---\ntools: {tools}\n---\nx").sandbox is sandbox


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "it has no prompt"),
        (b"---\nname: x\n---\n \n", "it has no prompt"),
        (b"---\nname: x\n", "cannot use the agent file `agent.md`: its head begins with ---"),
        (b"a\0b", "it is binary"),
        (b"caf\xe9", "it is not in UTF-8"),
        (b"x" * (LONGEST + 1), "it is longer than 256 KiB"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(tmp_path: Path, text: bytes, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        read(tmp_path, text)


def test_what_is_no_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for path, sentence in {
        "missing.md": "cannot find the agent file `missing.md`: there is no ",
        ".": "is a folder",
        "pipe": "is not a regular file",
        "file/below": "Not a directory",
        "loop": "symbolic links",
        "a\0b": "null byte",
    }.items():
        with pytest.raises(Refused, match=sentence):
            read_agent_file(path, str(tmp_path))


@given(st.binary(max_size=60), st.sampled_from([b"%s", b"---\n%s\n---\nx"]))
def test_no_contents_raise_anything_else(tmp_path_factory: pytest.TempPathFactory, data: bytes, around: bytes) -> None:
    try:
        found = read(tmp_path_factory.getbasetemp(), around % data)
    except Refused:
        return
    assert found.prompt
