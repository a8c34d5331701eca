"""The process that simulates, and calls to it."""

from __future__ import annotations

import atexit
import collections
import os
import subprocess
import threading
import weakref
from collections.abc import Callable
from typing import IO, Any

from . import _node
from ._wire import PROTOCOL, decode, encode
from .errors import CorralError

LAST_WORDS = 30
CLOSE_WITHIN = 3.0


class Client:
    """A Node process that serves this one. Calls are answered in order; one thread at a time makes them."""

    def __init__(self) -> None:
        node, folder = _node.find_node(), _node.find_corral()
        self._owner = os.getpid()
        # objects in the process: one, and what was forked from it
        self.holders = 0
        # handles of those that were collected and not closed
        self.left: list[int] = []
        self._lock = threading.RLock()
        self._next = 1
        self._waiting: collections.deque[int] = collections.deque()
        self._replies: dict[int, dict[str, Any]] = {}
        self._abandoned: set[int] = set()
        # the call whose first arrays are there
        self._part = 0
        self._last_tail, self._last_found = b"", dict[str, Any]()
        self._words: collections.deque[str] = collections.deque(maxlen=LAST_WORDS)
        self._process = subprocess.Popen(
            [node, str(folder / "bin" / "corral.js"), "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C in a notebook is this process's alone
            start_new_session=True,
        )
        assert self._process.stderr is not None
        self._listener = threading.Thread(target=self._listen, args=(self._process.stderr, self._words), daemon=True)
        self._listener.start()
        _clients.add(self)
        try:
            self.call("hello", protocol=PROTOCOL)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _listen(errors: IO[bytes], words: collections.deque[str]) -> None:
        for line in errors:
            words.append(line.decode(errors="replace").rstrip())

    @property
    def pid(self) -> int:
        """Of the Node process."""
        return self._process.pid

    def call(self, name: str, of: int | None = None, /, **given: Any) -> dict[str, Any]:
        """Makes a call and waits for its answer. Throws ``CorralError``."""
        return self.wait(self.send(name, of, **given))

    def send(self, name: str, of: int | None = None, /, **given: Any) -> int:
        """Makes a call and returns its number, which ``wait`` takes."""
        self._assert_mine()
        with self._lock:
            while self.left:
                self._abandoned.add(self._write("close", self.left.pop()))
            return self._write(name, of, **given)

    def _write(self, name: str, of: int | None, /, **given: Any) -> int:
        number = self._next
        self._next += 1
        if of is not None and not given:
            # a step, which is made most: its process has slept, and every page of code that it touches is cold
            line = b'{"id":%d,"call":"%s","of":%d}\n' % (number, name.encode(), of)
        else:
            line = encode({"id": number, "call": name, "with": given} | ({} if of is None else {"of": of}))
        # what an interrupt leaves in the buffer goes out with the next call
        self._waiting.append(number)
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except KeyboardInterrupt:
            self._abandoned.add(number)
            raise
        except (OSError, ValueError) as error:
            raise self._died() from error
        return number

    def wait_part(self, number: int) -> None:
        """Waits until the first arrays of a call are there, or its answer."""
        self._assert_mine()
        self._until(number, lambda: self._part == number or number in self._replies)

    def _until(self, number: int, is_there: Callable[[], bool]) -> None:
        with self._lock:
            try:
                while not is_there():
                    self._receive()
            except KeyboardInterrupt:
                self._abandoned.add(number)
                raise

    def wait(self, number: int) -> dict[str, Any]:
        """The answer to a call. An interrupt leaves it to be read, and thrown away, before the next."""
        self._assert_mine()
        with self._lock:
            self._until(number, lambda: number in self._replies)
            reply = self._replies.pop(number)
        error = reply.get("error")
        if error is not None:
            raise CorralError(error["code"], error["message"], error.get("details"))
        found: dict[str, Any] = reply["ok"]
        return found

    def forget(self, number: int) -> None:
        """Leaves the answer to a call to be read, and thrown away, before the next."""
        self._abandoned.add(number)

    def _receive(self) -> None:
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except (OSError, ValueError) as error:
            raise self._died() from error
        if not line.endswith(b"\n"):
            raise self._died()
        try:
            if line.startswith(b"+"):
                self._part = int(line)
                return
            reply = self._decode(line)
        except ValueError as error:
            raise CorralError("bad-reply", f"what the Node process said is no answer: {line[:200]!r}. Make it anew.") from error
        # a call that was refused before it was read has no number
        number = reply.get("id") or self._waiting[0]
        if number not in self._waiting:
            raise CorralError("bad-reply", f"calls {list(self._waiting)} were answered as {number}. Make the object anew.")
        # answers come in order: an interrupt has taken those between
        while self._waiting.popleft() != number:
            pass
        if number in self._abandoned:
            self._abandoned.discard(number)
        else:
            self._replies[number] = reply

    def _decode(self, line: bytes) -> dict[str, Any]:
        """An answer; one to a step is mostly the one before under another number."""
        head, _, tail = line.partition(b",")
        if tail == self._last_tail and head.startswith(b'{"id":'):
            return {"id": int(head[6:]), "ok": self._last_found}
        reply = decode(line)
        found = reply.get("ok")
        # what others are given is theirs to change
        if isinstance(found, dict) and "infos" in found:
            self._last_tail, self._last_found = tail, found
        return reply

    def _assert_mine(self) -> None:
        if os.getpid() != self._owner:
            raise CorralError(
                "forked",
                f"process {os.getpid()} was forked from {self._owner}, which made this object. Make one in each process, after the fork.",
            )

    def _died(self) -> CorralError:
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            pass
        code = self._process.returncode
        how = "is gone" if code is None else f"ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self._listener.join(timeout=1.0)
        last = "\n".join(self._words) or "nothing"
        return CorralError(
            "process-ended",
            f"the Node process of corral {how}. Make the object anew, from a snapshot or a checkpoint. Its last words: {last}",
            {"pid": self.pid, "returncode": code, "last_words": list(self._words)},
        )

    def close(self) -> None:
        """Ends the process. Calling it again does nothing."""
        _clients.discard(self)
        if os.getpid() != self._owner:
            return
        try:
            if self._process.stdin is not None:
                # a child that was forked from this process holds the pipe open as well
                self._process.stdin.write(encode({"id": self._next, "call": "bye"}))
                self._process.stdin.close()
        except (OSError, ValueError):
            # it is gone already
            pass
        for end in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(timeout=CLOSE_WITHIN)
                break
            except subprocess.TimeoutExpired:
                end()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._listener.join(timeout=1.0)
        if self._process.stderr is not None and not self._listener.is_alive():
            self._process.stderr.close()


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for client in list(_clients):
        client.close()
