"""The native part of whyflame. Python code of whyflame does the same where it is not installed."""

from whyflame_native._native import VERSION, bag_of, prepare

__all__ = ["VERSION", "bag_of", "prepare"]
