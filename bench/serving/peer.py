# SPDX-License-Identifier: Apache-2.0

"""Serves an array over HTTP, cut into regular chunks: peer.py zarr|xpublish ARRAY CHUNKS.

CHUNKS is a shape such as 31x90x180. "zarr" is a small ASGI application around zarr-python, "xpublish" is xpublish with its plugin for Zarr
and dask. Both are run by uvicorn with uvloop. The first line on standard error is "listening on http://ADDRESS/", below which the chunks are.
"""

import logging
import socket
import sys

import numpy as np
import uvicorn
import zarr

zarr.config.set({"array.rectilinear_chunks": True})


def small(path, chunks):
    """Returns an application that reads the part of a chunk, and encodes it with zstd."""
    from numcodecs.zstd import Zstd
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    array, codec = zarr.open_array(path, mode="r"), Zstd(level=1)

    def chunk(request):  # starlette calls it in a thread
        index = [int(n) for n in request.path_params["index"].split("/")]
        part = array[tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, chunks))]
        if part.shape != chunks:
            whole = np.zeros(chunks, part.dtype)
            whole[tuple(slice(0, n) for n in part.shape)] = part
            part = whole
        return Response(codec.encode(np.ascontiguousarray(part)), media_type="application/octet-stream")

    return Starlette(routes=[Route("/c/{index:path}", chunk)]), ""


def published(path, chunks):
    """Returns the application of xpublish for a dataset of one variable."""
    import dask.array
    import xarray
    import xpublish
    from xpublish_zarr import ZarrPlugin

    array = zarr.open_array(path, mode="r")

    class Plain:
        """Hides the attribute chunks, which zarr-python refuses to give for unequal chunks."""

        shape, dtype, ndim = array.shape, array.dtype, array.ndim

        def __getitem__(self, where):
            return array[where]

    data = dask.array.from_array(Plain(), chunks=chunks, asarray=False, name=False)
    rest = xpublish.Rest({"data": xarray.Dataset({"v": (("t", "y", "x"), data)})}, plugins={"zarr": ZarrPlugin()})
    return rest.app, "datasets/data/zarr/v/"


def main():
    name, path, shape = sys.argv[1:]
    chunks = tuple(int(n) for n in shape.split("x"))
    app, below = {"zarr": small, "xpublish": published}[name](path, chunks)
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/{below}", file=sys.stderr, flush=True)
    logging.getLogger("uvicorn.access").disabled = True
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


main()
