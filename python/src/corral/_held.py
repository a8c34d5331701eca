"""What a Node process holds for an object of this side."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import MappedArrays
from ._client import Client
from ._given import numbers
from .errors import CorralError
from .plan import Plan


def integer(code: str, what: str, value: Any) -> int:
    """A whole number, of Python's or NumPy's; no truth value, and nothing that would be rounded."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise CorralError(code, f"{what} is {value!r}; pass an integer.") from None


def indices(worlds: Sequence[int]) -> list[int]:
    """Chosen worlds. A mask is none: its truth values would be worlds 0 and 1."""
    found = np.asarray(worlds)
    if found.ndim != 1 or (found.size > 0 and found.dtype.kind not in "iu"):
        text = f"worlds is {worlds!r}; pass a list of their numbers. Of a mask: numpy.flatnonzero(mask)."
        raise CorralError("bad-world", text)
    return [int(world) for world in found]


class Snapshot:
    """A snapshot that the Node process keeps until nothing refers to this object."""

    def __init__(self, holder: Held, number: int) -> None:
        self._holder = holder
        self.number = number

    def __del__(self) -> None:
        self._holder._forgotten.append(self.number)


class Held:
    """An object of the Node process, by its handle, with the arrays that both share."""

    facts: dict[str, Any]
    _connection: Client | None

    def __init__(self, client: Client, made: dict[str, Any]) -> None:
        self._of = int(made["of"])
        self.facts = made["facts"]
        self._forgotten: list[int] = []
        # an object that could not be made whole has nothing to release
        self._connection = None
        self._arrays = MappedArrays(made["arrays"])
        try:
            client.call("map", self._of, path=self._arrays.path)
        except BaseException:
            self._arrays.close()
            raise
        # the other side has it open: nothing is left of it when both are gone
        self._arrays.unlink()
        self._connection = client
        client.holders += 1

    def __reduce__(self) -> Any:
        raise CorralError(
            "one-process",
            f"a {type(self).__name__} cannot be copied or sent to another process: its Node process has one client. Make one there.",
        )

    @property
    def _client(self) -> Client:
        if self._connection is None:
            raise CorralError("closed", "this object was closed. Make another.")
        return self._connection

    def _assert_open(self) -> None:
        client = self._client
        if self._forgotten:
            forgotten, self._forgotten = self._forgotten, []
            client.call("drop", self._of, snapshots=forgotten)

    @property
    def fields(self) -> dict[str, tuple[int, ...]]:
        """Names that ``get_state`` takes, and the shape of one world's."""
        return {row["name"]: tuple(row["shape"]) for row in self.facts["fields"]}

    def get_state(self, *names: str, worlds: Sequence[int] | None = None) -> dict[str, npt.NDArray[np.float64]]:
        """Fields by name, of all worlds or of chosen ones: each ``[worlds, ...shape]``, float64."""
        self._assert_open()
        for name in names:
            if not isinstance(name, str):
                text = f'a field is named {name!r}, which is no text. Pass names one by one: get_state("qpos", "qvel").'
                raise CorralError("unknown-field", text)
        chosen = {} if worlds is None else {"worlds": indices(worlds)}
        self._assert_room("get_state", [self._size(name) for name in names], worlds)
        lengths = self._client.call("getState", self._of, names=list(names), **chosen)["lengths"]
        found: dict[str, npt.NDArray[np.float64]] = {}
        at = 0
        for name, length in zip(names, lengths):
            values = self._arrays["values"][at : at + length].copy()
            found[name] = values.reshape(self._count(worlds), *self.fields[name])
            at += length
        return found

    def set_state(self, worlds: Sequence[int] | None = None, **values: Any) -> None:
        """Sets fields of all worlds or of chosen ones: arrays ``[worlds, ...shape]``, or one row for all of them.

        Nothing changes if any value is wrong.
        """
        self._assert_open()
        chosen = {} if worlds is None else {"worlds": indices(worlds)}
        self._assert_room("set_state", [self._size(name) for name in values], worlds)
        rows = {name: self._rows(name, value, self._count(worlds)) for name, value in values.items()}
        flat = np.concatenate(list(rows.values())) if rows else np.empty(0)
        self._arrays["values"][: flat.size] = flat
        fields = [[name, int(row.size)] for name, row in rows.items()]
        self._client.call("setState", self._of, fields=fields, **chosen)

    def _size(self, name: str) -> int:
        """Numbers of a field that one world has; none of a field that the other side will refuse."""
        return math.prod(self.fields.get(name, (0,)))

    def _assert_room(self, what: str, sizes: Sequence[int], worlds: Sequence[int] | None) -> None:
        asked, room = sum(sizes) * self._count(worlds), self._arrays["values"].size
        if asked > room:
            text = f"{what} is asked for {asked} numbers; all fields of all worlds are {room}. Name each field and each world once."
            raise CorralError("bad-shape", text)

    def _count(self, worlds: Sequence[int] | None) -> int:
        return int(self.facts["numEnvs"]) if worlds is None else len(worlds)

    def _rows(self, name: str, value: Any, count: int) -> npt.NDArray[np.float64]:
        shape = self.fields.get(name)
        if shape is None:
            # the other side refuses it, with the nearest names
            self._client.call("setState", self._of, fields=[[name, 0]])
            raise CorralError("unknown-field", f'there is no field "{name}".')
        found = numbers("bad-value", name, value)
        wanted = (count, *shape)
        if found.shape not in (wanted, shape):
            text = f"{name} has shape {found.shape}; pass {wanted}, or {shape} for all worlds."
            raise CorralError("bad-shape", text)
        return np.ascontiguousarray(np.broadcast_to(found, wanted)).ravel()

    @property
    def pid(self) -> int:
        """Of the Node process."""
        self._assert_open()
        return self._client.pid

    @property
    def plan(self) -> Plan:
        """Every byte that this object holds."""
        self._assert_open()
        return Plan(self._client.call("plan", self._of))

    def snapshot(self) -> Snapshot:
        """Copies all that the future depends on, in the Node process."""
        self._assert_open()
        return Snapshot(self, int(self._client.call("snapshot", self._of)["snapshot"]))

    def _id_of(self, snapshot: Snapshot) -> int:
        if not isinstance(snapshot, Snapshot) or snapshot._holder is not self:
            raise CorralError("bad-snapshot", "the snapshot is of another object. Pass one that this object's snapshot() returned.")
        return snapshot.number

    def _release(self, collected: bool = False) -> None:
        client, self._connection = self._connection, None
        if client is None:
            return
        client.holders -= 1
        if collected and client.holders > 0:
            # this may be in the midst of a call of one that shares the process
            client.left.append(self._of)
        else:
            try:
                call = client.send("close", self._of)
                if client.holders > 0:
                    client.wait(call)
                else:
                    # one that hangs never answers
                    client.forget(call)
            except CorralError:
                # it is closed if its process is gone
                pass
        if client.holders == 0:
            client.close()
        self._arrays.close()
