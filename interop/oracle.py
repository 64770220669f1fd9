# SPDX-License-Identifier: Apache-2.0

"""Runs zarr-python for requests: one JSON object in each line of input, one in each line of output.

Data goes through files, in C order and little endian. An answer is {"ok": ...} or {"error": "..."}.
"""

import json
import sys
import warnings

import numpy as np
import zarr
from zarr.codecs import ShardingCodec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.metadata.v3 import RectilinearChunkGridMetadata

zarr.config.set({"array.rectilinear_chunks": True})
warnings.simplefilter("ignore")  # data types and consolidated metadata that are not in the specification yet


held = {}  # arrays by path whose shards have an order that their metadata lack


def open_array(request):
    return held.get(request["path"]) or zarr.open_array(request["path"], mode="r+")


def pipeline(request):
    zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline." + request["pipeline"]})


def ordered(codec, order):
    """The codec. If it makes shards, it writes inner chunks in the given order."""
    if codec["name"] != "sharding_indexed":
        return codec
    configuration = dict(codec["configuration"])
    configuration["codecs"] = [ordered(c, order) for c in configuration["codecs"]]
    return ShardingCodec(**configuration, subchunk_write_order=order)


def load(request, shape, dtype):
    return np.fromfile(request["data"], dtype=dtype).reshape(shape)


def version(request):
    return zarr.__version__


def create(request):
    spec = request["spec"]
    dtype = np.dtype(spec["type"])
    array = zarr.create_array(
        request["path"],
        shape=tuple(spec["shape"]),
        dtype=dtype,
        chunks=tuple(spec["chunks"]),
        fill_value=np.frombuffer(bytes.fromhex(spec["fill"]), dtype)[0],
        filters=spec["filters"],
        serializer=ordered(spec["serializer"], spec["order"]) if spec["order"] else spec["serializer"],
        compressors=spec["compressors"],
        chunk_key_encoding=spec["keys"],
        dimension_names=spec["names"],
        attributes=spec["attributes"],
    )
    if spec["order"]:
        held[request["path"]] = array
    else:
        array.store.close()


def region(request):
    return tuple(slice(*s) for s in request["region"])


def write_part(request):
    array = open_array(request)
    shape = [len(range(*s)) for s in request["region"]]
    array[region(request)] = load(request, shape, array.dtype)


def read_part(request):
    array = zarr.open_array(request["path"], mode="r")
    np.ascontiguousarray(array[region(request)], dtype=array.dtype.newbyteorder("<")).tofile(request["data"])


def write(request):
    array = open_array(request)
    array[...] = load(request, array.shape, array.dtype)


def append(request):
    array = open_array(request)
    array.append(load(request, request["shape"], array.dtype), axis=request["axis"])


def resize(request):
    open_array(request).resize(tuple(request["shape"]))


def declared(grid):
    """Name and declared edges, written as Go writes slices."""
    if isinstance(grid, RectilinearChunkGridMetadata):
        name, axes = "rectilinear", grid.chunk_shapes
    else:
        name, axes = "regular", grid.chunk_shape
    texts = [str(a) if isinstance(a, int) else "[" + " ".join(map(str, a)) + "]" for a in axes]
    return name + " [" + " ".join(texts) + "]"


def inner_sizes(array):
    return array.read_chunk_sizes if array.metadata.sharding_codec else None


def chunk_sizes(array):
    if not array.metadata.sharding_codec and array.read_chunk_sizes != array.write_chunk_sizes:
        raise ValueError(f"chunks to read {array.read_chunk_sizes} and to write {array.write_chunk_sizes}")
    return array.write_chunk_sizes


def read(request):
    if request["member"]:
        array = zarr.open_consolidated(request["path"], mode="r")[request["member"]]
    else:
        array = zarr.open_array(request["path"], mode="r")
    np.ascontiguousarray(array[...], dtype=array.dtype.newbyteorder("<")).tofile(request["data"])
    return {
        "shape": array.shape,
        "type": str(array.dtype),
        "grid": declared(array.metadata.chunk_grid),
        "sizes": chunk_sizes(array),
        "inner": inner_sizes(array),
        "fill": np.asarray(array.fill_value, array.dtype).tobytes().hex(),
        "names": array.metadata.dimension_names,
        "attributes": dict(array.attrs),
    }


kept = {}  # arrays by path that stay open


def keep(request):
    kept[request["path"]] = zarr.open_array(request["path"], mode="r")


def read_kept(request):
    array = kept[request["path"]]
    np.ascontiguousarray(array[...], dtype=array.dtype.newbyteorder("<")).tofile(request["data"])


def create_group(request):
    zarr.create_group(request["path"], attributes=request["attributes"])


def members(request):
    if request["consolidated"]:
        group = zarr.open_consolidated(request["path"], mode="r")
    else:
        group = zarr.open_group(request["path"], mode="r", use_consolidated=False)
    found = group.members(max_depth=None)
    kinds = {path: "group" if isinstance(node, zarr.Group) else "array" for path, node in found}
    return {"attributes": dict(group.attrs), "members": kinds}


def consolidate(request):
    zarr.consolidate_metadata(request["path"])


def consolidated(request):
    """The documents in the consolidated metadata of a group, as zarr-python writes them."""
    group = zarr.open_consolidated(request["path"], mode="r")
    nodes = group.metadata.consolidated_metadata.flattened_metadata
    prototype = default_buffer_prototype()
    return {path: json.loads(node.to_buffer_dict(prototype)["zarr.json"].to_bytes()) for path, node in nodes.items()}


def auto(request):
    """Chunk shapes that zarr-python chooses for arrays of byte strings of the given sizes."""
    chosen = []
    for case in request["cases"]:
        dtype = np.dtype(f"S{case['size']}")
        array = zarr.create_array({}, shape=tuple(case["shape"]), dtype=dtype, chunks="auto")
        chosen.append(array.chunks)
    return chosen


operations = {
    f.__name__: f
    for f in (
        *(version, pipeline, create, write, write_part, append, resize, read, read_part, keep, read_kept),
        *(create_group, members, consolidate, consolidated, auto),
    )
}

for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = {"ok": operations[request["op"]](request)}
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
