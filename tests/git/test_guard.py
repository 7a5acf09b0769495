"""git's environment: nothing of the repository's own settings runs."""

from codex_mcp.git.guard import allowed, format_of, lookups, sealed


def settings_in(variables: dict[str, str]) -> dict[str, str]:
    count = int(variables["GIT_CONFIG_COUNT"])
    return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


def test_lookups_have_no_hooks_monitors_or_fetches() -> None:
    variables = lookups({"PATH": "/bin:.::/usr/bin", "GIT_DIR": "/evil", "GIT_EXTERNAL_DIFF": "evil"})
    assert "GIT_DIR" not in variables
    assert "GIT_EXTERNAL_DIFF" not in variables
    assert (variables["PATH"], variables["GIT_ALLOW_PROTOCOL"]) == ("/bin:/usr/bin", "none")
    settings = settings_in(variables)
    assert (settings["core.hooksPath"], settings["core.fsmonitor"]) == ("/dev/null", "false")
    assert settings["gc.auto"] == "0"


LISTED = (
    b"global\0core.autocrlf\ninput\0global\0filter.lfs.clean\ngit-lfs clean\0global\0core.sshcommand\nevil\0"
    b"local\0core.filemode\0local\0filter.x.clean\nevil\0local\0core.fsmonitor\nevil\0local\0include.path\nevil\0"
    b"local\0user.name\na\nb\0"
)


def test_a_sealed_git_gets_the_allowed_settings_and_no_file() -> None:
    found = allowed(LISTED, away="/a %f")
    assert found == {
        "core.autocrlf": "input",
        "filter.lfs.clean": "cd '/a %%f' && git-lfs clean",
        "core.filemode": "true",
        "user.name": "a\nb",
    }
    variables = sealed({"GIT_DIR": "/evil", "HOME": "/home"}, {"core.fsmonitor": "evil", "core.eol": "lf"})
    assert (variables["GIT_CONFIG_GLOBAL"], variables["GIT_CONFIG_NOSYSTEM"]) == ("/dev/null", "1")
    assert "GIT_DIR" not in variables
    settings = settings_in(variables)
    assert (settings["core.fsmonitor"], settings["core.eol"]) == ("false", "lf")
    assert settings["lfs.url"] == "file:///dev/null"  # it counts before that of `.lfsconfig`


def test_objects_are_named_as_in_the_repository() -> None:
    assert format_of(LISTED) == "[core]\n\trepositoryFormatVersion = 0\n"
    assert "objectFormat = sha256" in format_of(b"local\0extensions.objectformat\nsha256\0")
