"""The native part of whyflame. Python code of whyflame does the same where it is not installed."""

import sys

if "t" in sys.abiflags:
    # Up to 3.14 a free-threaded Python would try to load the library, although its objects lie otherwise.
    raise ImportError("whyflame_native needs a Python with its global lock")

from whyflame_native._native import (
    CHECKSUM,
    SIGNS,
    VERSION,
    crc32,
    extract,
    look_at_request,
    newest_user,
    prepare,
    request_schema,
    single_speech,
)

__all__ = [
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
]
