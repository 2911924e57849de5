"""Under which names a port answers: what stops a foreign page that points its own name at it.

A browser lets a page read what it gets from its own name. Whoever owns a name may let it point to
127.0.0.1 once the page is loaded (DNS rebinding), and the page then reads the user's own server. The
`Host` header still carries the foreign name.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from whyflame.config.units import parse_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CONTAINER_HOSTS", "are_known", "is_own_origin", "known_names"]

_LOCAL = "localhost"
CONTAINER_HOSTS = ("host.docker.internal", "host.containers.internal")
"""How containers call the machine they run on, whose loopback they reach; nobody can own
a name under `internal`."""


def known_names(listen: str, allowed: Sequence[str]) -> frozenset[str] | None:
    """Names that a port answers under, beside addresses and localhost; None for any name.

    Args:
        listen: host:port. allowed: Further names; on an open port none means any.
    """
    listens_on, _ = parse_address(listen)
    if not (allowed or _is_loopback(listens_on)):
        return None
    return frozenset(_plain(name) for name in (*allowed, listens_on))


def are_known(hosts: Iterable[str], names: frozenset[str]) -> bool:
    """Whether a request with these `Host` headers was sent to one of the names."""
    return all(_is_known(_without_port(host), names) for host in hosts)


def is_own_origin(origin: str, names: frozenset[str]) -> bool:
    """Whether an `Origin` header names a page of this machine, or of one of the names.

    An address is not enough here: a foreign page may live under one.
    """
    try:
        host = _plain(urlsplit(origin).hostname or "")
    except ValueError:
        return False
    return bool(host) and (host in names or _is_loopback(host))


def _is_known(name: str, names: frozenset[str]) -> bool:
    # An address is no name that somebody could have pointed elsewhere.
    return name in names or _is_local(name) or _is_address(name)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    is_port = colon and port.isdecimal() and (":" not in name or name.endswith("]"))
    return _plain(name if is_port else host)


def _plain(name: str) -> str:
    return name.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _is_local(name: str) -> bool:
    return name == _LOCAL or name.endswith(f".{_LOCAL}")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(name: str) -> bool:
    return _is_local(_plain(name)) or (_is_address(name) and ip_address(name).is_loopback)
