# SPDX-License-Identifier: Apache-2.0

"""Rechunks an array of format 2 with rechunker. The mode is the executor: python or dask."""

import contextlib
import json
import os
import sys


def cluster(request):
    """Returns the processes that dask works on, or nothing for the executor python."""
    if request["mode"] != "dask":
        return contextlib.nullcontext()
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"temporary-directory": request["work"]})
    workers = LocalCluster(
        n_workers=request["workers"], threads_per_worker=1, memory_limit=request["memory"], processes=True, dashboard_address=None
    )
    stack = contextlib.ExitStack()
    stack.enter_context(workers)
    stack.enter_context(Client(workers))
    return stack


def main(request):
    import numcodecs
    import zarr
    from rechunker import rechunk

    a = zarr.open(os.path.join(request["source"], "values"), mode="r")
    with cluster(request):
        # max_mem is that of the elements which a task holds. It leaves out the compressed
        # chunks and Python itself.
        plan = rechunk(
            a, target_chunks=tuple(request["chunks"]), max_mem=request["elements"], executor=request["mode"],
            target_store=request["target"], target_options={"compressor": numcodecs.Zstd(level=1) if request["compressed"] else None},
            temp_store=os.path.join(request["work"], "temp"), temp_options={"compressor": None},
        )
        plan.execute()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
