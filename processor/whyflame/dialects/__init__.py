"""What each instrumentation means: OTLP spans and log events to `Span` records."""
