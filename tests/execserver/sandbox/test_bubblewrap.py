from codex_mcp.execserver.sandbox.bubblewrap import Command, Layer, MountKind, View, arguments


def test_narrower_mounts_come_after_wider_ones() -> None:
    layers = [
        Layer("/w/.git", MountKind.READ),
        Layer("/w", MountKind.WRITE, 7),
        Layer("/w/.git/x/y", MountKind.HIDDEN_FOLDER),
    ]
    words = arguments(View(has_network=True, base=MountKind.READ, layers=layers, seccomp=5), Command("/w"))
    assert [words.index(path) for path in ("/w", "/w/.git", "/w/.git/x/y")] == sorted(
        words.index(path) for path in ("/w", "/w/.git", "/w/.git/x/y")
    )
    assert words[words.index("--bind-fd") + 1 :][:2] == ["7", "/w"]


def test_the_network_is_only_shared_if_it_is_allowed() -> None:
    assert "--unshare-net" in arguments(View(has_network=False, base=None), Command("/"))
    assert "--unshare-net" not in arguments(View(has_network=True, base=None), Command("/"))


def test_privileges_and_other_processes_are_always_out_of_reach() -> None:
    for base in (None, MountKind.READ, MountKind.WRITE):
        words = arguments(View(has_network=True, base=base, seccomp=5), Command("/"))
        assert {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--proc"} <= set(words)
        assert words[words.index("--cap-drop") + 1] == "ALL"
        assert words[words.index("--seccomp") + 1] == "5"


def test_a_view_of_little_cannot_be_added_to() -> None:
    words = arguments(View(has_network=False, base=None, layers=[Layer("/usr", MountKind.READ)]), Command("/"))
    assert words[words.index("--tmpfs") + 1] == "/"
    assert words.index("--remount-ro") > words.index("/usr")


def test_what_is_hidden_or_forbidden_is_covered_and_sealed() -> None:
    layers = [Layer("/h", MountKind.HIDDEN_FOLDER), Layer("/f", MountKind.HIDDEN_FILE, 9), Layer("/e", MountKind.EMPTY)]
    text = " ".join(arguments(View(has_network=False, base=MountKind.READ, layers=layers), Command("/")))
    assert "--perms 000 --tmpfs /h " in text
    assert "--perms 000 --ro-bind-data 9 /f" in text
    assert "--perms 555 --tmpfs /e --remount-ro /h --remount-ro /e" in text


def test_the_commands_environment_and_name_are_passed_inside() -> None:
    words = arguments(View(has_network=True, base=MountKind.READ), Command("/w", {"LD_PRELOAD": "--"}, arg0="name"))
    assert words[words.index("--setenv") :][:3] == ["--setenv", "LD_PRELOAD", "--"]
    assert words[words.index("--argv0") + 1] == "name"
    assert words[words.index("--chdir") + 1] == "/w"


def test_a_view_without_scratch_has_no_place_to_leave_something() -> None:
    for base in (None, MountKind.READ):
        text = " ".join(arguments(View(has_network=False, base=base, is_dev_writable=False), Command("/")))
        assert "--dev /dev --remount-ro /dev" in text
        assert "--remount-ro /dev" not in " ".join(arguments(View(has_network=False, base=base), Command("/")))


def test_what_is_granted_inside_a_hidden_folder_is_mounted_before_the_folder_is_sealed() -> None:
    layers = [Layer("/h", MountKind.HIDDEN_FOLDER), Layer("/h/in", MountKind.WRITE, 7)]
    text = " ".join(arguments(View(has_network=False, base=MountKind.READ, layers=layers), Command("/")))
    assert "--perms 111 --tmpfs /h --bind-fd 7 /h/in --remount-ro /h" in text
