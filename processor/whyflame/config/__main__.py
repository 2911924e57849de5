"""`python -m whyflame.config`: print the reference page, which `make docs` writes."""

from __future__ import annotations

import sys

from whyflame.config.render import reference_markdown

if __name__ == "__main__":
    sys.stdout.write(reference_markdown())
