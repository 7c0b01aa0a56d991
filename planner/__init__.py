"""Decisions on the user's own recorded load.

Takes reports of the warehouse, never its tables.
Hands on advice with its evidence: what could be scaled down, and what it would have saved.
"""
