"""Whether the settings of a cluster fit together, before a server starts."""

from __future__ import annotations

from urllib.parse import urlsplit

from codex_mcp.access.cluster import Cluster
from codex_mcp.access.cluster_secret import cluster_key
from codex_mcp.access.loopback import is_loopback
from codex_mcp.base.errors import Refused
from codex_mcp.base.settings.groups import Settings


def checked_cluster(settings: Settings) -> Cluster | None:
    """None if the server is in no cluster. Raises Refused."""
    team = settings.team
    if team.advertise is not None and (why := _problem_with(settings, team.advertise)):
        raise Refused(f"cannot use advertise = {team.advertise!r}: {why}")
    return None if team.cluster_secret is None else Cluster(cluster_key(team.cluster_secret), team.advertise)


def _problem_with(settings: Settings, url: str) -> str:
    """Why this address cannot be told to other servers, and what to do; empty if it can."""
    team, http = settings.team, settings.http
    try:
        place = urlsplit(url)
        host, _ = place.hostname, place.port
    except ValueError:
        host = None
    if not host or place.scheme not in ("http", "https") or place.query or place.fragment:
        return "it must be an address such as https://agents-1.example:8443"
    if place.scheme == "http" and not is_loopback(host):
        return "calls would leave this machine in the clear; give an address with https"
    if http.port is None:
        return "a server on stdio cannot be reached; give --port as well, or leave it out"
    if team.cluster_secret is None:
        return "nobody could prove to be a server of the cluster; give --cluster-secret FILE as well"
    if team.state is None:
        return "only servers with the same database know each other; give --state postgresql://… as well"
    if http.generate_token:
        return "each server would make a token of its own; give --tokens FILE instead of --generate-token"
    return ""
