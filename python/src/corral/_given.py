"""What callers pass, held to what it may be."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

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


def numbers(code: str, what: str, value: Any) -> npt.NDArray[np.float64]:
    """An array of numbers, and nothing that NumPy would have to read as such: text, objects, imaginary parts."""
    try:
        found = np.asarray(value)
        if found.dtype.kind in "biuf":
            return found.astype(np.float64, copy=False)
        problem = f"of type {found.dtype}"
    except ValueError as error:
        problem = f"no array ({error})"
    raise CorralError(code, f"{what} is {problem}; pass numbers.")
