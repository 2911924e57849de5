"""Every error whyflame raises on purpose.

WhyflameError            one line for the user, and an exit code
|- ConfigError           a setting is wrong: names the key, the value and the fix
|- UsageError            a command was called wrongly (exit 2)
|- NothingMatched        a question had no data to answer with (exit 3)
|- StoreError            the store cannot be opened or read
|  `- StoreBroken        it gave itself up while in use: only opening it again helps
|- QueryTooLarge         a question needs more memory or rows than one may take
|- PermanentError        the same input can never pass: reject it, keep it aside, count it
`- TransientError        the same input can pass later: the caller must retry or refuse
   |- Backpressure       a bound is reached; carries how long to wait
   `- QueryStopped       a question took too long or nobody waits for its answer
"""

from __future__ import annotations


class WhyflameError(Exception):
    """Base of all errors that end a command with one line instead of a trace."""

    exit_code = 1


class ConfigError(WhyflameError):
    """A configuration value is missing, unknown or out of range."""


class UsageError(WhyflameError):
    """A command line that cannot be carried out as written."""

    exit_code = 2


class NothingMatched(WhyflameError):  # noqa: N818 - an outcome, not a fault
    """A query was valid and selected nothing."""

    exit_code = 3


class StoreError(WhyflameError):
    """The store is locked, newer than this version, or damaged."""


class StoreBroken(StoreError):  # noqa: N818 - a state, told apart from faults of a request
    """The open store answers nothing any more; a process that opens it again can go on."""


class QueryTooLarge(WhyflameError):  # noqa: N818 - a bound, not a fault
    """The answer is larger than one question may take; a narrower one would do."""


class PermanentError(WhyflameError):
    """This input can never be accepted; `reason` is a bounded metric label.

    Args:
        message: What is wrong, for the sender.
        reason: Short snake_case reason, one of a closed set per caller.
    """

    def __init__(self, message: str, reason: str = "invalid") -> None:
        super().__init__(message)
        self.reason = reason


class TransientError(WhyflameError):
    """This input may be accepted later."""


class Backpressure(TransientError):  # noqa: N818 - a state the caller must handle
    """A bound in bytes or rows is reached.

    Args:
        message: Which bound.
        retry_after_seconds: When the sender should try again.
    """

    def __init__(self, message: str, retry_after_seconds: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class QueryStopped(TransientError):  # noqa: N818 - asked for by the caller
    """A running question was stopped; the message says why."""
