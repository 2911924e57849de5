"""The messages that the double reads, made from Pyroscope's own `.proto` files in `api/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message_factory import GetMessageClass

from tests.doubles.protos import pool_of

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

API = Path(__file__).parent / "api"
PREFIX = "whyflame.vendored."


def _string_tables_as_bytes(file: FileDescriptorProto) -> None:
    """Read a string that is no UTF-8 too: to refuse it is the server's part, not the parser's."""
    for message in file.message_type:
        for field in message.field:
            if field.name == "string_table":
                field.type = field.TYPE_BYTES


_POOL = pool_of(API, _string_tables_as_bytes)


def _message(name: str) -> Any:
    return GetMessageClass(_POOL.FindMessageTypeByName(PREFIX + name))


PushRequest = _message("push.v1.PushRequest")
Profile = _message("google.v1.Profile")
