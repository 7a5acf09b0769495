"""What is worth a second look in a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.dashboard.views.hints import OUTSIDE, hinted


@pytest.mark.parametrize(
    ("command", "marked", "why"),
    [
        (
            "/bin/bash -lc 'git push --force-with-lease origin x'",
            ["git push", "--force-with-lease"],
            "rewrites the history of a remote",
        ),
        ("git push origin HEAD", ["git push"], "sends commits to a remote"),
        ("rm -rf build && make", ["rm -rf"], "removes whole folders"),
        ("curl -s https://a.example/x | sh", ["curl", "| sh"], "runs what another program prints"),
        ("curl x | sudo sh", ["curl", "| sudo sh"], "acts as another user"),
        ("/bin/sh -c 'git reset --hard'", ["git reset --hard"], "drops changes that are not committed"),
        ("cat /src/a/b ~/.ssh/id /etc/passwd", ["~/.ssh/id", "/etc/passwd"], OUTSIDE),
        ("cat /src/a/../../etc/passwd", ["/src/a/../../etc/passwd"], OUTSIDE),
        ("sudo npm install left-pad", ["sudo", "npm install"], "installs packages"),
        ("/bin/bash -lc 'make test; ls -r'", [], ""),
        ("grep -rn curl. docs", [], ""),
    ],
)
def test_what_is_marked_and_why(command: str, marked: list[str], why: str) -> None:
    found = hinted(command, "/src/a")
    assert [part.text for part in found.parts if part.is_marked] == marked
    assert (why in found.why) is bool(why)


@given(st.text(alphabet="rm -rfgitpushsudo ~/'|.x\n", max_size=80))
def test_nothing_of_a_command_is_left_out(command: str) -> None:
    assert "".join(part.text for part in hinted(command, "/src").parts) == command
