"""Composition root: builds every stage and hands each its successor; runs the processes."""

from whyflame.app.build import Pipeline, build_pipeline, open_store, settle_function
from whyflame.app.run import serve

__all__ = ["Pipeline", "build_pipeline", "open_store", "serve", "settle_function"]
