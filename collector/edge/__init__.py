"""The edge: OTLP over HTTP and gRPC, answered only when the request is durable.

Takes requests from anyone who holds a token (or anyone on this machine), checks that they are what they say,
and appends their bytes to the journal. Never looks into a span: that is the decode process's work.
"""
