# SPDX-License-Identifier: Apache-2.0

"""archive.py DIR VARVE [OBJECTS] copies an array of small chunks from a folder into an
archive with Varve, with zarr-python from a LocalStore into a ZipStore, and with tar, three
times in turns, and prints seconds and processor seconds. Python's are without its imports."""

import asyncio
import os
import resource
import subprocess
import sys
import time

import numpy as np
import zarr
from zarr.core.buffer import default_buffer_prototype


async def copy(source, archive):
    prototype = default_buffer_prototype()
    store = zarr.storage.LocalStore(source, read_only=True)
    made = zarr.storage.ZipStore(archive, mode="w")
    async for key in store.list():
        await made.set(key, await store.get(key, prototype))
    made.close()


def timed(command):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if command[0] == sys.executable:
        return tuple(float(n) for n in out.split())
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(folder, varve, objects="50000"):
    n, source, archive = int(objects), f"{folder}/source.zarr", f"{folder}/made.zip"
    if not os.path.exists(source):
        a = zarr.create_array(source, shape=(n * 1000,), chunks=(1000,), dtype="f4", compressors=None)
        values = np.random.default_rng(1).normal(size=1_000_000).astype("f4")
        for i in range(0, n * 1000, len(values)):
            a[i:i + len(values)] = values[:n * 1000 - i]
    programs = dict(varve=[varve, "copy", source, archive], zarr=[sys.executable, "-W", "ignore", __file__, "copy", source, archive],
                    tar=["tar", "-C", source, "-cf", archive, "."])
    best = {}
    for _ in range(3):
        for name, command in programs.items():
            if os.path.exists(archive):
                os.remove(archive)
            now = timed(command)
            best[name] = min(best.get(name, now), now)
    for name, (seconds, busy) in best.items():
        print(f"{n} objects, {name}: {seconds:.2f} s, of processors {busy:.2f} s; {seconds / best['varve'][0]:.2f} and {busy / best['varve'][1]:.2f} times Varve's")


if __name__ == "__main__":
    if sys.argv[1] == "copy":
        start = time.perf_counter(), time.process_time()
        asyncio.run(copy(*sys.argv[2:]))
        print(time.perf_counter() - start[0], time.process_time() - start[1])
    else:
        main(*sys.argv[1:])
