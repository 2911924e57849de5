"""Durable log of requests as received: frames in segment files, written before the acknowledgement."""
