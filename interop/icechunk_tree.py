# SPDX-License-Identifier: Apache-2.0

"""Writes and reads a hierarchy in a repository of Icechunk with xarray and zarr-python, on the store of the reference.

    python icechunk_tree.py FOLDER          reads the branch main
    python icechunk_tree.py FOLDER write    makes a repository by xarray first

It prints JSON: for both programs, the nodes by path, each with attributes and, for an array, dimensions, shape and elements.
"""

import hashlib
import json
import os
import sys

os.environ.setdefault("ICECHUNK_LOG", "error")

import icechunk  # noqa: E402
import numpy as np  # noqa: E402
import xarray  # noqa: E402
import zarr  # noqa: E402

zarr.config.set({"array.rectilinear_chunks": True})


def digest(values):
    """The hash of elements: little-endian bytes, or a list of text in hexadecimal."""
    values = np.asarray(values)
    if values.dtype.kind in "OT":
        data = json.dumps([str(v).encode().hex() for v in values.ravel()]).encode()
    else:
        data = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes()
    return hashlib.sha256(data).hexdigest()


def facts(attributes, dimensions, values):
    return {"Attributes": attributes, "Dimensions": list(dimensions), "Shape": list(values.shape), "SHA256": digest(values)}


def by_zarr(store):
    group = zarr.open_group(store, mode="r")
    found = {"": {"Attributes": dict(group.attrs)}}
    for path, node in group.members(max_depth=None):
        attributes = dict(node.attrs)
        is_array = isinstance(node, zarr.Array)
        found[path] = facts(attributes, node.metadata.dimension_names or [], np.asarray(node[...])) if is_array else {"Attributes": attributes}
    return found


def by_xarray(store):
    found = {}
    with xarray.open_datatree(store, engine="zarr", consolidated=False, decode_cf=False) as tree:
        for node in tree.subtree:
            path = node.path.strip("/")
            found[path] = {"Attributes": dict(node.attrs)}
            for name, v in node.to_dataset(inherit=False).variables.items():
                attributes = {key: value for key, value in v.attrs.items() if key != "_FillValue"}  # xarray has decoded it
                found[f"{path}/{name}".strip("/")] = facts(attributes, v.dims, v.values)
    return found


def tree():
    """A tree of variables of many types and encodings."""
    random = np.random.default_rng(5)
    types = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "?"]
    numbers = {f"n{t}".replace("?", "b"): (("y", "x"), (random.random((7, 11)) * 100).astype(t), {"type": t}) for t in types}
    time = np.datetime64("2026-01-01", "ns") + np.arange(7) * np.timedelta64(1, "D")
    coords = {"time": ("time", time, {"standard_name": "time"}), "x": ("x", np.arange(11.0))}
    daily = xarray.Dataset(
        {
            "t2m": (("time", "x"), random.random((7, 11)), {"units": "K", "nested": {"a": [1, None, True]}, "größe": 1.5}),
            "wind": (("time", "x"), random.random((7, 11)).astype("f4")),
            "missing": ("time", np.where(np.arange(7) % 2, np.nan, 1.5)),
            "packed": (("time", "x"), random.random((7, 11)) * 100),
            "lag": ("time", np.arange(7) * np.timedelta64(3, "h")),
        },
        coords=coords,
        attrs={"title": "daily"},
    )
    daily["packed"].encoding = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 2.0, "_FillValue": -999}
    daily["wind"].encoding = {"chunks": (4, 4), "shards": (4, 8)}
    text = xarray.Dataset({"word": ("n", np.array(["", "größer", "日本"], dtype=object)), "fixed": ("n", np.array(["a", "bc", ""]))})
    text["scalar"] = ((), 3.25, {"units": "1"})
    return xarray.DataTree.from_dict(
        {"/": xarray.Dataset(attrs={"Conventions": "CF-1.11"}), "/numbers": xarray.Dataset(numbers), "/climate/daily": daily, "/text": text, "/empty": xarray.Dataset()}
    )


storage = icechunk.local_filesystem_storage(sys.argv[1])
if sys.argv[2:] == ["write"]:
    repo = icechunk.Repository.create(storage)
    session = repo.writable_session("main")
    tree().to_zarr(session.store, consolidated=False, zarr_format=3)
    session.commit("a tree of xarray")
store = icechunk.Repository.open(storage).readonly_session("main").store
print(json.dumps({"zarr": by_zarr(store), "xarray": by_xarray(store)}))
