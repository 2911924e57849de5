"""Exporters that ship with whyflame, found through entry points."""
