"""What both benches say of the machine, and processor time of a process and all below it."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any


def facts() -> dict[str, Any]:
    """In the form of the other results."""
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "platform": f"{platform.system().lower()}-{platform.machine()}",
        "node": node,
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d"),
    }


def processor_seconds(root: int) -> float:
    """Of a process and those below it (Linux), all threads."""
    spent, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            # nanoseconds, where clock ticks are too coarse
            times = [int((task / "schedstat").read_text().split()[0]) for task in (folder / "task").iterdir()]
        except OSError:
            continue
        parents[int(folder.name)] = int(fields[1])
        spent[int(folder.name)] = sum(times) / 1e9
    mine = {root}
    for _ in range(4):
        mine |= {pid for pid, parent in parents.items() if parent in mine}
    return sum(spent.get(pid, 0.0) for pid in mine)
