"""The native part of whyflame. Python code of whyflame does the same where it is not installed."""

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
