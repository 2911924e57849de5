"""OTLP in: gRPC and HTTP handlers that check a request, journal it and acknowledge."""
