"""The ground: settings, clock, units, errors, and the command that starts programs by name.

Takes nothing from the other packages and imports none of them; everything above stands on it.
Hands down one way to read settings, one clock to ask, and the errors that a user sees as one line.
"""
