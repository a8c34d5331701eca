"""Errors with stable codes; the message states the value, the bound and the remedy."""

from __future__ import annotations

from typing import Any


class CorralError(Exception):
    """What corral refuses, or what broke.

    Attributes:
        code: stable name of the kind of error, such as ``"budget-exceeded"``.
        details: numbers and names of the message.
    """

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        prefix = f"[{code}] "
        super().__init__(message if message.startswith(prefix) else prefix + message)
        self.code = code
        self.details = details or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (CorralError, (self.code, str(self), self.details))
