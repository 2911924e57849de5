"""OTLP in: gRPC and HTTP handlers that check a request, journal it and acknowledge."""

from whyflame.receive.server import Addresses, Receiver, run_receiver

__all__ = ["Addresses", "Receiver", "run_receiver"]
