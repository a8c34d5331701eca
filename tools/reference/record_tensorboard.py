"""What test/unit/io/tensorboard.test.ts compares with: records of Python's tensorboard, as hexadecimal digits.

With a folder as argument: what tensorboard reads of the event files in it, a line for every tag.
"""

import io
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def records() -> str:
    buffer = io.BytesIO()
    writer = RecordWriter(buffer)
    value = summary_pb2.Summary.Value
    log = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    summary = summary_pb2.Summary(
        value=[value(tag="rollout/ep_rew_mean", simple_value=12.5), value(tag="train/std", simple_value=-0.25)]
    )
    for event in (
        event_pb2.Event(wall_time=1700000000.5, file_version="brain.Event:2"),
        event_pb2.Event(wall_time=1700000001.5, step=129, session_log=log),
        event_pb2.Event(wall_time=1700000002.5, step=70000, summary=summary),
    ):
        writer.write(event.SerializeToString())
    return buffer.getvalue().hex()


def read(folder: str) -> None:
    events = EventAccumulator(folder)
    events.Reload()
    for tag in events.Tags()["scalars"]:
        scalars = events.Scalars(tag)
        print(tag, [(scalar.step, round(scalar.value, 4)) for scalar in scalars])


if len(sys.argv) > 1:
    read(sys.argv[1])
else:
    print(records())
