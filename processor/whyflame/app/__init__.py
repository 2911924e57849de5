"""Composition root: builds every stage and hands each its successor; runs the processes.

Nothing is imported here: a cold question needs `opening` only, a server everything.
"""
