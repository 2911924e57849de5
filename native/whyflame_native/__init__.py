"""The native part of whyflame. Python code of whyflame does the same where it is not installed."""

import sys

if "t" in sys.abiflags:
    # Up to 3.14 a free-threaded Python would try to load the library, although its objects lie otherwise.
    raise ImportError("whyflame_native needs a Python with its global lock")
