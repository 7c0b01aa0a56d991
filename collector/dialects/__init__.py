"""Dialects as data: how each library that writes agent spans says what it says.

One TOML file per dialect; a new dialect is a new file and nothing else. `read.py` reads them, `format.md`
explains every key, `common.toml` holds what every dialect shares and `words.toml` the words that are mapped.
"""
