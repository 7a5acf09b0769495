"""Decides what `install` does with a client's file: add our entry, change it, or replace a dead or foreign one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from codex_mcp.base.errors import Refused
from codex_mcp.base.processes.programs import on_path
from codex_mcp.cli.clients import own_entry
from codex_mcp.cli.clients.config_text.documents import Uneditable, read
from codex_mcp.cli.clients.config_text.unreadable import Unreadable
from codex_mcp.cli.clients.config_text.values import at
from codex_mcp.cli.clients.editing import Edit, setting, unusable
from codex_mcp.cli.clients.entries import connection_of, words_of
from codex_mcp.cli.clients.known import Place
from codex_mcp.cli.clients.migration import Found, migrated, old_entry
from codex_mcp.cli.clients.own_entry import Address, Program, Wanted
from codex_mcp.cli.clients.own_folder.records import Installed
from codex_mcp.cli.clients.recognition.servers import Buried, Ours
from codex_mcp.cli.clients.surroundings import is_our_wrapper, started_by


class Spot(Struct, frozen=True):
    """The place of an entry, and what is there now."""

    place: Place
    target: str
    name: str
    before: bytes | None
    now: object
    record: Installed

    @property
    def path(self) -> tuple[str, ...]:
        return (*self.place.path, self.name)

    def is_ours(self, environment: Mapping[str, str]) -> bool:
        """Whether the entry is one of ours: it starts codex-mcp, or has the address that we wrote."""
        if isinstance(started_by(words_of(self.now), environment), Ours):
            return True
        address = at(self.now, (*connection_of(self.now), self.place.client.url or "url"))
        return address is not None and address == self.record.url


class Plan(Struct, frozen=True):
    """What `install` will do."""

    edit: Edit
    record: Installed
    told: str
    """What it says then."""


def planned(spot: Spot, wanted: Wanted, environment: Mapping[str, str], *, force: bool, shown: str) -> Plan:
    """Raises Refused or Explained. `shown` is the file as people write it."""
    file, name, title = spot.place.file, spot.name, spot.place.title
    url = wanted.url if isinstance(wanted, Address) else None
    kept = Installed(file, [*spot.path], url, spot.record.replaced)
    if spot.now is None or spot.before is None:
        entry = own_entry.new_entry(spot.place.client, wanted)
        edit = setting(spot.place, spot.target, name, spot.before, entry)
        return Plan(edit, Installed(file, [*spot.path], url), f"Added the server {name} to {title}: {shown}")
    old = old_entry(spot.place, spot.path, spot.now, lambda word: is_our_wrapper(word, environment))
    if isinstance(old, Found) and not force:
        told = f"Replaced the old server {name} ({old.old.kind}) of {title}: {shown}"
        return Plan(_edited(spot, spot.before, wanted, environment, old), Installed(file, [*spot.path], url), told)
    if spot.is_ours(environment) and not force:
        return Plan(
            _edited(spot, spot.before, wanted, environment), kept, f"Changed the server {name} of {title}: {shown}"
        )
    if not force:
        raise Refused(_why_not(spot, shown, old.old if old is not None else None))
    entry = own_entry.new_entry(spot.place.client, wanted)
    record = kept if spot.is_ours(environment) else Installed(file, [*spot.path], url, spot.now)
    edit = setting(spot.place, spot.target, name, spot.before, entry)
    return Plan(edit, record, f"Replaced the server {name} of {title}: {shown}")


def _why_not(spot: Spot, shown: str, old: object) -> str:
    others = "choose another --name, or replace it with --force"
    if isinstance(old, Buried):
        return (
            f"cannot add {spot.name} to {shown}: a server of this name starts {old.kind} through {old.through}, which "
            f"codex-mcp cannot change; change it yourself, {others}"
        )
    return f"cannot add {spot.name} to {shown}: it has another server of this name; {others}"


def _edited(
    spot: Spot, before: bytes, wanted: Wanted, environment: Mapping[str, str], old: Found | None = None
) -> Edit:
    client, path = spot.place.client, spot.path
    try:
        data = before
        if isinstance(wanted, Address):
            data = own_entry.with_address(client, data, path, wanted)
        elif old is not None:
            data = migrated(client.form, data, [old], wanted.words)
            data = _renewed(spot, data, wanted, environment) if wanted.team is not None else data
        elif words_of(spot.now):
            data = _renewed(spot, data, wanted, environment)
        else:
            data = own_entry.with_command(client, data, path, wanted)
    except (Unreadable, Uneditable) as error:
        raise unusable(spot.place, error) from error
    wanted_now = at(read(client.form, data), path)
    return Edit(spot.place, spot.name, wanted_now, before, data, spot.target, spot.record.replaced)


def _renewed(spot: Spot, data: bytes, wanted: Program, environment: Mapping[str, str]) -> bytes:
    """The file with our program in our entry."""
    client = spot.place.client
    words = words_of(at(read(client.form, data), spot.path))
    ours = started_by(words, environment)
    assert isinstance(ours, Ours)  # the caller has looked
    if ours.start is None and os.path.isabs(ours.program) and not os.access(ours.program, os.X_OK):
        raise Refused(
            f"cannot change {spot.name} in {spot.place.file}: it starts {ours.program}, which is not there, through "
            f"{ours.through}; change it yourself, or replace it with --force"
        )
    is_kept = ours.start is not None and not wanted.is_named
    is_found = is_kept and _is_found(words[ours.start : ours.end], wanted.words, environment)
    new = own_entry.renewed_words(words, ours, wanted, is_found=is_found)
    return own_entry.with_words(client, data, spot.path, new)


def _is_found(words: Sequence[str], program: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether the words of an entry name our program: by its name on PATH, as it is, or its wrapper beside it."""
    if [*words] == [*program]:
        return True
    if not os.path.isabs(words[0]):
        return on_path(words[0], environment.get("PATH", "")) is not None
    if len(words) > 1 or not os.access(words[0], os.X_OK):
        return False
    return os.path.samefile(os.path.dirname(words[0]), os.path.dirname(program[0]))
