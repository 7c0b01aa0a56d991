"""How fast spans come in, ours beside its peers, with one generator in one run.

Takes peers from PyPI into throw-away environments; hands on a table, JSON, and `docs/performance.md`'s part.
"""
