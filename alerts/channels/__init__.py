"""Where notifications go: one module per kind of channel, and the check of their addresses.

Takes notifications. Hands on HTTP requests to addresses that were checked first; secrets never reach a log.
"""
