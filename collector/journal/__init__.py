"""The journal: what was acknowledged and is not loaded yet, on disk before the answer."""
