"""The images that a prompt shows."""

import base64
from pathlib import Path

import pytest

from codex_mcp.mcp.prompts import pictures as module
from codex_mcp.mcp.prompts.pictures import pictures


def shown(folder: Path, body: str) -> list[object]:
    return [block["data"] for block in pictures(str(folder), body)]


def test_images_beside_the_prompt_are_sent_once(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"A")
    (tmp_path / "b.JPEG").write_bytes(b"B")
    found = list(pictures(str(tmp_path), "![one](a.png) ![](b.JPEG) ![again](a.png) ![gone](c.gif) [link](a.png)"))
    assert found == [
        {"type": "image", "data": base64.b64encode(b"A").decode(), "mimeType": "image/png"},
        {"type": "image", "data": base64.b64encode(b"B").decode(), "mimeType": "image/jpeg"},
    ]


@pytest.mark.parametrize("name", ["../secret.png", "/secret.png", "http://x/secret.png", "sub/a.png", "a.svg", "..png"])
def test_nothing_else_is_an_image_of_the_prompt(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "prompts"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"S")
    (folder / "sub/a.png").write_bytes(b"S")
    (folder / "a.svg").write_bytes(b"S")
    assert shown(folder, f"![x]({name})") == []


def test_a_link_elsewhere_and_a_large_file_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 3)
    folder = tmp_path / "prompts"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(b"S")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "large.png").write_bytes(b"1234")
    (folder / "fits.png").write_bytes(b"123")
    assert shown(folder, "![](link.png) ![](large.png) ![](fits.png)") == [base64.b64encode(b"123").decode()]


def test_a_prompt_has_a_bounded_number_of_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGES", 1)
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(b"x")
    assert len(shown(tmp_path, "![](a.png) ![](b.png)")) == 1
