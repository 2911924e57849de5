"""The exporter port, entry-point look-up and the outbox rules."""
