"""The registry's writer is killed at every call to the system that changes something; the file is always whole.

A program forks a writer for every N. It writes generation after generation and counts its calls of open, write, fsync,
rename and so on; at the Nth one it kills itself: before the call, after it, or in the middle of a write.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from codex_mcp.team.agent import Agent
from codex_mcp.team.records.registry import RegistryFile, read_registry

GENERATIONS = 3

PROGRAM = """
import builtins, os, signal, sys
from codex_mcp.team.agent import Agent
from codex_mcp.team.records.registry import RegistryFile

root, moment, generations = sys.argv[1], sys.argv[2], int(sys.argv[3])
plain_open, real_write = builtins.open, os.write

class File:  # what open(descriptor, "wb") gives, with its writes going through os.write, where they can be watched
    def __init__(self, descriptor):
        self.descriptor = descriptor
    def __enter__(self):
        return self
    def __exit__(self, *_):
        os.close(self.descriptor)
    def fileno(self):
        return self.descriptor
    def write(self, data):
        os.write(self.descriptor, data)
    def flush(self):
        pass

def opened(name, *args, **kwargs):
    return File(name) if isinstance(name, int) and args == ("wb",) else plain_open(name, *args, **kwargs)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def watch(fatal):
    count = [0]
    def watched(call):
        def calling(*args, **kwargs):
            count[0] += 1
            now = count[0] == fatal
            if now and moment == "half" and call is real_write:
                real_write(args[0], args[1][: len(args[1]) // 2])
            if now and moment != "after":
                die()
            result = call(*args, **kwargs)
            if now:
                die()
            return result
        return calling
    builtins.open = opened
    for name in ("open", "write", "pwrite", "fsync", "replace", "fchmod", "unlink", "close", "makedirs"):
        setattr(os, name, watched(getattr(os, name)))
    return count

def agents(generation):
    return [
        Agent(codex_id=f"codex:{n:012x}", identity=f"a{n}", team="t", cwd="/srv", started_at=1.0, last_active=2.0,
              turns=generation)
        for n in range(generation * 3)
    ]

def write_all(folder, fatal):
    done = plain_open(folder + ".done", "ab", buffering=0)
    file, count = RegistryFile(folder), watch(fatal)
    for generation in range(1, generations + 1):
        assert file.write(agents(generation), file.next_revision())
        done.write(b"x")  # not through os.write: it is not counted
    return count[0]

def in_a_child(folder, fatal):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        count = write_all(folder, fatal)
        real_write(writing, str(count).encode())
        os._exit(0)
    os.close(writing)
    status = os.waitpid(pid, 0)[1]
    said = os.read(reading, 20)
    os.close(reading)
    return int(said) if said else -os.WTERMSIG(status)

calls = in_a_child(os.path.join(root, "unharmed"), 0)
for fatal in range(1, calls + 1):
    for name in (str(fatal), "shared"):
        assert in_a_child(os.path.join(root, name), fatal) == -signal.SIGKILL
print(calls)
"""


def state(generation: int) -> list[Agent]:
    return [
        Agent(
            codex_id=f"codex:{number:012x}",
            identity=f"a{number}",
            team="t",
            cwd="/srv",
            started_at=1.0,
            last_active=2.0,
            turns=generation,
        )
        for number in range(generation * 3)
    ]


def kill_everywhere(root: Path, moment: str) -> int:
    """Run the program; every writer dies in a folder of its own, and once more in `shared`, where all of them die."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(root), moment, str(GENERATIONS)],
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.mark.parametrize("moment", ["before", "half", "after"])
def test_whoever_is_killed_anywhere_leaves_a_whole_registry_and_no_heap_of_drafts(tmp_path: Path, moment: str) -> None:
    calls = kill_everywhere(tmp_path, moment)
    assert calls > GENERATIONS * 8
    for fatal in range(1, calls + 1):
        folder = tmp_path / str(fatal)
        done = Path(f"{folder}.done").stat().st_size
        found = read_registry(str(folder / "registry.json"))
        assert found in (state(done), state(done + 1)), f"killed {moment} call {fatal}, after {done} generations"
        assert not list(folder.glob("*.broken-*"))
        assert len(list(folder.glob(".*.draft"))) <= 1
    shared = tmp_path / "shared"
    assert len(list(shared.glob(".*.draft"))) <= 1
    survivor = RegistryFile(str(shared))
    assert survivor.write(state(1), survivor.next_revision())
    assert read_registry(str(shared / "registry.json")) == state(1)
    assert sorted(os.listdir(shared)) == ["registry.json", "registry.lock"]
