"""`python -m whyflame`."""

from __future__ import annotations

import sys

from whyflame.cli import main

if __name__ == "__main__":
    sys.exit(main())
