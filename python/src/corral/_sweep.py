"""A trial of Ray Tune: ``corral train`` in a process of its own, its log reported line by line."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ray import tune

from . import _node
from .errors import CorralError

LOOK_EVERY = 0.5
STOP_WITHIN = 60.0
PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Where a worker of Ray is killed, its run is told to stop (Linux; elsewhere its closed pipe does, with the next line)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def run_trial(settings: dict[str, Any]) -> None:
    """Trains, and reports. Throws ``CorralError`` if the run fails."""
    with tempfile.TemporaryDirectory(prefix="corral-trial-") as scratch:
        folder = Path(scratch) / "run"
        checkpoint = tune.get_checkpoint()
        if checkpoint is not None:
            with checkpoint.as_directory() as kept:
                shutil.copytree(kept, folder)
            arguments = ["--resume", str(folder)]
        else:
            config = Path(scratch) / "config.json"
            config.write_text(json.dumps(settings))
            arguments = ["--config", str(config), "--out", str(folder)]
        words = Path(scratch) / "words"
        command = [_node.find_node(), str(_node.find_corral() / "bin" / "corral.js"), "train", *arguments]
        with words.open("wb") as said:
            process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, preexec_fn=_end_with_parent)
            try:
                _report(process, folder)
            finally:
                _stop(process)
        # 1: the run reached its end, but not its goal
        if process.returncode not in (0, 1):
            last = words.read_text(errors="replace").strip().splitlines()[-5:]
            raise CorralError("run-failed", "corral train ended with " + str(process.returncode) + ": " + "\n".join(last))


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _lines(log: Path, at: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Whole lines of a log behind a place, and where each ends; a place that is no start of a line is the start of the log."""
    if not log.exists():
        return
    try:
        yield from _lines_from(log, at)
    except ValueError:
        # a run that goes on cuts its log where its checkpoint is, and writes on from there
        yield from _lines_from(log, 0)


def _lines_from(log: Path, at: int) -> Iterator[tuple[int, dict[str, Any]]]:
    if log.stat().st_size < at:
        raise ValueError
    with log.open("rb") as file:
        file.seek(at)
        for line in file:
            if not line.endswith(b"\n"):
                return
            at += len(line)
            yield at, json.loads(line)


def _newest(folder: Path) -> str | None:
    return max((each.name for each in (folder / "checkpoints").glob("*.safetensors")), default=None)


def _report(process: subprocess.Popen[bytes], folder: Path) -> None:
    # what the trial before it reported is not news
    log = folder / "log.jsonl"
    at, seen = 0, -1.0
    for at, line in _lines(log, 0):
        seen = max(seen, line.get("envSteps", -1))
    kept = _newest(folder)
    ended = False
    while not ended:
        ended = process.poll() is not None
        news: list[dict[str, Any]] = []
        for at, line in _lines(log, at):
            numbers = {name: value for name, value in line.items() if isinstance(value, (int, float))}
            if numbers.get("envSteps", -1) > seen and "event" not in line:
                seen = numbers["envSteps"]
                news.append(numbers)
        newest = _newest(folder)
        if news and newest != kept:
            for metrics in news[:-1]:
                tune.report(metrics)
            kept = newest
            # files are whole or not there; a copy may miss the newest lines of the log, which the run writes again
            with tempfile.TemporaryDirectory(prefix="corral-checkpoint-") as copy:
                shutil.copytree(folder, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.lock", "*.tmp", "lock*"))
                tune.report(news[-1], checkpoint=tune.Checkpoint.from_directory(copy))
        else:
            for metrics in news:
                tune.report(metrics)
        if not ended:
            time.sleep(LOOK_EVERY)


