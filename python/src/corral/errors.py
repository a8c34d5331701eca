"""Errors with stable codes; the message states the value, the bound and the remedy."""

from __future__ import annotations

import functools
from typing import Any

from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError

# what Gymnasium's own vector environments throw in the same place
KINDS: dict[str, tuple[type[Exception], ...]] = {
    "bad-action": (ValueError, TypeError),
    "bad-reset-mask": (ValueError, TypeError),
    "call-in-flight": (AlreadyPendingCallError,),
    "closed": (ClosedEnvironmentError,),
    "no-step": (NoAsyncCallError,),
    # what is asked for by `get_attr`, whose callers ask whether it is there
    "unknown-param": (AttributeError,),
}


class CorralError(Exception):
    """What corral refuses, or what broke; also of the kind that Gymnasium's own vector environments throw there.

    Attributes:
        code: stable name of the kind of error, such as ``"budget-exceeded"``.
        details: numbers and names of the message.
    """

    def __new__(cls, code: str, *_: Any) -> CorralError:
        kind = _kind_of(code) if code in KINDS and cls is CorralError else cls
        made: CorralError = Exception.__new__(kind)
        return made

    def __init__(self, code: str, message: str, details: dict[str, Any] | None = None) -> None:
        prefix = f"[{code}] "
        Exception.__init__(self, message if message.startswith(prefix) else prefix + message)
        self.code = self.name = code
        self.details = details or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (CorralError, (self.code, str(self), self.details))


@functools.cache
def _kind_of(code: str) -> type[CorralError]:
    return type(CorralError.__name__, (CorralError, *KINDS[code]), {"__module__": CorralError.__module__})
