"""whyflame: flame graphs of why LLM agents spend tokens."""

__version__ = "0.1.0"

__all__ = ["__version__"]
