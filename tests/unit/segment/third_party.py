"""A segmenter of somebody else, installed as a package of its own; its class has slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MODULE = '''
from whyflame.segment import Mark


class EveryFew:
    """Cuts after every few steps."""

    __slots__ = ("_every",)
    name = "every-few"

    def __init__(self, config):
        self._every = int(config.options.get("every", 5))

    def segment(self, lane):
        names = ("inspect work", "edit work")
        return [
            Mark(step, ("fix work", names[step // self._every % 2]))
            for step in range(0, len(lane.steps), self._every)
        ]
'''


def install(folder: Path, version: str = "1.0") -> None:
    """What an installer leaves behind in a folder of the module path."""
    (folder / "every_few_steps.py").write_text(_MODULE)
    for other in folder.glob("every_few_steps-*.dist-info/*"):
        other.unlink()
    information = folder / f"every_few_steps-{version}.dist-info"
    information.mkdir(exist_ok=True)
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: every-few-steps\nVersion: {version}\n"
    )
    (information / "entry_points.txt").write_text(
        "[whyflame.segmenters]\nevery-few = every_few_steps:EveryFew\n"
    )
