"""Projection of operations to stacks, and pure encoders of profiles."""
