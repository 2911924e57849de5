"""Which names a tenant may have: those that Grafana's databases accept too."""

from __future__ import annotations

import re

__all__ = ["TENANT_RULE", "is_tenant"]

_TENANT = re.compile(r"[A-Za-z0-9!_.*'()-]{1,150}")

TENANT_RULE = "a tenant is 1 to 150 of A-Z a-z 0-9 ! - _ . * ' ( ), and not . or .."


def is_tenant(name: str) -> bool:
    """True when the name can be used in folders, headers and queries without quoting."""
    return _TENANT.fullmatch(name) is not None and name not in {".", ".."}
