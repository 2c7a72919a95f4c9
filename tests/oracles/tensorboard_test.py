"""A real TensorBoard reads what MetricsWriter wrote. Usage: tensorboard_test.py WRITE_EVENTS_PROGRAM"""

import math
import struct
import subprocess
import sys
import tempfile

import oracle

oracle.require("tensorboard")

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def read(directory):
    accumulator = EventAccumulator(directory)
    accumulator.Reload()
    return {
        tag: [(event.step, event.value) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def expected(run):
    """What write_events.cc writes in its first run, and after it resumed at step 3."""
    steps = [(step, 0) for step in (1, 2, 3, 4)] if run == "first" else [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1)]
    return {
        "reward/pass_rate": [(step, float32(step / 10 + again)) for step, again in steps],
        "actor/lr": [(step, float32(1e-4 * step)) for step, _ in steps],
    }


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        for run in ("first", "resumed"):
            subprocess.run([program, directory, run], check=True)
            scalars = read(directory)
            loss = scalars.pop("actor/loss")
            assert [step for step, _ in loss] == [1] and math.isnan(loss[0][1]), loss
            assert scalars == expected(run), f"{run}: TensorBoard read {scalars}, expected {expected(run)}"
    print("TensorBoard read both runs as they were written")


main()
