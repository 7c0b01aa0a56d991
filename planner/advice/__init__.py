"""What to change, what it would have saved on the recording, and why that is known.

`kinds/` has one file per kind of advice; each reads the same `Load` and gives advice or the reason for none.
"""
