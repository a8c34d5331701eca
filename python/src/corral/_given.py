"""What callers pass, held to what it may be."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .errors import CorralError


def path_of(code: str, what: str, value: Any) -> str:
    """An id or a path as text."""
    try:
        return str(os.fspath(value))
    except TypeError:
        raise CorralError(code, f"{what} is {value!r}; pass its name or its path, a str.") from None


def truth(what: str, value: Any) -> bool:
    """True or False, and no text that would be true."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise CorralError("bad-option", f"{what} is {value!r}; pass True or False.")
