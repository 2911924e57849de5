"""The native part of whyflame. Python code of whyflame does the same where it is not installed."""

from whyflame_native._native import SIGNS, VERSION, extract, prepare, single_speech

__all__ = ["SIGNS", "VERSION", "extract", "prepare", "single_speech"]
