"""Lane to nested, named intervals."""
