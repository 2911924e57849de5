"""The native part, distribution `whyflame-native`: used where it is installed and fits.

What it does, Python code does too, with equal results; nothing but the CPU depends on it.
"""

from __future__ import annotations

from whyflame import __version__

try:
    import whyflame_native
except ImportError:
    _found = None
else:
    _found = whyflame_native

__all__ = ["described", "part"]

# One of another version may disagree with the Python code in what it gives.
part = _found if _found is not None and __version__ == _found.VERSION else None
"""The module, or None: then Python does everything."""


def described() -> str:
    """Whether it is in use, and why not."""
    if part is not None:
        return "in use"
    if _found is None:
        return "not installed"
    return f"of version {_found.VERSION}, not used by {__version__}"
