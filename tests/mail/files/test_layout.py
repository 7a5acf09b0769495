from pathlib import Path

from codex_mcp.mail.address import Address
from codex_mcp.mail.files.layout import Layout


def test_teams_and_inboxes_are_found_by_their_names(tmp_path: Path) -> None:
    layout = Layout(str(tmp_path / "teams"))
    assert (layout.teams(), layout.agents("alpha"), layout.has_team("alpha")) == ([], [], False)
    inboxes = tmp_path / "teams" / "alpha" / "inboxes"
    inboxes.mkdir(parents=True)
    (tmp_path / "teams" / ".backups").mkdir()
    (tmp_path / "teams" / "file").write_text("")
    for name in (
        "bob.json",
        "bob.lock",
        "bob.json.tmp.0a1b2c3d",
        "bob.otherhost.json",
        "bob.json.corrupt-1",
        "Al_1.json",
    ):
        (inboxes / name).write_text("")
    assert layout.teams() == ["alpha"]
    assert layout.agents("alpha") == ["Al_1", "bob"]
    assert layout.inbox(Address("bob", "alpha")) == str(inboxes / "bob.json")
    assert layout.draft(Address("bob", "alpha"), "X") == str(inboxes / "bob.json.tmp.X")
    assert layout.config("alpha") == str(tmp_path / "teams" / "alpha" / "config.json")
