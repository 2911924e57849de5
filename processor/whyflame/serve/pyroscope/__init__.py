"""Pyroscope's query API over whyflame's own store, so that Grafana can choose any hierarchy."""

from __future__ import annotations

from whyflame.serve.pyroscope.routes import pyroscope_routes

__all__ = ["pyroscope_routes"]
