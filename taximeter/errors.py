"""The errors a person sees: one line that says what is wrong and what to do."""


class TaximeterError(Exception):
    """A failure whose text is written for the person at the keyboard; never raised for a bug."""

    exit_status = 1


class SettingsError(TaximeterError):
    """The settings cannot be used as they are."""

    exit_status = 2


class UnsafeBindError(SettingsError):
    """A program would listen beyond loopback without a token."""


class BusyError(TaximeterError):
    """Another process owns what is needed (the database file, a port)."""


class NotFoundError(TaximeterError):
    """What was asked for by name does not exist here."""


class BadInputError(TaximeterError):
    """Bytes that cannot be what their sender says they are."""
