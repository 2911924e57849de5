"""Text to bounded features, through the redactor; the text itself is forgotten."""
