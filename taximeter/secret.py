"""The one reader of the environment for secrets, and the one way to compare them."""

import hmac
import os

from taximeter.errors import SettingsError


def read_secret(variable: str) -> str:
    """Read a secret from the environment variable of that name.

    Raises:
        SettingsError: the variable is not set or empty; its name is told, never a value.
    """
    value = os.environ.get(variable, "")
    if not value:
        message = f"the environment variable {variable} is not set; export it before starting this program"
        raise SettingsError(message)
    return value


def same_secret(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode(), expected.encode())
