"""The trajectory file: gzip(u32 header length, JSON header, float64 payload), little endian.

The header is padded with spaces so that the payload starts on a multiple of 8 bytes. Offsets in the header count float64
values from the start of the payload. Nothing in a file depends on the clock or the machine's paths, so recording twice with
the same versions gives the same bytes.
"""

import gzip
import json
import platform
import struct

import gymnasium
import mujoco
import numpy as np

FORMAT = "corral-trajectories-1"


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
    """Collects float64 blocks and remembers where each one starts."""

    def __init__(self):
        self.blocks = []
        self.size = 0

    def add(self, rows):
        """Appends rows (list of equally long vectors, or a 2-D array); returns its entry for the header."""
        block = np.ascontiguousarray(np.atleast_2d(np.asarray(rows, dtype="<f8")))
        entry = {"offset": self.size, "rows": block.shape[0], "width": block.shape[1]}
        self.blocks.append(block)
        self.size += block.size
        return entry


def write(path, header, payload):
    """Writes one trajectory file; returns its size in bytes."""
    text = json.dumps({"format": FORMAT, **header}, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % 8)
    raw = struct.pack("<I", len(text)) + text + b"".join(block.tobytes() for block in payload.blocks)
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
    payload = np.frombuffer(raw, dtype="<f8", offset=4 + length)

    def array(entry):
        end = entry["offset"] + entry["rows"] * entry["width"]
        return payload[entry["offset"] : end].reshape(entry["rows"], entry["width"])

    return header, array
