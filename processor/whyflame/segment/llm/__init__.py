"""`llm`: any OpenAI-compatible endpoint marks the lane, within a budget; else `auto` does."""

from whyflame.segment.llm.segmenter import LlmSegmenter

__all__ = ["LlmSegmenter"]
