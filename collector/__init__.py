"""Telemetry in: OTLP over gRPC and HTTP, GPU sampling, files people already have.

Takes bytes from the network, from the NVIDIA driver and from files; acknowledges only what is durable.
Hands on Parquet blocks in the inbox, in the schemas of `warehouse.rows`, and never any text of a prompt.
"""
