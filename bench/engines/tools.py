# SPDX-License-Identifier: Apache-2.0

"""The programs that are compared, and the commands that they consist of."""

import dataclasses
import json
import os

# One thread for each worker, also in libraries that would take one for each core.
SINGLE = {name: "1" for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ZARR_THREADING__MAX_WORKERS"]}

# BESIDE is what Varve needs beside --memory, as docs/rechunking.md says.
BESIDE = 32 << 20


@dataclasses.dataclass
class Job:
    """One array to rechunk. All locations are paths."""

    source: str  # a group with the array values, in format 3
    older: str  # the same in format 2
    target: str
    work: str  # an empty folder for plans and scratch
    chunks: list
    workers: int
    memory: int  # bytes that each worker may use
    compressed: bool  # by zstd, in source and target


@dataclasses.dataclass
class Tool:
    name: str
    steps: object  # of Tool and Job to what processes.run takes
    environment: str = ""  # the virtual environment, or "" for none
    mode: str = ""
    coordinated: bool = False  # the first process only coordinates the workers
    most: int = 0  # the most workers, or 0 for any number
    elements: float = 1  # part of the memory that is given as that of elements

    def installed(self, cache):
        needs = [os.path.join(self.environment, "bin", "python")] if self.environment else []
        needs += ["prism"] if self.mode == "prism" else []
        return all(os.path.exists(os.path.join(cache, path)) for path in needs)


def varve_one(cache):
    """Returns the steps of one process with a thread for each worker."""

    def steps(tool, job):
        return [[([*rechunk(cache, job)], {"GOMAXPROCS": str(job.workers)})]]

    return steps


def varve_shared(cache):
    """Returns the steps of one process for each worker, which share the tasks of a plan."""

    def steps(tool, job):
        plan, command = os.path.join(job.work, "p.json"), [os.path.join(cache, "varve"), "run"]
        yield [([*rechunk(cache, job), "--plan", plan], {"GOMAXPROCS": "1"})]
        with open(plan) as f:
            stages = json.load(f)["arrays"][0]["stages"]
        for number, stage in enumerate(stages):
            if stage["name"] != "publish":
                parts = [f"{k}/{job.workers}" for k in range(job.workers)]
                yield [([*command, plan, "--stage", str(number), "--task", part], {"GOMAXPROCS": "1"}) for part in parts]
        yield [([*command, plan, "--publish"], {"GOMAXPROCS": "1"})]

    return steps


def rechunk(cache, job):
    chunks = ",".join(map(str, job.chunks))
    return [os.path.join(cache, "varve"), "rechunk", os.path.join(job.source, "values"), job.target, "--chunks", chunks, "--memory", f"{(job.memory - BESIDE) >> 20}MiB"]


def peer(cache, script):
    """Returns the steps of a Python program of this folder."""

    def steps(tool, job):
        python = os.path.join(cache, tool.environment, "bin", "python")
        request = {
            "source": job.older if tool.environment == "rechunker" else job.source, "target": job.target, "work": job.work,
            "chunks": job.chunks, "workers": job.workers, "memory": job.memory, "elements": int(job.memory * tool.elements), "mode": tool.mode, "compressed": job.compressed,
            "prism": os.path.join(cache, "prism"),
        }
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
        return [[([python, "-W", "ignore", path, json.dumps(request)], SINGLE | {"TMPDIR": job.work})]]

    return steps


def all_tools(cache):
    return [
        Tool("varve, processes", varve_shared(cache)),
        Tool("varve, one process", varve_one(cache)),
        Tool("cubed, threads", peer(cache, "cubed_peer.py"), "cubed", "threads"),
        Tool("cubed, processes", peer(cache, "cubed_peer.py"), "cubed", "processes", coordinated=True),
        Tool("rechunker, python", peer(cache, "rechunker_peer.py"), "rechunker", "python", most=1, elements=0.25),
        Tool("rechunker, dask", peer(cache, "rechunker_peer.py"), "rechunker", "dask", coordinated=True, elements=0.25),
        Tool("dask, p2p", peer(cache, "dask_peer.py"), "dask", "p2p", coordinated=True),
        Tool("dask, tasks", peer(cache, "dask_peer.py"), "dask", "tasks", coordinated=True),
        Tool("xarray-beam, python", peer(cache, "beam_peer.py"), "beam", "multi_processing", coordinated=True, elements=0.25),
        Tool("xarray-beam, prism", peer(cache, "beam_peer.py"), "beam", "prism", elements=0.25),
    ]
