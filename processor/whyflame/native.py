"""The native part, distribution `whyflame-native`: used where it is installed and fits.

What it does, Python code does too, with equal results; nothing but the CPU depends on it.
"""

from __future__ import annotations

from whyflame import __version__

try:
    from whyflame_native import _native
except ImportError:
    _found = None
else:
    _found = _native

__all__ = ["NAMES", "described", "part"]

NAMES = (
    "CHECKSUM",
    "SIGNS",
    "VERSION",
    "crc32",
    "extract",
    "look_at_request",
    "newest_user",
    "prepare",
    "request_schema",
    "single_speech",
)
"""What it has to give; one built from older sources lacks some of it."""

_version = getattr(_found, "VERSION", None)
# One of another version may disagree with the Python code in what it gives.
_fits = __version__ == _version and all(hasattr(_found, name) for name in NAMES)
part = _found if _fits else None
"""The module, or None: then Python does everything."""


def described() -> str:
    """Whether it is in use, and why not."""
    if part is not None:
        return "in use"
    if _found is None:
        return "not installed"
    if __version__ == _version:
        return "of an older build, not used"
    return f"of version {_version}, not used by {__version__}"
