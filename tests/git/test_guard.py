"""git's environment: nothing of the repository's own settings runs."""

from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.git.guard import environment, may_have_drivers, own_drivers


def settings_in(variables: dict[str, str]) -> dict[str, str]:
    count = int(variables["GIT_CONFIG_COUNT"])
    return {variables[f"GIT_CONFIG_KEY_{n}"]: variables[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}


def test_an_untrusted_repository_has_no_hooks_monitors_filters_or_fetches() -> None:
    variables = environment({"PATH": "/bin", "GIT_DIR": "/evil", "GIT_EXTERNAL_DIFF": "evil"}, {"lfs"})
    assert "GIT_DIR" not in variables
    assert "GIT_EXTERNAL_DIFF" not in variables
    assert (variables["PATH"], variables["GIT_ALLOW_PROTOCOL"]) == ("/bin", "none")
    settings = settings_in(variables)
    assert (settings["core.hooksPath"], settings["core.fsmonitor"]) == ("/dev/null", "false")
    assert [settings[f"filter.lfs.{key}"] for key in ("clean", "smudge", "process", "required")] == [
        "",
        "",
        "",
        "false",
    ]


def test_a_trusted_repository_keeps_its_own() -> None:
    variables = environment({}, None)
    assert "GIT_ALLOW_PROTOCOL" not in variables
    assert "core.hooksPath" not in settings_in(variables)
    assert settings_in(variables)["gc.auto"] == "0"


def test_only_filters_of_the_repository_itself_are_switched_off() -> None:
    listed = b"global\0filter.lfs.clean\0local\0filter.a.b.smudge\0worktree\0filter.c=d.process\0local\0core.bare\0"
    assert own_drivers(listed) == {"a.b", "c=d"}


@given(st.sampled_from([b'[filter "x"]', b"[FILTER.x]", b"[include]", b'[IncludeIf "gitdir:/"]']), st.binary())
def test_a_configuration_that_can_define_filters_is_always_listed(section: bytes, rest: bytes) -> None:
    assert may_have_drivers(rest + section)
    assert not may_have_drivers(b"[core]\n\tbare = false\n")
