"""Journal to store: decodes requests, runs the dialects, writes spans and the position in one transaction."""
