# SPDX-License-Identifier: Apache-2.0

"""Rechunks an array with dask.array on processes of one thread. The mode is the method: p2p or tasks."""

import json
import os
import sys


def main(request):
    import dask
    import dask.array
    import zarr
    from distributed import Client, LocalCluster

    dask.config.set({"temporary-directory": request["work"], "array.rechunk.method": request["mode"]})
    # By default, chunks in between may have 128 MiB, and the buffers 1 GiB and 100 MiB. No
    # worker with half a GiB survives that.
    dask.config.set({"array.chunk-size": request["memory"] // 16})
    dask.config.set({"distributed.p2p.comm.buffer": request["memory"] // 8, "distributed.p2p.storage.buffer": request["memory"] // 8})
    cluster = LocalCluster(
        n_workers=request["workers"], threads_per_worker=1, memory_limit=request["memory"], processes=True, dashboard_address=None
    )
    with cluster, Client(cluster):
        a = dask.array.from_zarr(os.path.join(request["source"], "values"))
        target = zarr.create_array(
            request["target"], shape=a.shape, chunks=request["chunks"], dtype=a.dtype, fill_value=0, compressors=zarr.codecs.ZstdCodec(level=1) if request["compressed"] else None
        )
        a.rechunk(tuple(request["chunks"])).to_zarr(target)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
