"""Processes that die, pipes that break, memory that is not there: an exception with a remedy, and nothing left behind."""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import corral
from corral import CorralError
from corral._client import Client, _clients
from corral._wire import PROTOCOL

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
ACTIONS = np.zeros((3, 1), np.float32)
# how often a run is killed at a random time
KILLS = int(os.environ.get("CORRAL_KILLS", "5"))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # one that nobody has waited for is no process any more
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or ") Z " not in status.read_text()


def gone(pid: int, within: float = 60.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


def files_left() -> set[str]:
    from corral._arrays import _folder

    return {name for name in os.listdir(_folder()) if name.startswith("corral-") and name.endswith(".arrays")}


def kill_newest(known: set[Client], delay: float, killed: list[int]) -> None:
    """Kills the Node process that starts next, so many seconds after its start."""
    while not (new := set(_clients) - known):
        time.sleep(0.001)
    time.sleep(delay)
    killed.append(new.pop().pid)
    os.kill(killed[-1], signal.SIGKILL)


@pytest.mark.own_process
def test_a_killed_node_is_an_exception(make):
    before = files_left()
    start = time.monotonic()
    make().close()
    takes = time.monotonic() - start
    for run in range(KILLS):
        killed: list[int] = []
        # while it starts, makes worlds, resets them, or steps
        delay = random.uniform(0, takes + 0.3)
        killer = threading.Thread(target=kill_newest, args=(set(_clients), delay, killed))
        killer.start()
        envs = None
        with pytest.raises(CorralError) as caught:
            envs = make()
            envs.reset(seed=1)
            while True:
                envs.step(ACTIONS)
        killer.join()
        assert caught.value.code == "process-ended", f"run {run}, killed after {delay} s: {caught.value}"
        assert "signal 9" in str(caught.value)
        if envs is not None:
            envs.close()
        assert gone(killed[0])
    assert files_left() <= before


@pytest.mark.own_process
def test_a_pipe_that_is_cut(make):
    envs = make()
    envs.reset(seed=1)
    envs._client._process.stdout.close()
    with pytest.raises(CorralError) as caught:
        envs.step(ACTIONS)
    assert caught.value.code == "process-ended"
    pid = envs.pid
    envs.close()
    assert gone(pid)


@pytest.mark.own_process
def test_a_node_that_hangs_is_closed(make, monkeypatch):
    monkeypatch.setattr(sys.modules["corral._client"], "CLOSE_WITHIN", 0.2)
    envs = make()
    pid = envs.pid
    os.kill(pid, signal.SIGSTOP)
    envs.close()
    assert gone(pid)


PARTIAL = """#!/bin/sh
[ "$1" = --version ] && echo v22.0.0 && exit
read hello && echo '{"id":1,"ok":{}}' && read request && printf '{"id":2,"ok":{"inf' && echo "the roof fell in" >&2
"""


@pytest.mark.own_process
def test_a_pipe_that_is_cut_in_mid_message(monkeypatch, tmp_path: Path):
    node = tmp_path / "node"
    node.write_text(PARTIAL)
    node.chmod(0o755)
    monkeypatch.setenv("CORRAL_NODE", str(node))
    with pytest.raises(CorralError) as caught:
        corral.make_vec("Ant-v5")
    assert caught.value.code == "process-ended" and "the roof fell in" in str(caught.value)
    assert gone(caught.value.details["pid"])


def test_an_older_client_and_a_second_one_are_refused():
    client = Client()
    try:
        with pytest.raises(CorralError) as second:
            client.call("hello", protocol=PROTOCOL)
        assert second.value.code == "second-client"
        with pytest.raises(CorralError) as caught:
            client.call("hello", protocol=0)
        assert caught.value.code == "bad-protocol"
        with pytest.raises(CorralError) as unknown:
            client.call("makeVecs")
        assert unknown.value.code == "unknown-call"
        client._process.stdin.write(b"{not json}\n")
        client._process.stdin.flush()
        client._waiting.append(99)
        with pytest.raises(CorralError) as bad:
            client.wait(99)
    finally:
        client.close()
    assert bad.value.code == "bad-request"


def test_a_dead_python_leaves_no_node():
    program = "import corral, time; e = corral.make_vec('InvertedPendulum-v5', 2, device='wasm'); print(e.pid, flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    assert alive(pid)
    before = files_left()
    process.kill()
    process.wait()
    process.stdout.close()
    assert gone(pid)
    assert files_left() <= before


def test_no_room_for_arrays(make, monkeypatch, tmp_path: Path):
    monkeypatch.setenv("CORRAL_SHM_DIR", str(tmp_path / "none"))
    with pytest.raises(CorralError) as caught:
        make()
    assert caught.value.code == "no-shared-memory"
    assert "CORRAL_SHM_DIR" in str(caught.value)
    # fewer worlds would not help where there is no folder
    assert "fewer worlds" not in str(caught.value)


def test_a_full_file_system(make, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    before = files_left()
    with pytest.raises(CorralError) as caught:
        make()
    assert caught.value.code == "no-shared-memory"
    assert "has no room" in str(caught.value) and "fewer worlds" in str(caught.value)
    assert files_left() <= before


def test_a_fork_is_told(make):
    envs = make()
    envs.reset(seed=1)
    child = os.fork()
    if child == 0:
        try:
            envs.step(ACTIONS)
        except CorralError as error:
            os._exit(0 if error.code == "forked" else 2)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    envs.step(ACTIONS)
    # nor does it go to another process by pickle
    with pytest.raises(CorralError) as sent:
        pickle.dumps(envs)
    assert sent.value.code == "one-process"


@pytest.mark.own_process
def test_a_forked_child_that_lives_on_does_not_hold_the_process(make):
    envs = make()
    pid = envs.pid
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    try:
        process = envs._client._process
        envs.close()
        # it ended by itself, and was not told to by a signal
        assert process.returncode == 0
        assert not alive(pid)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_leaves_the_next_call_whole(make):
    envs = make()
    envs.reset(seed=1)
    times = envs.get_state("time")["time"].max()
    for delay in (0.0001, 0.001, 0.01):
        previous = signal.signal(signal.SIGALRM, interrupt)
        try:
            # inside, since the first may come before the next line
            signal.setitimer(signal.ITIMER_REAL, delay)
            while True:
                envs.step(ACTIONS)
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGALRM, previous)
        observations, *_ = envs.step(ACTIONS)
        assert observations.shape == (3, 4)
    assert envs.get_state("time")["time"].max() > times


@pytest.mark.own_process
def test_no_node(monkeypatch):
    monkeypatch.setenv("CORRAL_NODE", "no-such-node")
    with pytest.raises(CorralError) as caught:
        corral.make_vec("Ant-v5")
    assert caught.value.code == "no-node"


@pytest.mark.own_process
def test_no_corral(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("CORRAL_PATH", str(tmp_path))
    with pytest.raises(CorralError) as caught:
        corral.make_vec("Ant-v5")
    assert caught.value.code == "no-corral"
