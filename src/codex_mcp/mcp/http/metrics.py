"""The page `/metrics` in Prometheus's format: counted as things happen, or measured when the page is requested."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from codex_mcp.mcp.http.hub import Hub, HubSession
from codex_mcp.threads.threads import Threads

if TYPE_CHECKING:
    from codex_mcp.team.team import TeamMeasure

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0, 300.0, 1800.0)
"""From a ping to half an hour of work."""

CLIENT_CHARS: Final = 64


class Metrics:
    def __init__(self, hub: Hub, threads: Threads, measure: Callable[[], TeamMeasure] | None = None) -> None:
        self._hub = hub
        self._registry = CollectorRegistry()
        self._registry.register(_Measured(hub, threads))
        if measure is not None:
            from codex_mcp.mcp.http.team_metrics import TeamMetrics  # noqa: PLC0415  only for a team

            self._registry.register(TeamMetrics(measure))
        self._requests = _Requests()
        self._registry.register(self._requests)
        self.answered = self._requests.answered

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def sessions_of(self, principal: str) -> bytes:
        """The counters of each session of this principal. Not on the page itself, because sessions come and go."""
        registry = CollectorRegistry()
        registry.register(_Sessions([session for session in self._hub if session.principal == principal]))
        return generate_latest(registry)


class _Requests(Collector):
    """HTTP requests, in plain counters: the library's own cost four times as much on every request."""

    def __init__(self) -> None:
        self._by_status: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, float] = {}
        self._buckets: dict[str, list[int]] = {}

    def answered(self, endpoint: str, status: int, seconds: float) -> None:
        self._by_status[endpoint, status] += 1
        if endpoint not in self._buckets:
            self._buckets[endpoint] = [0] * (len(SECONDS) + 1)
            self._seconds[endpoint] = 0.0
        self._seconds[endpoint] += seconds
        self._buckets[endpoint][bisect_left(SECONDS, seconds)] += 1

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily(
            "codex_mcp_http_requests", "HTTP requests by endpoint and status.", labels=["door", "status"]
        )
        for (endpoint, status), count in self._by_status.items():
            requests.add_metric([endpoint, str(status)], count)
        yield requests
        latency = HistogramMetricFamily(
            "codex_mcp_http_seconds", "Time until an HTTP request was answered.", labels=["door"]
        )
        for endpoint, buckets in self._buckets.items():
            limits = [*(str(limit) for limit in SECONDS), "+Inf"]
            latency.add_metric([endpoint], list(zip(limits, accumulate(buckets), strict=True)), self._seconds[endpoint])
        yield latency


class _Sessions(Collector):
    def __init__(self, sessions: Sequence[HubSession]) -> None:
        self._sessions = sessions

    def collect(self) -> Iterable[Metric]:
        now = time.monotonic()
        counters: list[tuple[str, str, Callable[[HubSession], float]]] = [
            ("requests", "Requests of the client.", lambda each: each.channel.requests),
            ("received_messages", "Messages of the client.", lambda each: each.channel.received),
            ("sent_messages", "Messages to the client.", lambda each: each.channel.sent),
            ("sent_bytes", "Bytes of the messages to the client.", lambda each: each.channel.sent_bytes),
            ("dropped_messages", "Messages that its readers missed.", lambda each: each.channel.dropped),
        ]
        gauges: list[tuple[str, str, Callable[[HubSession], float]]] = [
            ("calls_running", "Calls of tools that run.", lambda each: each.session.running),
            ("readers", "Connections that read.", lambda each: each.channel.readers + len(each.channel.subscribers)),
            ("age_seconds", "Seconds since it was opened.", lambda each: now - each.channel.opened_at),
            ("idle_seconds", "Seconds since its client sent something.", lambda each: now - each.used_at),
        ]
        yield from (self._filled(CounterMetricFamily, *counter) for counter in counters)
        yield from (self._filled(GaugeMetricFamily, *gauge) for gauge in gauges)

    def _filled(
        self,
        kind: type[CounterMetricFamily | GaugeMetricFamily],
        name: str,
        help_text: str,
        value: Callable[[HubSession], float],
    ) -> Metric:
        family = kind(f"codex_mcp_session_{name}", help_text, labels=["session", "client"])
        for each in self._sessions:
            family.add_metric([each.session.id, each.session.client.name[:CLIENT_CHARS]], value(each))
        return family


class _Measured(Collector):
    """What need not be counted because it can be measured."""

    def __init__(self, hub: Hub, threads: Threads) -> None:
        self._hub = hub
        self._threads = threads

    def collect(self) -> Iterable[Metric]:
        yield _gauge("tasks", "Tasks of the event loop: what the server does at once.", len(asyncio.all_tasks()))
        yield from self._sessions()
        yield from self._thread_metrics()

    def _sessions(self) -> Iterator[Metric]:
        sessions = list(self._hub)
        yield _gauge("sessions", "HTTP sessions.", len(sessions))
        yield _gauge("streams", "Connections that read a stream.", sum(session.channel.readers for session in sessions))
        subscribers = [subscriber for session in sessions for subscriber in session.channel.subscribers]
        yield _gauge("bus_subscribers", "Listeners on the bus.", len(subscribers))
        yield _gauge("stateless_requests", "Stateless requests that run.", len(self._hub.exchanges))
        yield _gauge("inbox_messages", "Messages of clients that wait.", sum(each.channel.waiting for each in sessions))
        unread = sum(subscriber.ring.unread for subscriber in subscribers)
        yield _gauge("unread_messages", "Messages that listeners on the bus have not read.", unread)
        yield _counter("dropped_messages", "Messages that slow readers have missed.", self._hub.dropped)
        yield _counter("slow_readers_cut_off", "Listeners that were too slow to stay.", self._hub.cut_off)

    def _thread_metrics(self) -> Iterator[Metric]:
        threads = list(self._threads)
        yield _gauge("threads", "Threads that are open here.", len(threads))
        running = sum(thread.current is not None for thread in threads)
        yield _gauge("turns_running", "Turns that the core has.", running)
        yield _gauge("turns_waiting", "Turns that wait behind another.", sum(thread.waiting for thread in threads))
        yield _gauge("questions_open", "Questions that wait for a person.", sum(thread.asking for thread in threads))
        yield _counter("core_starts", "How often a Codex was started.", self._threads.supervisor.starts)
        counts = self._threads.counts
        yield _counters("turns", "Turns that have ended, by status.", "status", counts.turns)
        yield _counters("approvals", "Questions by decision.", "decision", counts.decisions)


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"codex_mcp_{name}", help_text, value=value)


def _counter(name: str, help_text: str, value: float) -> Metric:
    return CounterMetricFamily(f"codex_mcp_{name}", help_text, value=value)


def _counters(name: str, help_text: str, label: str, counts: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(f"codex_mcp_{name}", help_text, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family
