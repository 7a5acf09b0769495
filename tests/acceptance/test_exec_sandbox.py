"""Confined processes and file requests try to get out."""

import asyncio
import os
import socket
import threading
from pathlib import Path

from tests.support.exec.parts import eventually
from tests.support.exec.recordings.files import READ_ONLY, around, at, sandbox, special
from tests.support.exec.wire import OURS, Json, Target, serving, session, target


def project(here: Target, **more: str) -> Json:
    """Read everything, write to the folder `w` only."""
    return sandbox(here, special("root", "read"), special("project_roots", "write"), **more)


def furnished(here: Target) -> Path:
    work = here.folder / "w"
    (work / ".git/hooks").mkdir(parents=True)
    (here.folder / "outside").write_text("untouched")
    return work


async def attempt(here: Target, script: str, limits: Json | None = None, **more: object) -> tuple[str, object]:
    async with session(here.url) as wire:
        params = here.shell("p", script, sandbox=limits or project(here), cwd=here.uri("w"), **more)
        return await wire.run(params)


async def test_nothing_outside_is_written_by_any_way(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        (work / ".git/config").write_text("untouched")
        (work / "link").symlink_to("../outside")
        os.link(here.folder / "outside", here.folder / "hard")
        tries = "; ".join(
            f"({words}) 2>/dev/null && echo ESCAPED: {index}"
            for index, words in enumerate(
                [
                    "echo x > ../outside",
                    "echo x > link",
                    f"echo x > {here.folder}/outside",
                    "ln ../outside mine && echo x > mine",
                    "mv ../outside taken; rm taken; false",
                    "rm ../outside",
                    "mkdir ../new",
                    "echo x > .git/hooks/pre-commit",
                    "rm -rf .git && mkdir .git",
                    "mv .git away",
                    "mkdir .codex",
                    "echo x > .codex",
                    "mkdir -p .agents/skills",
                    # Opened and left as they are: if it worked, it would be this very machine.
                    ": >> /proc/sys/kernel/core_pattern",
                    ": >> /proc/sys/kernel/hostname",
                    ": >> /proc/sysrq-trigger",
                    ": >> /proc/irq/default_smp_affinity",
                    ": >> /sys/kernel/uevent_helper",
                    ": >> /sys/power/state",
                    f"echo x > /proc/1/root{here.folder}/outside",
                    f"echo x > /proc/self/root{here.folder}/outside",
                    "echo x > /proc/self/cwd/../outside",
                    "exec 3< ../outside; echo x > /proc/self/fd/3",
                    "exec 3< ..; echo x > /proc/self/fd/3/outside",
                    "ln .git/config mine && echo x > mine",
                    "exec 3< .git/config; echo x > /proc/self/fd/3",
                    "mount -o remount,rw /",
                    "mount --bind . ..",
                    "mknod disk b 8 0",
                    "mknod memory c 1 1",
                    ": < /dev/mem",
                    ": < /dev/sda",
                    "unshare -rm mount -o remount,rw,bind /",
                    "unshare -rm sh -c 'mount --bind / . && echo x > ../outside'",
                    "chmod u+s /bin/true",
                    "kill -0 1 && [ $(cat /proc/1/comm) != bwrap ]",
                ]
            )
        )
        said, _ = await attempt(here, f"{tries}; echo done; echo fine > allowed")
        assert said == "done\n"
        assert (here.folder / "outside").read_text() == "untouched"
        assert (work / ".git/config").read_text() == "untouched"
        assert (work / "allowed").read_text() == "fine\n"
        assert sorted(os.listdir(work)) == [".git", "allowed", "link"]


async def test_no_privilege_is_left_or_gained(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        said, _ = await attempt(here, "grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status")
        assert dict(line.split(":\t") for line in said.splitlines()) == {
            "NoNewPrivs": "1",
            "Seccomp": "2",
            "CapEff": "0" * 16,
            "CapBnd": "0" * 16,
        }


async def test_no_mount_gives_devices_or_setuid_programs_their_power(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        little = sandbox(here, special("minimal", "read"), special("project_roots", "write"))
        for limits in (project(here), little):
            said, _ = await attempt(here, "cat /proc/self/mountinfo", limits)
            mounts = {line.split()[4]: set(line.split()[5].split(",")) for line in said.splitlines()}
            assert {"/", "/proc", str(here.folder / "w")} <= set(mounts)
            assert [path for path, flags in mounts.items() if "nosuid" not in flags] == []
            without_devices = [path for path in mounts if path != "/dev" and not path.startswith("/dev/")]
            assert [path for path in without_devices if "nodev" not in mounts[path]] == []
            nodes, _ = await attempt(here, "find /dev -type b; find /dev -type c", limits)
            harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
            assert {path.rpartition("/")[2] for path in nodes.split()} <= harmless


async def test_a_confined_process_inherits_no_file_but_its_own_three(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        script = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
        for tty in (False, True):
            said, _ = await attempt(here, f'exec python3 -I -c "{script}"', tty=tty)
            assert said.strip() == "[0, 1, 2, 3]", "the fourth is the listing's own"


async def test_other_processes_are_neither_seen_nor_touched(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        said, _ = await attempt(here, f"ls -d /proc/[0-9]* | wc -l; kill -9 {os.getpid()} 2>&1; cat /proc/*/environ")
        lines = said.splitlines()
        assert int(lines[0]) <= 5
        assert "HOME" not in said


async def test_there_is_no_network_unless_it_is_allowed(tmp_path: Path) -> None:
    connect = (
        "python3 -c 'import socket, sys; s = socket.socket(); s.settimeout(2); "
        's.connect(("127.0.0.1", int(sys.argv[1]))); print("CONNECTED")\' '
    )
    async with target(tmp_path) as here:
        furnished(here)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            said, code = await attempt(here, f"{connect} {port} 2>&1")
            assert "CONNECTED" not in said
            assert code != 0
            said, code = await attempt(here, f"{connect} {port} 2>&1", project(here, network="enabled"))
            assert (said, code) == ("CONNECTED\n", 0)
            free = around(here, {"type": "external", "network": "restricted"})
            said, code = await attempt(here, f"{connect} {port} 2>&1", free)
            assert "CONNECTED" not in said


async def test_no_socket_of_the_machine_is_reached_without_network(tmp_path: Path) -> None:
    connect = (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.settimeout(2); "
        "s.connect(sys.argv[1].replace('@', chr(0))); print('CONNECTED')"
    )
    async with target(tmp_path) as here:
        work = furnished(here)
        abstract = f"@codex-mcp-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as unnamed:
            named.bind(str(work / "socket"))
            unnamed.bind(abstract.replace("@", "\0"))
            for listener, address in [(named, "socket"), (unnamed, abstract)]:
                listener.listen()
                said, code = await attempt(here, f'python3 -c "{connect}" {address} 2>&1')
                assert "CONNECTED" not in said
                assert "PermissionError" in said
                assert code != 0
            said, code = await attempt(here, "python3 -c 'import socket; socket.socket(socket.AF_PACKET, 3)' 2>&1")
            assert "PermissionError" in said


async def test_a_preloaded_library_finds_no_unconfined_program(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        (work / "evil.so").write_text("not a library")
        preload = {"LD_PRELOAD": str(work / "evil.so"), "PATH": "/usr/bin:/bin"}
        said, _ = await attempt(here, "echo $LD_PRELOAD", env=preload)
        assert str(work / "evil.so") in said


async def test_what_is_hidden_is_hidden(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        (work / "secret").write_text("SECRET")
        (work / "secrets").mkdir()
        (work / "secrets/key").write_text("SECRET")
        limits = sandbox(
            here,
            special("root", "read"),
            special("project_roots", "write"),
            at(here.uri("w/secret"), "deny"),
            at(here.uri("w/secrets"), "deny"),
        )
        script = (
            "cat secret secrets/key; chmod 777 secret secrets; cat secret secrets/*; mv secrets x; rm -rf secret; ls"
        )
        said, _ = await attempt(here, f"({script}) 2>/dev/null", limits)
        assert "SECRET" not in said
        assert (work / "secrets/key").read_text() == "SECRET"


async def test_what_a_pattern_hides_is_hidden_from_processes_and_file_requests(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        (work / "sub").mkdir()
        for name in ("key.pem", "sub/key.pem", "public"):
            (work / name).write_text("SECRET" if name != "public" else "public")
        glob: Json = {"path": {"type": "glob_pattern", "pattern": "**/*.pem"}, "access": "deny"}
        limits = sandbox(here, special("root", "read"), special("project_roots", "write"), glob)
        script = "cat key.pem sub/*.pem; mv key.pem x; cp sub/key.pem y; rm -f key.pem; cat x y public"
        said, _ = await attempt(here, f"({script}) 2>/dev/null", limits)
        assert said == "public"
        async with session(here.url) as wire:
            for name in ("key.pem", "sub/key.pem", "later.pem"):
                read = {"path": here.uri(f"w/{name}"), "sandbox": limits}
                if name == "later.pem":
                    (work / name).write_text("SECRET")
                assert await wire.error("fs/readFile", read) == (-32600, "Permission denied (os error 13)")
            public = {"path": here.uri("w/public"), "sandbox": limits}
            assert await wire.call("fs/readFile", public) == {"dataBase64": "cHVibGlj"}
        assert (work / "key.pem").read_text() == "SECRET"


async def test_a_view_of_little_shows_little(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        (work / "file").write_text("visible")
        limits = sandbox(here, special("minimal", "read"), special("project_roots", "read"))
        said, _ = await attempt(
            here, f"cat file; cat ../outside 2>/dev/null; ls {here.folder}; touch x /y 2>&1", limits
        )
        assert said.startswith("visiblew\n")
        assert "untouched" not in said
        assert said.count("Read-only file system") == 2


async def test_a_link_exchanged_during_the_call_leads_nowhere(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        stop = threading.Event()

        def exchange() -> None:
            while not stop.is_set():
                (work / "new").symlink_to(here.folder / "outside")
                os.replace(work / "new", work / "target")
                (work / "new").write_text("mine")
                os.replace(work / "new", work / "target")

        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            async with session(here.url) as wire:
                for _ in range(15):
                    params = {"path": here.uri("w/target"), "dataBase64": "eA==", "sandbox": project(here)}
                    answer = await wire.answer(wire.ask("fs/writeFile", params))
                    if "error" in answer:
                        error = answer["error"]
                        assert isinstance(error, dict)
                        assert (error["code"], error["message"]) == READ_ONLY
        finally:
            stop.set()
            await asyncio.to_thread(thread.join)
        assert (here.folder / "outside").read_text() == "untouched"


async def test_file_requests_respect_protected_names(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        async with session(here.url) as wire:
            hook = {"path": here.uri("w/.git/hooks/x"), "dataBase64": "", "sandbox": project(here)}
            assert await wire.error("fs/writeFile", hook) == READ_ONLY
            config = {"path": here.uri("w/.codex/config.toml"), "dataBase64": "", "sandbox": project(here)}
            assert (await wire.error("fs/writeFile", config))[0] == -32603
            assert (await wire.error("fs/remove", {"path": here.uri("w/.git"), "sandbox": project(here)}))[0] == -32603
            await eventually(lambda: sorted(os.listdir(work)) == [".git"])


async def test_what_is_free_is_not_hindered_by_what_was_confined(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        work = furnished(here)
        limited: Json = {"path": here.uri("w/x"), "dataBase64": "", "sandbox": project(here)}
        async with session(here.url) as wire:
            for method, free in [
                ("fs/createDirectory", {"path": here.uri("w/.codex"), "recursive": False}),
                ("fs/writeFile", {"path": here.uri("w/.aws"), "dataBase64": ""}),
                ("fs/open", {"path": here.uri("w/.agents"), "handleId": "h", "mode": "replace"}),
            ]:
                await wire.call("fs/writeFile", limited)
                await wire.call(method, free)
            await wire.call("fs/remove", {"path": here.uri("w/.agents")})
            await wire.call("fs/writeFile", limited)
            assert await wire.run(here.shell("p", "mkdir .agents", cwd=here.uri("w"))) == ("", 0)
        assert sorted(os.listdir(work)) == [".agents", ".aws", ".codex", ".git", "x"]


async def test_many_confined_starts_of_two_servers_in_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    async def start_many(url: str, here: Target) -> list[tuple[str, object]]:
        async with session(url) as wire:
            ended = []
            for round_ in range(6):
                ids = [f"{round_}-{number}" for number in range(8)]
                for process_id in ids:
                    script = "mkdir .codex 2>/dev/null && echo ESCAPED; mkdir .git/x 2>/dev/null && echo ESCAPED; :"
                    params = here.shell(process_id, script, sandbox=project(here), cwd=here.uri("w"))
                    wire.ask("process/start", params)
                ended += [await wire.output(process_id) for process_id in ids]
            return ended

    async with target(tmp_path) as here, serving(tmp_path / "second", OURS) as (url, _):
        (here.folder / "w").mkdir()
        everyone = await asyncio.gather(*(start_many(one, here) for one in [here.url, url, url, here.url]))
        assert {outcome for ended in everyone for outcome in ended} == {("", 0)}
        await eventually(lambda: os.listdir(here.folder / "w") == [])


async def test_an_interrupted_confined_process_ends_its_own_way(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        async with session(here.url) as wire:
            script = "trap 'echo got-int; exit 9' INT; echo ready; while :; do sleep 0.05; done"
            await wire.call("process/start", here.shell("p", script, sandbox=project(here)))
            await wire.said("p", "ready")
            await wire.call("process/signal", {"processId": "p", "signal": "interrupt"})
            assert await wire.output("p") == ("ready\ngot-int\n", 9)
            await wire.call("process/start", here.shell("q", "sleep 100", sandbox=project(here)))
            assert await wire.call("process/terminate", {"processId": "q"}) == {"running": True}
            assert (await wire.output("q"))[1] == 137


async def test_ctrl_c_on_a_confined_terminal_reaches_the_command_and_not_what_confines_it(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        async with session(here.url) as wire:
            script = 'trap \'echo got-int\' INT; echo ready; read line; echo "read $line"; read line; echo "read $line"'
            await wire.call("process/start", here.shell("p", script, tty=True, sandbox=project(here)))
            await wire.said("p", "ready")
            assert await wire.write("p", b"dropped\x03", "1") == "accepted"
            await wire.said("p", "^Cgot-int")
            assert await wire.write("p", b"one\ntwo\n", "2") == "accepted"
            said, code = await wire.output("p")
            assert code == 0
            assert "dropped" not in said.partition("got-int")[2]
            assert "two" in said


async def test_what_cannot_be_enforced_is_refused(tmp_path: Path) -> None:
    async with target(tmp_path) as here:
        furnished(here)
        glob: Json = {"path": {"type": "glob_pattern", "pattern": "**/*.pem"}, "access": "read"}
        async with session(here.url) as wire:
            for limits in [sandbox(here, special("root", "read"), glob), sandbox(here, special("unknown", "deny"))]:
                assert (await wire.error("process/start", here.shell("p", "true", sandbox=limits)))[0] == -32602
                read = {"path": here.uri("outside"), "sandbox": limits}
                assert (await wire.error("fs/readFile", read))[0] == -32602
