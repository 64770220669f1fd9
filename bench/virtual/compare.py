# SPDX-License-Identifier: Apache-2.0

"""Scans NetCDF-4 files with varve, kerchunk and VirtualiZarr, and joins them along time.

The arguments are the command varve, the number of files, and the file of the result. The programs take turns. Each is a process of its own;
the time is that of scanning and joining, without starting Python and importing. Varve's is that of the whole command.
"""

import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3


def make(folder, count):
    import netCDF4
    import numpy as np

    random = np.random.default_rng(1)
    for i in range(count):
        with netCDF4.Dataset(os.path.join(folder, f"{i:05}.nc"), "w") as f:
            f.createDimension("time", None)
            f.createDimension("lat", 90)
            f.createDimension("lon", 180)
            t = f.createVariable("time", "f8", ("time",))
            t.units, t[:] = "hours since 2000-01-01", np.arange(24) + 24 * i
            f.createVariable("lat", "f4", ("lat",))[:] = np.arange(90)
            f.createVariable("lon", "f4", ("lon",))[:] = np.arange(180)
            for name in ["t2m", "u10", "v10"]:
                v = f.createVariable(name, "f4", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=(6, 45, 90))
                v[:] = random.standard_normal((24, 90, 180)).round(1)


def kerchunk(files):
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.hdf import SingleHdf5ToZarr

    begin = time.perf_counter()
    references = [SingleHdf5ToZarr(f).translate() for f in files]
    MultiZarrToZarr(references, concat_dims=["time"], identical_dims=["lat", "lon"], remote_protocol="file").translate()
    return time.perf_counter() - begin


def virtualizarr(files):
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_mfdataset
    from virtualizarr.parsers import HDFParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    begin = time.perf_counter()
    open_virtual_mfdataset(
        ["file://" + f for f in files], registry=registry, parser=HDFParser(), combine="nested", concat_dim="time",
        coords="minimal", compat="override", data_vars="minimal",
    )
    return time.perf_counter() - begin


def varve(command, folder, files):
    out = os.path.join(folder, "out.vz")
    begin = time.perf_counter()
    subprocess.run([command, "virtualize", "-", "--concat", "time", "-o", out], input="\n".join(files), text=True, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    subprocess.run(["rm", "-r", out], check=True)
    return seconds


def main(command, count, result):
    with tempfile.TemporaryDirectory() as folder:
        make(folder, count)
        files = sorted(glob.glob(os.path.join(folder, "*.nc")))
        times = {"varve": [], "kerchunk": [], "virtualizarr": []}
        for _ in range(ROUNDS):
            times["varve"].append(varve(command, folder, files))
            for name in ["kerchunk", "virtualizarr"]:
                c = subprocess.run([sys.executable, "-W", "ignore", __file__, name], input=json.dumps(files), text=True, check=True, capture_output=True)
                times[name].append(float(c.stdout))
    version = subprocess.run([command, "version"], text=True, check=True, capture_output=True).stdout.split("\n")[0]
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    own = statistics.median(times["varve"])
    with open(result, "w") as f:
        f.write(
            f"# Other people's files\n\n## Scanning\n\n{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores of {cpu}. {version}, kerchunk 0.2.10, VirtualiZarr 2.8.0 with obstore 0.12.1.\n\n"
            f"{count} NetCDF-4 files in a folder, each with three arrays of 16 chunks and their coordinates, are scanned and joined along time. The\n"
            f"programs take turns, {ROUNDS} rounds; the files are in the system's cache. The times of the Python programs begin after their imports; that of\n"
            "Varve is of the whole command, which also writes the manifest. `sh bench/virtual/run` repeats this.\n\n"
            "| | seconds, median | fastest | slowest | a file | ÷ varve |\n|---|--:|--:|--:|--:|--:|\n"
        )
        for name, list in times.items():
            median = statistics.median(list)
            f.write(f"| {name} | {median:.3g} | {min(list):.3g} | {max(list):.3g} | {1000 * median / count:.3g} ms | {median / own:.1f} |\n")


if sys.argv[1] in ["kerchunk", "virtualizarr"]:
    print({"kerchunk": kerchunk, "virtualizarr": virtualizarr}[sys.argv[1]](json.load(sys.stdin)))
else:
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
