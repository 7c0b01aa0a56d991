"""Files that people already have: one module per format, each turned into what OTLP would have sent.

Takes an open file; recognises it by its content, never by its name.
Hands on parts (one OTLP request of a few thousand items each) or rows of GPU samples, and says what was bad.
"""
