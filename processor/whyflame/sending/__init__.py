"""OTLP out: replays requests to any endpoint, times shifted, refusals repeated as OTLP says."""

from whyflame.sending.sender import Sender, SentCounts
from whyflame.sending.times import newest_time, shift_times

__all__ = ["Sender", "SentCounts", "newest_time", "shift_times"]
