"""The journal: what was acknowledged and is not loaded yet, on disk before the answer.

Takes records from the edge and makes each group of them durable with one fsync; the group is a block.
Hands blocks to the decode process in order, and forgets a segment once the warehouse has loaded all of it.
"""
