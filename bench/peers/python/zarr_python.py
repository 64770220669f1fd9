# SPDX-License-Identifier: Apache-2.0

"""Does the work of the benchmarks with zarr-python, as its documentation advises."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import obstore.store
import protocol
import zarr
import zarr.storage


def configure(request):
    zarr.config.set({"array.rectilinear_chunks": True})
    if request.get("pipeline") == "fused":
        zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"})
    if request.get("concurrency") and not request.get("regions"):
        zarr.config.set({"async.concurrency": request["concurrency"]})


def store(location, request, mode):
    """The store of a folder, or of a bucket through the client that the request names."""
    if not location.startswith("s3:"):
        return location
    if request["client"] == "obstore":
        bucket, path = location.removeprefix("s3://").split("/", 1)
        client = obstore.store.S3Store(
            bucket, prefix=path, endpoint=os.environ["AWS_ENDPOINT_URL"], client_options={"allow_http": True},
            virtual_hosted_style_request=False,
        )
        return zarr.storage.ObjectStore(client, read_only=mode == "r")
    options = {"endpoint_url": os.environ["AWS_ENDPOINT_URL"]}
    if request.get("concurrency"):
        options["config_kwargs"] = {"max_pool_connections": max(32, request["concurrency"])}
    return zarr.storage.FsspecStore.from_url(location, storage_options=options, read_only=mode == "r")


def array(location, request, mode="r"):
    return zarr.open_array(store(location, request, mode), mode=mode)


def read_all(request):
    timer = protocol.Timer()
    return protocol.checked(timer, array(request["store"], request)[...])


def read_points(request):
    points = protocol.points(request)
    timer = protocol.Timer()
    return protocol.checked(timer, array(request["store"], request).vindex[points])


def read_regions(request):
    boxes, total = protocol.regions(request), protocol.Sum(request.get("check", 0))
    timer = protocol.Timer()
    a = array(request["store"], request)
    with ThreadPoolExecutor(request["concurrency"]) as pool:
        for _ in pool.map(lambda i: total.add(i, a[boxes[i]]), range(len(boxes))):
            pass
    return timer.stop() | total.answer()


def copy(request):
    timer = protocol.Timer()
    a = array(request["store"], request)
    array(request["target"], request, "r+")[...] = a[...]
    if request.get("sync"):
        protocol.sync(request["target"])
    return timer.stop() | {"bytes": a.nbytes}


def append(request):
    if request.get("sync"):
        raise protocol.Unsupported("nothing that it writes is synced")
    timer = protocol.Timer()
    a, n = array(request["target"], request, "r+"), 0
    for _ in range(request["count"]):
        plane = np.full((1, *a.shape[1:]), a.shape[0], "f4")
        a.append(plane, axis=0)
        n += plane.nbytes
    return timer.stop() | {"bytes": n}


def open_array(request):
    def once():
        a = array(request["store"], request)
        return a[tuple(slice(n - 1, n) for n in a.shape)]

    values, answer = protocol.repeat(once)
    total = protocol.Sum()
    total.add(0, values)
    return answer | total.answer()


def members(request):
    def once():
        return sum(sum(a.shape) for _, a in zarr.open_group(store(request["store"], request, "r"), mode="r").arrays())

    value, answer = protocol.repeat(once)
    total = protocol.Sum()
    total.add(0, np.array([value], "<u8"))
    return answer | total.answer() | {"bytes": 0}


def main(request_work):
    def work(request):
        configure(request)
        return request_work(request)

    return work


if __name__ == "__main__":
    works = {
        "read-all": read_all, "read-regions": read_regions, "read-points": read_points, "copy": copy, "append": append,
        "open": open_array, "members": members,
    }
    protocol.serve({name: main(work) for name, work in works.items()})
