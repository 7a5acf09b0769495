"""What `/metrics` shows, in Prometheus's format: counted where it happens, and measured when somebody looks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from codex_mcp.mcp.hub import Hub
from codex_mcp.threads.book import Book

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 1800.0)
"""From a ping to half an hour of an agent's work."""


class Metrics:
    """The metrics of one server."""

    def __init__(self, hub: Hub, book: Book) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Looked(hub, book))
        self.requests = Counter(
            "codex_mcp_http_requests", "HTTP requests by door and status.", ["door", "status"], registry=self._registry
        )
        self.latency = Histogram(
            "codex_mcp_http_seconds",
            "Time until an HTTP request was answered.",
            ["door"],
            buckets=SECONDS,
            registry=self._registry,
        )

        self._answered: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def answered(self, door: str, status: int, seconds: float) -> None:
        """An HTTP request was answered."""
        # Finding them by their labels costs more than counting, and there are not many.
        found = self._answered.get((door, status))
        if found is None:
            found = self.requests.labels(door, str(status)), self.latency.labels(door)
            self._answered[door, status] = found
        counter, histogram = found
        counter.inc()
        histogram.observe(seconds)

    def text(self) -> bytes:
        """The page."""
        return generate_latest(self._registry)


class _Looked(Collector):
    """What need not be counted, because it can be seen."""

    def __init__(self, hub: Hub, book: Book) -> None:
        self._hub = hub
        self._book = book

    def collect(self) -> Iterable[Metric]:
        """Look around."""
        yield _gauge("tasks", "Tasks of the event loop: what the server does at once.", len(asyncio.all_tasks()))
        yield from self._sessions()
        yield from self._threads()

    def _sessions(self) -> Iterator[Metric]:
        sessions = list(self._hub)
        yield _gauge("sessions", "HTTP sessions.", len(sessions))
        yield _gauge("streams", "Connections that read a stream.", sum(session.channel.readers for session in sessions))
        subscribers = [subscriber for session in sessions for subscriber in session.channel.subscribers]
        yield _gauge("bus_subscribers", "Listeners on the bus.", len(subscribers))
        yield _gauge("stateless_requests", "Stateless requests that run.", len(self._hub.exchanges))
        yield _gauge("inbox_messages", "Messages of clients that wait.", sum(each.channel.waiting for each in sessions))
        unread = sum(subscriber.stream.unread for subscriber in subscribers)
        yield _gauge("unread_messages", "Messages that listeners on the bus have not read.", unread)
        yield _counter("dropped_messages", "Messages that slow readers have missed.", self._hub.dropped)
        yield _counter("slow_readers_cut_off", "Listeners that were too slow to stay.", self._hub.cut_off)

    def _threads(self) -> Iterator[Metric]:
        threads = list(self._book)
        yield _gauge("threads", "Threads that are open here.", len(threads))
        running = sum(thread.current is not None for thread in threads)
        yield _gauge("turns_running", "Turns that the core has.", running)
        yield _gauge("turns_waiting", "Turns that wait behind another.", sum(thread.waiting for thread in threads))
        yield _gauge("questions_open", "Questions that wait for a person.", sum(thread.asking for thread in threads))
        yield _counter("core_starts", "How often a Codex was started.", self._book.supervisor.starts)
        counts = self._book.counts
        ended = CounterMetricFamily("codex_mcp_turns", "Turns that have ended, by status.", labels=["status"])
        for status, count in counts.turns.items():
            ended.add_metric([status], count)
        yield ended
        decided = CounterMetricFamily("codex_mcp_approvals", "Questions by decision.", labels=["decision"])
        for decision, count in counts.decisions.items():
            decided.add_metric([decision], count)
        yield decided


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"codex_mcp_{name}", help_text, value=value)


def _counter(name: str, help_text: str, value: float) -> Metric:
    return CounterMetricFamily(f"codex_mcp_{name}", help_text, value=value)
