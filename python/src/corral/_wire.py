"""One JSON document a line; numbers that JSON has no words for are objects of one field. Twin of src/serve/wire.ts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .errors import CorralError

PROTOCOL = 2
EXACT = 2**53


def plain(value: Any) -> Any:
    """A value as JSON can say it: arrays become lists, infinities and large integers objects of one field."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        whole = int(value)
        return whole if -EXACT < whole < EXACT else {"$integer": str(whole)}
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isfinite(number):
            return number
        return {"$number": "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(each) for each in value]
    if hasattr(value, "__fspath__"):
        return str(value.__fspath__())
    raise CorralError(
        "bad-option",
        f"an option is {value!r}, of {type(value).__name__}, which another process cannot be told. Pass a number, text, list or dictionary.",
    )


def _special(found: dict[str, Any]) -> Any:
    if len(found) == 1:
        if isinstance(found.get("$number"), str):
            return float(found["$number"].replace("Infinity", "inf"))
        if isinstance(found.get("$integer"), str):
            return int(found["$integer"])
    return found


_encoder = json.JSONEncoder(separators=(",", ":"))
_decoder = json.JSONDecoder(object_hook=_special)


def encode(document: Mapping[str, Any]) -> bytes:
    """A document as a line."""
    return _encoder.encode(plain(document)).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The document of a line. Throws ``ValueError``."""
    found = _decoder.decode(line.decode())
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found
