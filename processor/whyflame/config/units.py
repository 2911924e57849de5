"""Durations, sizes and addresses, as people write them in YAML."""

from __future__ import annotations

import re

from whyflame.config.fields import GIB, KIB, MIB

__all__ = [
    "cannot_listen",
    "format_bytes",
    "format_duration",
    "parse_address",
    "parse_bytes",
    "parse_duration",
]

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_BYTES_LOWER = {unit.lower(): size for unit, size in _BYTES.items()}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]+)?")
_MAX_PORT = 65535


def parse_duration(value: object) -> float:
    """Seconds of 30, "30s", "5m" or "1h30m".

    Raises:
        ValueError: `value` is no duration.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    text = str(value).replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        raise ValueError('expected a duration such as 30, "250ms", "30s", "5m" or "1h30m"')
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))


def parse_bytes(value: object) -> int:
    """Bytes of 1024, "64MiB" or "10MB".

    Raises:
        ValueError: `value` is no size, or no whole number of bytes.
    """
    match = None if isinstance(value, bool) else _SIZE.fullmatch(str(value).strip())
    unit = (match[2] or "B").lower() if match else ""
    if match is None or unit not in _BYTES_LOWER:
        raise ValueError('expected a size such as 1048576, "512KiB", "64MiB" or "2GiB"')
    size = float(match[1]) * _BYTES_LOWER[unit]
    if not size.is_integer():
        raise ValueError("expected a whole number of bytes")
    return int(size)


def parse_address(value: str) -> tuple[str, int]:
    """Host and port of "127.0.0.1:4317" or "[::1]:4317"; port 0 means any free one.

    Raises:
        ValueError: `value` is no address.
    """
    host, colon, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or not port.isdecimal() or int(port) > _MAX_PORT:
        raise ValueError('expected host:port such as "127.0.0.1:4317" or "[::]:4317"')
    if ":" in host and not bracketed:
        raise ValueError('an IPv6 host stands in brackets, as in "[::1]:4317"')
    return (host[1:-1] if bracketed else host), int(port)


def cannot_listen(address: str, setting: str, error: Exception) -> str:
    """Why an address cannot be listened on, and what to do about it.

    Args:
        address: As configured. setting: Its key. error: What the system or gRPC said.
    """
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    option = {"http.listen": "--http"}.get(setting, f"--{setting.replace('.', '-')}")
    return (
        f"cannot listen on {address} ({setting}): {said}. If another whyflame runs here already, "
        f"use that one; else choose another address with {option} or {setting}"
    )


def format_duration(seconds: float) -> str:
    """The shortest exact way to write a duration in YAML."""
    for unit in ("w", "d", "h", "m", "s"):
        count = seconds / _SECONDS[unit]
        if count >= 1 and count.is_integer():
            return f"{int(count)}{unit}"
    return f"{round(seconds * 1000)}ms" if seconds else "0s"


def format_bytes(size: int) -> str:
    """The shortest exact way to write a size in YAML."""
    for unit in ("GiB", "MiB", "KiB"):
        if size and size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{unit}"
    return f"{size}B" if size else "0"
