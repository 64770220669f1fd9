# SPDX-License-Identifier: Apache-2.0

"""Measures operations of zarr-python: one operation in each process.

The only argument is a JSON object: the name of the operation, the directory of an array, and the number of rounds. The answer is a
line of JSON; "seconds" is the best time of one call.
"""

import gc
import json
import pathlib
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import zarr
from zarr.core.buffer import cpu
from zarr.storage import MemoryStore

zarr.config.set({"array.rectilinear_chunks": True})


def best(request, do, prepare=lambda: None):
    """Return the time of a call in the fastest of several rounds. Preparing a round is not measured."""
    seconds = []
    for _ in range(request["rounds"]):
        prepare()
        gc.collect()
        start = time.perf_counter()
        for _ in range(request["times"]):
            do()
        seconds.append((time.perf_counter() - start) / request["times"])
    return {"seconds": min(seconds)}


def place(request):
    """Return the directory, or a store in memory with a copy of it."""
    if not request["memory"]:
        return request["path"]
    root = pathlib.Path(request["path"])
    files = [f for f in root.rglob("*") if f.is_file()]
    return MemoryStore({f.relative_to(root).as_posix(): cpu.Buffer.from_bytes(f.read_bytes()) for f in files})


def version(request):
    return {"text": f"zarr-python {zarr.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}"}


def shrink(request):
    array = zarr.open_array(place(request), mode="r+")
    return best(request, lambda: array.resize((array.shape[0] - 1,)))


def append(request):
    array = zarr.open_array(place(request), mode="r+")
    data = np.ones((request["length"], *array.shape[1:]), array.dtype)
    return best(request, lambda: array.append(data))


def open_array(request):
    store = place(request)
    return best(request, lambda: zarr.open_array(store, mode="r"))


def point(request):
    array, i = zarr.open_array(place(request), mode="r"), request["length"]
    return best(request, lambda: array[i])


def points(request):
    """Read one element as a list of indices, which uses another look-up."""
    array, i = zarr.open_array(place(request), mode="r"), [request["length"]]
    return best(request, lambda: array.oindex[i])


def axis(request):
    return zarr.open_array(place(request), mode="r")._chunk_grid.dimensions[0]


def indices(request):
    return np.fromfile(request["indices"], dtype="<i8")


def find(request):
    look, every = axis(request).index_to_chunk, indices(request).tolist()

    def do():
        for i in every:
            look(i)

    return best(request, do) | {"sum": sum(map(look, every))}


def find_all(request):
    """Find the chunks of all indices in one call."""
    look, every = axis(request).indices_to_chunks, indices(request)
    return best(request, lambda: look(every)) | {"sum": int(look(every).sum())}


def held(request):
    store = place(request)
    zarr.open_array(store, mode="r")
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    arrays = [zarr.open_array(store, mode="r") for _ in range(request["times"])]
    gc.collect()
    return {"bytes": (tracemalloc.get_traced_memory()[0] - before) / len(arrays)}


def moved():
    """Return the bytes that this process has read and written so far."""
    lines = pathlib.Path("/proc/self/io").read_text().splitlines()
    return np.array([int(line.split()[1]) for line in lines[:2]])


def traffic(request):
    """Append once, and count bytes if Linux counts them."""
    array = zarr.open_array(place(request), mode="r+")
    data = np.ones((request["length"], *array.shape[1:]), array.dtype)
    first, before = moved(), moved()
    array.append(data)
    read, written = moved() - before - (before - first)
    return {"read": int(read), "written": int(written)}


def opened(request, do):
    """Return the time of a call on an open array, which every round may open again."""
    store, arrays = place(request), []

    def prepare():
        if request["cold"] or not arrays:
            arrays[:] = [zarr.open_array(store, mode="r+")]
            if not request["cold"]:
                do(arrays[0])

    return best(request, lambda: do(arrays[0]), prepare)


def write_shard(request):
    array = zarr.open_array(place(request), mode="r+")
    data = np.random.default_rng(1).integers(1, 256, array.shape, array.dtype)

    def do():
        array[...] = data

    return best(request, do)


def read_shard(request):
    array = zarr.open_array(place(request), mode="r")
    return best(request, lambda: array[...])


def write_inner(request):
    values = np.ones((4, 4, 4), np.uint8)

    def do(array):
        values[...] = values % 200 + 1
        array[4:8, 8:12, 4:8] = values

    return opened(request, do)


def read_element(request):
    return opened(request, lambda array: array[5, 9, 6])


def read_inner(request):
    """Read inner chunks, by their numbers in C order, in several threads."""
    every, arrays = indices(request).tolist(), []

    def prepare():
        arrays[:] = [zarr.open_array(request["path"], mode="r")]

    def read(k):
        at = [64 * int(i) for i in np.unravel_index(k, [n // 64 for n in arrays[0].shape])]
        arrays[0][tuple(slice(i, i + 64) for i in at)]

    def do():
        with ThreadPoolExecutor(request["readers"]) as readers:
            list(readers.map(read, every))

    return best(request, do, prepare)


operations = (
    *(version, shrink, append, open_array, point, points, find, find_all, held, traffic),
    *(write_shard, read_shard, write_inner, read_element, read_inner),
)
request = json.loads(sys.argv[1])
if request["pipeline"]:
    zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline." + request["pipeline"]})
print(json.dumps({f.__name__: f for f in operations}[request["op"]](request)))
