"""The trajectory file: gzip(u32 header length, JSON header, payload), little endian.

The header is padded with spaces so that the payload starts on a multiple of 8 bytes, and so does each of its blocks. Offsets
in the header count bytes from the start of the payload; a block is of float64, or where its entry says "f4" of float32. Nothing in a file depends on the clock or the machine's paths, so recording twice with
the same versions gives the same bytes.
"""

import gzip
import json
import platform
import struct

import gymnasium
import mujoco
import numpy as np

FORMAT = "corral-trajectories-2"


def provenance(script):
    """Who made a fixture: enough to make it again."""
    return {
        "script": f"tools/reference/{script}",
        "gymnasium": gymnasium.__version__,
        "mujoco": mujoco.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


class Payload:
    """Collects blocks of numbers and remembers where each one starts."""

    def __init__(self):
        self.blocks = []
        self.size = 0

    def add(self, rows, single=False):
        """Appends rows (list of equally long vectors, or a 2-D array), rounded to float32 if `single`; returns its entry."""
        block = np.ascontiguousarray(np.atleast_2d(np.asarray(rows, dtype="<f4" if single else "<f8")))
        entry = {"offset": self.size, "rows": block.shape[0], "width": block.shape[1]} | ({"type": "f4"} if single else {})
        raw = block.tobytes()
        raw += bytes(-len(raw) % 8)
        self.blocks.append(raw)
        self.size += len(raw)
        return entry


def write(path, header, payload):
    """Writes one trajectory file; returns its size in bytes."""
    text = json.dumps({"format": FORMAT, **header}, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 8)
    raw = struct.pack("<I", len(text)) + text + b"".join(payload.blocks)
    with open(path, "wb") as file:
        file.write(gzip.compress(raw, compresslevel=9, mtime=0))
    return path.stat().st_size


def read(path):
    """Reads one trajectory file: (header, function from a header entry to its array of shape [rows, width])."""
    with open(path, "rb") as file:
        raw = gzip.decompress(file.read())
    (length,) = struct.unpack_from("<I", raw)
    header = json.loads(raw[4 : 4 + length])
    if header["format"] != FORMAT:
        raise ValueError(f"{path} has format {header['format']}, expected {FORMAT}: record it again")

    def array(entry):
        count = entry["rows"] * entry["width"]
        block = np.frombuffer(raw, dtype="<" + entry.get("type", "f8"), count=count, offset=4 + length + entry["offset"])
        return block.reshape(entry["rows"], entry["width"])

    return header, array
