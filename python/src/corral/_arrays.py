"""Arrays that both processes have in memory: a file, preferably of a file system in memory, that this side maps."""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import CorralError

FOLDER_VARIABLE = "CORRAL_SHM_DIR"
SHARED_MEMORY = "/dev/shm"
# where fewer bytes would do
FULL = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EFBIG)


def _folder() -> str:
    named = os.environ.get(FOLDER_VARIABLE) or None
    if named is not None:
        return named
    return SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) and os.access(SHARED_MEMORY, os.W_OK) else tempfile.gettempdir()


class MappedArrays:
    """The arrays of a table, in one mapped file. ``path`` is there until ``unlink``, which the other side's opening allows."""

    def __init__(self, table: dict[str, Any]) -> None:
        size = int(table["bytes"])
        folder = _folder()
        try:
            file, self.path = tempfile.mkstemp(prefix="corral-", suffix=".arrays", dir=folder)
        except OSError as error:
            raise self._refusal(folder, size, error) from error
        try:
            # a sparse file of a full file system would end the process where it is written to
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
            else:
                os.truncate(file, size)
            self._map = mmap.mmap(file, size)
        except OSError as error:
            os.unlink(self.path)
            raise self._refusal(folder, size, error) from error
        finally:
            os.close(file)
        self._arrays = {row["name"]: self._view(row) for row in table["arrays"]}

    @staticmethod
    def _refusal(folder: str, size: int, error: OSError) -> CorralError:
        full = error.errno in FULL
        what = f"{folder} has no room for {size} bytes" if full else f"{folder} takes no file of {size} bytes"
        remedy = "Free some, take fewer worlds, or name" if full else "Name"
        return CorralError(
            "no-shared-memory",
            f"{what} that both processes share: {error.strerror}. {remedy} another folder by {FOLDER_VARIABLE}.",
            {"folder": folder, "bytes": size},
        )

    def _view(self, row: dict[str, Any]) -> npt.NDArray[Any]:
        shape = [int(axis) for axis in row["shape"]]
        count = int(np.prod(shape, dtype=np.int64))
        # bytes are truth values
        dtype = np.dtype(np.bool_ if row["dtype"] == "uint8" else row["dtype"])
        flat = np.frombuffer(self._map, dtype=dtype, count=count, offset=int(row["offset"]))
        return flat.reshape(shape)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """The array itself, without a copy: the next call overwrites it."""
        return self._arrays[name]

    @property
    def names(self) -> list[str]:
        """Of all arrays."""
        return list(self._arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def unlink(self) -> None:
        """Takes the file's name away: it is gone when both sides are."""
        try:
            os.unlink(self.path)
        except OSError:
            pass

    def close(self) -> None:
        """Gives the memory back once no view of it is left."""
        self._arrays = {}
        try:
            self._map.close()
        except BufferError:
            # somebody holds a view: the map goes when that does
            pass
        self.unlink()
