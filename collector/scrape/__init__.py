"""Asks exporters and serving engines for their metrics and hands them on as OTLP, named as they are told."""
