"""`.proto` files as descriptors: compiled when first used, in a pool of their own.

What else the process has registered cannot clash with them, and no generated code is kept. What is
compiled lies in `.cache` under a hash of the files.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.descriptor_pb2 import FileDescriptorProto

_CACHE = Path(__file__).parents[2] / ".cache" / "protos"


def pool_of(
    folder: Path, change: Callable[[FileDescriptorProto], None] | None = None
) -> DescriptorPool:
    """A new pool with every `.proto` file below a folder, each as `change` leaves it."""
    pool = DescriptorPool()
    for file in _compiled(folder).file:  # what is imported comes first
        if change is not None:
            change(file)
        pool.Add(file)
    return pool


def _compiled(folder: Path) -> FileDescriptorSet:
    sources = sorted(folder.rglob("*.proto"))
    digest = hashlib.sha256()
    for source in sources:
        digest.update(f"{source.relative_to(folder)}\0".encode() + source.read_bytes() + b"\0")
    kept = _CACHE / f"{digest.hexdigest()[:16]}.binpb"
    if not kept.exists():
        _compile(folder, sources, kept)
    return FileDescriptorSet.FromString(kept.read_bytes())


def _compile(folder: Path, sources: list[Path], target: Path) -> None:
    from grpc_tools import protoc  # not needed again until a file changes

    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(f".{os.getpid()}")  # others may be compiling at this moment
    arguments = [f"-I{folder}", "--include_imports", f"--descriptor_set_out={unfinished}"]
    if protoc.main(["protoc", *arguments, *map(str, sources)]) != 0:
        raise RuntimeError(f"protoc cannot compile {folder}: it said why on stderr")
    unfinished.replace(target)
