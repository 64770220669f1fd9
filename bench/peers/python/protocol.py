# SPDX-License-Identifier: Apache-2.0

"""What the Python programs of the benchmarks have in common: see bench/protocol."""

import json
import os
import sys
import threading
import time
import zlib

import numpy as np

LEAST = 0.2  # seconds that short work is repeated for


class Unsupported(Exception):
    """The library cannot do the work at all."""


class Sum:
    """The checksum: the CRC-32 of item i times 2i+1, modulo 2**64."""

    def __init__(self, limit=0):
        self.limit, self.total, self.bytes, self.lock = limit, 0, 0, threading.Lock()

    def add(self, i, values):
        data = memoryview(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
        crc = zlib.crc32(data[: self.limit] if self.limit else data)
        with self.lock:
            self.bytes += len(data)
            self.total = (self.total + crc * (2 * i + 1)) % 2**64

    def answer(self):
        return {"bytes": self.bytes, "checksum": f"{self.total:016x}"}


class Timer:
    def __init__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def stop(self):
        return {"seconds": time.perf_counter() - self.wall, "cpu": time.process_time() - self.cpu}


def repeat(f):
    """Calls f until LEAST seconds have passed, and returns its last value and the mean times."""
    timer, n = Timer(), 0
    while True:
        value, n = f(), n + 1
        times = timer.stop()
        if times["seconds"] >= LEAST:
            return value, {k: v / n for k, v in times.items()}


def numbers(name, width):
    return np.fromfile(name, "<i8").reshape(-1, width)


def regions(request):
    """The boxes of a request as tuples of slices."""
    rank = request["rank"]
    rows = numbers(request["regions"], 2 * rank).tolist()
    return [tuple(slice(row[k], row[rank + k]) for k in range(rank)) for row in rows]


def points(request):
    """One array of indices for every axis."""
    return tuple(np.ascontiguousarray(axis) for axis in numbers(request["points"], request["rank"]).T)


def checked(timer, values):
    """The answer of work that read values at once."""
    answer, checking, total = timer.stop(), Timer(), Sum()
    total.add(0, values)
    return answer | total.answer() | {"checking": checking.stop()["seconds"]}


def sync(folder):
    """Makes all files below a folder durable, and their names."""
    for where, _, names in os.walk(folder):
        for name in [*(os.path.join(where, n) for n in names), where]:
            descriptor = os.open(name, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def serve(works):
    """Does what the only argument asks for, and prints the answer."""
    request = json.loads(sys.argv[1])
    try:
        work = works.get(request["work"])
        if work is None:
            raise Unsupported("no such work")
        answer = work(request)
    except Unsupported as reason:
        answer = {"unsupported": str(reason)}
    except ValueError as error:
        if 'Expected "regular"' not in str(error):
            raise
        answer = {"unsupported": "it knows no rectilinear grids"}
    print(json.dumps(answer))
