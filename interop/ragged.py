# SPDX-License-Identifier: Apache-2.0

"""Reads sets of rows of unequal lengths with anndata, awkward and xarray, and writes some.

ragged.py read DIR prints the rows of DIR/csr.zarr and DIR/cf.zarr as JSON.
ragged.py write DIR writes DIR/anndata.zarr and DIR/xarray.zarr, with rows that it prints.
"""

import json
import os
import sys

import anndata
import awkward
import numpy
import scipy.sparse
import xarray
import zarr

zarr.config.set({"array.rectilinear_chunks": True})


def read(folder):
    csr = anndata.io.read_elem(zarr.open_group(os.path.join(folder, "csr.zarr"), mode="r"))
    assert isinstance(csr, scipy.sparse.csr_matrix), type(csr)
    counts = numpy.diff(csr.indptr)
    ds = xarray.open_zarr(os.path.join(folder, "cf.zarr"), consolidated=False)
    size = next(v for v in ds.variables.values() if "sample_dimension" in v.attrs)
    return {
        "shape": csr.shape,
        "indices": awkward.unflatten(csr.indices, counts).to_list(),
        "data": awkward.unflatten(csr.data, counts).to_list(),
        "lat": awkward.unflatten(ds["lat"].values, size.values).to_list(),
        "id": ds["id"].values.tolist(),
        "dims": [list(ds["lat"].dims), list(size.dims)],
    }


def write(folder):
    rows = [[1.0, 2.0], [], [3.0, 4.0, 5.0]]
    flat = numpy.concatenate([numpy.asarray(r, dtype="float32") for r in rows])
    counts = numpy.array([len(r) for r in rows])
    offsets = numpy.concatenate([[0], numpy.cumsum(counts)])
    columns = numpy.array([0, 2, 1, 3, 5])
    matrix = scipy.sparse.csr_matrix((flat, columns, offsets), shape=(3, 7))
    group = zarr.open_group(os.path.join(folder, "anndata.zarr"), mode="w")
    anndata.io.write_elem(group, "X", matrix)
    ds = xarray.Dataset(
        {"lat": ("obs", flat), "id": ("row", numpy.array([7, 8, 9], dtype="int32")),
         "row_size": ("row", counts, {"sample_dimension": "obs"})})
    ds.to_zarr(os.path.join(folder, "xarray.zarr"), mode="w", consolidated=False)
    return {"rows": rows, "columns": [[0, 2], [], [1, 3, 5]]}


print(json.dumps({"read": read, "write": write}[sys.argv[1]](sys.argv[2])))
