# SPDX-License-Identifier: Apache-2.0

"""Does the work of the benchmarks with TensorStore, as its documentation advises."""

import asyncio
import os

import numpy as np
import protocol
import tensorstore as ts


def spec(location, request):
    """The array and what it is opened with; other resources keep their defaults, as a cache without room."""
    context = {"file_io_sync": bool(request.get("sync"))}
    if request.get("concurrency"):
        # For regions at least as many as there are by default, so that each that is read at a time can have a request.
        least = 32 if request.get("regions") else 1
        context["http_request_concurrency"] = {"limit": max(least, request["concurrency"])}
        context["s3_request_concurrency"] = context["http_request_concurrency"]
    if location.startswith("s3:"):
        bucket, path = location.removeprefix("s3://").split("/", 1)
        store = {
            "driver": "s3", "bucket": bucket, "path": path + "/", "endpoint": os.environ["AWS_ENDPOINT_URL"],
            "aws_region": os.environ["AWS_REGION"], "aws_credentials": {"type": "environment"},
        }
    elif location.startswith("http:"):
        root, path = location.split("/", 3)[:3], location.split("/", 3)[3]
        store = {"driver": "http", "base_url": "/".join(root), "path": f"/{path}/"}
    else:
        store = {"driver": "file", "path": location + "/"}
    return {"driver": "zarr3", "kvstore": store, "context": context}


def array(location, request):
    return ts.open(spec(location, request), open=True)


def read_all(request):
    timer = protocol.Timer()
    return protocol.checked(timer, array(request["store"], request).result().read().result())


def read_points(request):
    points = protocol.points(request)
    timer = protocol.Timer()
    return protocol.checked(timer, array(request["store"], request).result()[points].read().result())


def read_regions(request):
    boxes, total = protocol.regions(request), protocol.Sum(request.get("check", 0))

    async def work():
        a = await array(request["store"], request)

        async def one(i):
            total.add(i, await a[boxes[i]].read())

        await flying(one, len(boxes), request["concurrency"])

    timer = protocol.Timer()
    asyncio.run(work())
    return timer.stop() | total.answer()


async def flying(one, count, n):
    """Runs one(0) to one(count-1), n at a time."""
    left = iter(range(count))

    async def worker():
        for i in left:
            await one(i)

    await asyncio.gather(*(worker() for _ in range(n)))


def copy(request):
    boxes = protocol.regions(request)
    size = 0

    async def work():
        nonlocal size
        a, b = await array(request["store"], request), await array(request["target"], request)
        size = a.size * a.dtype.numpy_dtype.itemsize

        async def one(i):
            await b[boxes[i]].write(await a[boxes[i]].read())

        await flying(one, len(boxes), request["concurrency"])

    timer = protocol.Timer()
    asyncio.run(work())
    return timer.stop() | {"bytes": size}


def append(request):
    timer = protocol.Timer()
    a, n = array(request["target"], request).result(), 0
    for _ in range(request["count"]):
        days = a.shape[0]
        a = a.resize(exclusive_max=[days + 1, *a.shape[1:]]).result()
        plane = np.full(a.shape[1:], days, "f4")
        a[days].write(plane).result()
        n += plane.nbytes
    return timer.stop() | {"bytes": n}


def open_array(request):
    def once():
        a = array(request["store"], request).result()
        return a[tuple(slice(n - 1, n) for n in a.shape)].read().result()

    values, answer = protocol.repeat(once)
    total = protocol.Sum()
    total.add(0, values)
    return answer | total.answer()


def members(request):
    raise protocol.Unsupported("it knows no groups")


if __name__ == "__main__":
    protocol.serve({
        "read-all": read_all, "read-regions": read_regions, "read-points": read_points, "copy": copy, "append": append,
        "open": open_array, "members": members,
    })
