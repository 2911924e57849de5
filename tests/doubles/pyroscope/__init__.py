"""A Pyroscope for tests: the write path with its limits, silent changes, faults and compaction.

Clauses are numbered as in the contract checks for profile backends; each has its own test in
`tests/integration/doubles/`. Run one by hand with `python -m tests.doubles.pyroscope`.
"""

from tests.doubles.pyroscope.faults import LOST_ANSWER, RESET, TIMEOUT, Fault
from tests.doubles.pyroscope.limits import Flavour, Limits
from tests.doubles.pyroscope.server import Double

__all__ = ["LOST_ANSWER", "RESET", "TIMEOUT", "Double", "Fault", "Flavour", "Limits"]
