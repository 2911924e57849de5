"""Composition root: builds every stage and hands each its successor; runs the processes."""

from whyflame.app.build import Pipeline, build_pipeline, open_store
from whyflame.app.offline import import_captures, segment_now
from whyflame.app.run import build_supervisor, resolve_data_dir

__all__ = [
    "Pipeline",
    "build_pipeline",
    "build_supervisor",
    "import_captures",
    "open_store",
    "resolve_data_dir",
    "segment_now",
]
