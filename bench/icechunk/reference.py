# SPDX-License-Identifier: Apache-2.0

"""Makes one measurement with the reference of Icechunk.

Usage: reference.py ROW REPOSITORY [NUMBER]

Prints JSON: seconds, the peak of memory in bytes, and a number that tells that the work
was done. The row "init" makes an empty repository whose manifests are not split.
"""

import asyncio
import datetime
import json
import os
import random
import resource
import sys
import time

os.environ.setdefault("ICECHUNK_LOG", "error")

import icechunk  # noqa: E402
import numpy as np  # noqa: E402
import zarr  # noqa: E402

row, path = sys.argv[1], sys.argv[2]
number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
storage = icechunk.local_filesystem_storage(path)
zarr.config.set({"array.rectilinear_chunks": True})


async def keys(store):
    return [key async for key in store.list()]


def init():
    split = icechunk.ManifestSplittingConfig.from_dict(
        {icechunk.ManifestSplitCondition.AnyArray(): {icechunk.ManifestSplitDimCondition.Any(): 4294967295}}
    )
    container = icechunk.VirtualChunkContainer("file:///elsewhere/", icechunk.local_filesystem_store("/elsewhere"))
    config = icechunk.RepositoryConfig(manifest=icechunk.ManifestConfig(splitting=split))
    config.set_virtual_chunk_container(container)
    icechunk.Repository.create(storage, config=config).save_config()
    return 0, 0


def listing():
    start = time.perf_counter()
    store = icechunk.Repository.open(storage).readonly_session("main").store
    n = len(asyncio.run(keys(store)))
    return time.perf_counter() - start, n


def arrays():
    start = time.perf_counter()
    store = icechunk.Repository.open(storage).readonly_session("main").store
    n = sum(1 for _ in zarr.open_group(store, mode="r").arrays())
    return time.perf_counter() - start, n


def first():
    start = time.perf_counter()
    store = icechunk.Repository.open(storage).readonly_session("main").store
    value = zarr.open_array(store, path="a", mode="r")[number]
    return time.perf_counter() - start, int(value)


def lookup():
    store = icechunk.Repository.open(storage).readonly_session("main").store
    array = zarr.open_array(store, path="a", mode="r")
    n = array.shape[0]
    for i in range(0, n, 1000):
        array[i]
    draw = random.Random(1)
    places = [draw.randrange(n) for _ in range(200)]
    start = time.perf_counter()
    for i in places:
        array[i]
    return (time.perf_counter() - start) / len(places), len(places)


def cube():
    store = icechunk.Repository.open(storage).readonly_session("main").store
    array = zarr.open_array(store, path="cube", mode="r")
    start = time.perf_counter()
    values = array[...]
    return time.perf_counter() - start, int(values[-1, -1, -1])


def commit():
    repo = icechunk.Repository.open(storage)
    session = repo.writable_session("main")
    n = zarr.open_array(session.store, path="v", mode="r").shape[0]
    salt = random.randrange(1 << 30)
    specs = [icechunk.VirtualChunkSpec([i], f"file:///elsewhere/{salt}/{i}", 0, 4) for i in range(n - number, n)]
    session.store.set_virtual_refs("v", specs, validate_containers=False)
    start = time.perf_counter()
    session.commit("change")
    return time.perf_counter() - start, number


def append():
    start = time.perf_counter()
    repo = icechunk.Repository.open(storage)
    session = repo.writable_session("main")
    group = zarr.open_group(session.store, mode="a")
    day = np.arange(100 * 100, dtype="float32").reshape(1, 100, 100)
    for _, array in group.arrays():
        array.append(day)
    session.commit("a day")
    return time.perf_counter() - start, 10


def log():
    start = time.perf_counter()
    n = sum(1 for _ in icechunk.Repository.open(storage).ancestry(branch="main"))
    return time.perf_counter() - start, n


def gc():
    repo = icechunk.Repository.open(storage)
    start = time.perf_counter()
    done = repo.garbage_collect(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1))
    return time.perf_counter() - start, done.chunks_deleted


seconds, done = {f.__name__: f for f in (init, listing, arrays, first, lookup, cube, commit, append, log, gc)}[row]()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak": peak, "done": done}))
