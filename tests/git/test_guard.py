"""git's environment: nothing of the repository's own settings runs."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.git.guard import allowed, environment, format_of, may_have_hooks, own_hooks, sealed


def settings_in(variables: dict[str, str]) -> dict[str, str]:
    count = int(variables["GIT_CONFIG_COUNT"])
    return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


def test_an_untrusted_repository_has_no_hooks_monitors_or_fetches() -> None:
    variables = environment(
        {"PATH": "/bin:.::/usr/bin", "GIT_DIR": "/evil", "GIT_EXTERNAL_DIFF": "evil"}, {"hook.evil"}
    )
    assert "GIT_DIR" not in variables
    assert "GIT_EXTERNAL_DIFF" not in variables
    assert (variables["PATH"], variables["GIT_ALLOW_PROTOCOL"]) == ("/bin:/usr/bin", "none")
    settings = settings_in(variables)
    assert (settings["core.hooksPath"], settings["core.fsmonitor"]) == ("/dev/null", "false")
    assert settings["hook.evil.enabled"] == "false"


def test_a_trusted_repository_keeps_its_own() -> None:
    variables = environment({}, None)
    assert "GIT_ALLOW_PROTOCOL" not in variables
    assert "core.hooksPath" not in settings_in(variables)
    assert settings_in(variables)["gc.auto"] == "0"


def test_only_hooks_of_the_repository_itself_are_switched_off() -> None:
    listed = b"global\0hook.mine.command\0local\0hook.a.b.event\0worktree\0hook.c=d.command\0local\0core.bare\0"
    assert own_hooks(listed) == {"hook.a.b", "hook.c=d"}


@given(st.sampled_from([b'[hook "x"]', b"[HOOK.x]", b"[include]", b'[IncludeIf "gitdir:/"]']), st.binary())
def test_a_configuration_that_can_define_hooks_is_always_listed(section: bytes, rest: bytes) -> None:
    assert may_have_hooks(rest + section)
    assert not may_have_hooks(b"[core]\n\tbare = false\n")


LISTED = (
    b"global\0core.autocrlf\ninput\0global\0filter.lfs.clean\ngit-lfs clean\0global\0core.sshcommand\nevil\0"
    b"local\0core.filemode\0local\0filter.x.clean\nevil\0local\0core.fsmonitor\nevil\0local\0include.path\nevil\0"
    b"local\0user.name\na\nb\0"
)


def test_a_sealed_git_gets_the_allowed_settings_and_no_file() -> None:
    found = allowed(LISTED, is_trusted=False, away="/a %f")
    assert found == {
        "core.autocrlf": "input",
        "filter.lfs.clean": "cd '/a %%f' && git-lfs clean",
        "core.filemode": "true",
        "user.name": "a\nb",
    }
    assert allowed(LISTED, is_trusted=True, away="/a %f") == {**found, "filter.x.clean": "evil"}
    variables = sealed({"GIT_DIR": "/evil", "HOME": "/home"}, {"core.fsmonitor": "evil", "core.eol": "lf"})
    assert (variables["GIT_CONFIG_GLOBAL"], variables["GIT_CONFIG_NOSYSTEM"]) == ("/dev/null", "1")
    assert "GIT_DIR" not in variables
    settings = settings_in(variables)
    assert (settings["core.fsmonitor"], settings["core.eol"]) == ("false", "lf")


def test_objects_are_named_as_in_the_repository() -> None:
    assert format_of(LISTED) == "[core]\n\trepositoryFormatVersion = 0\n"
    assert "objectFormat = sha256" in format_of(b"local\0extensions.objectformat\nsha256\0")
