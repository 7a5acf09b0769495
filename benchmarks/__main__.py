"""`python -m benchmarks`: ours beside its peers, in one run, in turn, as ratios.

Over stdio these are `codex mcp-server` 0.153.4 and a bare Codex; over HTTP the official Python SDK and FastMCP; for
processes and files the newest `codex exec-server`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from benchmarks import (
    bench_bytes,
    bench_cluster,
    bench_dashboard,
    bench_dashboard_live,
    bench_deltas,
    bench_exec_client,
    bench_exec_memory,
    bench_exec_output,
    bench_exec_requests,
    bench_exec_starts,
    bench_growth,
    bench_http_calls,
    bench_http_notes,
    bench_http_scaling,
    bench_http_sessions,
    bench_mail,
    bench_memory,
    bench_overhead,
    bench_ping,
    bench_relay,
    bench_rendezvous,
    bench_socket,
    bench_start,
    bench_team,
    bench_turns,
)
from benchmarks.grid import GridRow, grid, grid_record
from benchmarks.lines import NoAnswer
from benchmarks.model import ModelProcess
from benchmarks.place import CannotMeasure, Effort, Place, new_codex, old_codex, version_of
from benchmarks.rows import Row, record, table
from codex_mcp import __version__

BENCHMARKS: dict[str, Callable[[Place], list[Row]]] = {
    "bytes": bench_bytes.run,
    "start": bench_start.run,
    "ping": bench_ping.run,
    "turns": bench_turns.run,
    "deltas": bench_deltas.run,
    "memory": bench_memory.run,
    "overhead": bench_overhead.run,
    "team": bench_team.run,
    "cluster": bench_cluster.run,
    "mail": bench_mail.run,
    "dashboard": bench_dashboard.run,
    "dashboard-live": bench_dashboard_live.run,
    "socket": bench_socket.run,
    "growth": bench_growth.run,
    "exec-requests": bench_exec_requests.run,
    "exec-starts": bench_exec_starts.run,
    "exec-output": bench_exec_output.run,
    "exec-client": bench_exec_client.run,
    "exec-memory": bench_exec_memory.run,
    "relay": bench_relay.run,
    "rendezvous": bench_rendezvous.run,
}
HTTP_BENCHMARKS: dict[str, Callable[[Place], list[GridRow]]] = {
    "http-calls": bench_http_calls.run,
    "http-notes": bench_http_notes.run,
    "http-sessions": bench_http_sessions.run,
    "http-scaling": bench_http_scaling.run,
}
NAMES = (*BENCHMARKS, *HTTP_BENCHMARKS)
FAMILIES = ("exec", "http")
"""What several benchmarks have in common, at the start of their names."""


def main() -> int:
    """Measure, print, and say with the exit code only whether measuring worked: a slow machine is no failure."""
    arguments = _arguments()
    try:
        names = _chosen([*arguments.names, *(arguments.only or ())])
        about = _about(is_quick=arguments.quick)
        print("\n".join(f"{key}: {value}" for key, value in about.items()), flush=True)
        rows, http_rows = _measure(names, Effort(arguments.quick), arguments.plot, arguments.growth)
    except (CannotMeasure, NoAnswer) as exc:
        print(f"benchmarks: {exc}", file=sys.stderr)
        return 1
    if rows:
        print(f"\n{table(rows)}")
        print("\nmedian (quartiles, least, number of samples); ratio: ours / theirs")
    if http_rows:
        print(f"\n{grid(http_rows)}")
        print("\nmedian (n: number of samples; else ours / theirs)")
    if arguments.json is not None:
        report = {"about": about, "rows": [*map(record, rows), *map(grid_record, http_rows)]}
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the samples")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="what to measure, or all of exec or http; else everything"
    )
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there as well")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw there, as SVG, what http-scaling measures")
    parser.add_argument("--growth", type=Path, metavar="FILE", help="draw there, as SVG, what growth measures")
    return parser.parse_args()


def _chosen(wishes: Sequence[str]) -> Sequence[str]:
    """The benchmarks that were asked for, by name or by family. Raises CannotMeasure."""
    unknown = set(wishes) - {*NAMES, *FAMILIES}
    if unknown:
        raise CannotMeasure(f"cannot measure {', '.join(sorted(unknown))}; there are {', '.join((*NAMES, *FAMILIES))}")
    return [name for name in NAMES if not wishes or name in wishes or name.partition("-")[0] in wishes]


def _about(*, is_quick: bool) -> dict[str, str]:
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    core = importlib.metadata.version("openai-codex-cli-bin")
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, load before {load}",
        "theirs": f"{version_of(str(old_codex()))} mcp-server, {version_of(str(new_codex()))} exec-server",
        "ours": f"codex-mcp {__version__} on Codex {core}, Python {platform.python_version()}",
        "effort": "quick: too few samples to quote" if is_quick else "full",
    }


def _measure(
    names: Sequence[str], effort: Effort, plot: Path | None, growth: Path | None
) -> tuple[list[Row], list[GridRow]]:
    rows: list[Row] = []
    http_rows: list[GridRow] = []
    with tempfile.TemporaryDirectory(prefix="codex-mcp-bench-") as folder, ModelProcess() as model:
        place = Place(Path(folder), model.config, effort, plot, growth)
        for name in names:
            began = time.monotonic()
            if name in BENCHMARKS:
                rows += BENCHMARKS[name](place)
            else:
                http_rows += HTTP_BENCHMARKS[name](place)
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return rows, http_rows


if __name__ == "__main__":
    sys.exit(main())
