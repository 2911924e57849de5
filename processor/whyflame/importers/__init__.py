"""Files to journal frames: OTLP captures."""
