"""The default segmenter: structure, then a boundary score with shipped weights, then names."""
