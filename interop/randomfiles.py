# SPDX-License-Identifier: Apache-2.0

"""Random groups of zarr-python, and the files that varve export makes of them.

  write DIR SEED COUNT   writes the groups DIR/N.zarr, and prints a line for each file to
                         export: the node, the format and the file
  read DIR SEED COUNT    reads the files by the libraries of their formats, and compares
                         their values, types and attributes with the groups

netCDF4 reads NetCDF-4 and the classic formats, and h5py what is NetCDF-4; rasterio and
tifffile read GeoTIFF, and pyarrow Parquet and Arrow.
"""

import sys

import h5py
import netCDF4
import numpy as np
import rasterio
import tifffile
import zarr

zarr.config.set({"array.rectilinear_chunks": True})
CLASSIC = ["i1", "i2", "i4", "f4", "f8"]
NUMBERS = CLASSIC + ["u1", "u2", "u4", "u8", "i8"]
TEXT = ["", "a", "größer", "a longer text " * 5, "\U0001f30d"]


def attributes(r):
    every = dict(units="K", title="größer", count=int(r.integers(-9, 2**31 - 1)), ratio=float(r.normal()), range=[1, 2, 3], empty="")
    return {k: v for k, v in every.items() if r.random() < 0.4}


def edges(r, length):
    """Chunks of an axis, as a length or as a list of them."""
    if r.random() < 0.5:
        return int(r.integers(1, length + 3))
    cuts = sorted({0, length, *(int(n) for n in r.integers(0, length + 1, r.integers(0, 5)))})
    return [b - a for a, b in zip(cuts, cuts[1:])]


def groups(seed, count):
    """Yields what is in each group: attributes, and arrays with their dimensions."""
    for n in range(count):
        r = np.random.default_rng([seed, n])
        lengths = dict(time=int(r.integers(1, 60)), y=int(r.integers(1, 90)), x=int(r.integers(1, 90)))
        classic, arrays = r.random() < 0.3, {}
        for i in range(r.integers(1, 5)):
            rank = int(r.integers(0, 4))
            dims = sorted(r.choice(list(lengths), rank, replace=False).tolist(), key=list(lengths).index)
            shape = tuple(lengths[d] for d in dims)
            kind = str(r.choice(CLASSIC if classic else NUMBERS + ["?", "T"]))
            if kind == "T":
                values = r.choice(TEXT, shape).astype(np.dtypes.StringDType()) if rank else np.array("text", np.dtypes.StringDType())
            elif kind[0] == "f":
                values = np.asarray(r.normal(size=shape) * 10.0 ** int(r.integers(-3, 9))).astype(kind)
                values[r.random(shape) < 0.05] = np.nan
            elif kind == "?":
                values = np.asarray(r.random(shape) < 0.5)
            else:
                low, high = np.iinfo(kind).min, np.iinfo(kind).max
                values = np.asarray(r.integers(low, high, shape, dtype=kind, endpoint=True) if r.random() < 0.5 else r.integers(0, 5, shape)).astype(kind)
            arrays[f"v{i}"] = (dims, values, attributes(r))
        yield n, r, classic, attributes(r), arrays


def write(root, seed, count):
    for n, r, classic, attrs, arrays in groups(int(seed), int(count)):
        node, form = f"{root}/{n}.zarr", int(r.choice([2, 3, 3]))
        group = zarr.create_group(node, zarr_format=form, attributes=attrs)
        for name, (dims, values, attrs) in arrays.items():
            chunks = tuple(edges(r, n) for n in values.shape)
            if form == 2 or any(isinstance(c, int) for c in chunks):
                chunks = tuple(c if isinstance(c, int) else max(c) for c in chunks)
            how = dict(chunks=chunks) if values.ndim else {}
            if form == 3 and values.ndim and all(isinstance(c, int) for c in chunks) and r.random() < 0.3:
                how["shards"] = tuple(c * 2 for c in chunks)
            if form == 3:
                how["dimension_names"] = dims
            a = group.create_array(name, shape=values.shape, dtype=values.dtype, attributes=attrs | ({"_ARRAY_DIMENSIONS": dims} if form == 2 else {}), **how)
            a[...] = values
        out = f"{root}/{n}"
        print(f"{node}\tnetcdf4\t{out}.nc")
        if classic:
            for name in ("netcdf3", "netcdf3-64", "cdf5"):
                print(f"{node}\t{name}\t{out}.{name}")
        for name, (dims, values, _) in arrays.items():
            if dims[-2:] == ["y", "x"] and values.dtype.kind in "iufb":
                for name_ in ("cog", "geotiff"):
                    print(f"{node}/{name}\t{name_}\t{out}.{name}.{name_}.tif")


def same(what, got, want):
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind == "O" or want.dtype.kind in "TO":
        alike = got.shape == want.shape and got.astype(object).tolist() == want.astype(object).tolist()
    else:
        alike = got.dtype.newbyteorder("=") == want.dtype and np.array_equal(got, want, equal_nan=want.dtype.kind == "f")
    if not alike:
        sys.exit(f"{what}: {got.dtype} {got}\nwant {want.dtype} {want}")


def netcdf(file, attrs, arrays):
    with netCDF4.Dataset(file) as d:
        d.set_auto_mask(False)
        d.set_auto_maskandscale(False)
        check_attributes(file, d, attrs)
        for name, (dims, values, attrs) in arrays.items():
            v = d[name]
            if list(v.dimensions) != dims:
                sys.exit(f"{file} {name}: dimensions {v.dimensions}, want {dims}")
            same(f"{file} {name}", v[...], values.astype("i1") if values.dtype.kind == "b" else values)
            check_attributes(f"{file} {name}", v, attrs)


def check_attributes(what, node, attrs):
    for key, want in attrs.items():
        got = node.getncattr(key)
        if isinstance(want, str) != isinstance(got, str) or not np.array_equal(got, want):
            sys.exit(f"{what}: attribute {key} is {got!r}, want {want!r}")


def hdf5(file, arrays):
    with h5py.File(file) as d:
        for name, (dims, values, _) in arrays.items():
            if values.dtype.kind == "T":
                same(f"{file} {name} by h5py", d[name].asstr()[()], values)
            elif values.dtype.kind != "b":
                same(f"{file} {name} by h5py", d[name][()], values)


def image(file, values):
    values = values.astype("u1") if values.dtype.kind == "b" else values
    with rasterio.open(file) as f:
        same(file, f.read() if values.ndim == 3 else f.read(1), values)
    pages = tifffile.imread(file, key=0)
    if pages.ndim == values.ndim:
        same(f"{file} by tifffile", pages, values)


def read(root, seed, count):
    files = 0
    for n, _, classic, attrs, arrays in groups(int(seed), int(count)):
        netcdf(f"{root}/{n}.nc", attrs, arrays)
        hdf5(f"{root}/{n}.nc", arrays)
        files += 1
        if classic:
            for name in ("netcdf3", "netcdf3-64", "cdf5"):
                netcdf(f"{root}/{n}.{name}", attrs, arrays)
                files += 1
        for name, (dims, values, _) in arrays.items():
            if dims[-2:] == ["y", "x"] and values.dtype.kind in "iufb":
                for form in ("cog", "geotiff"):
                    image(f"{root}/{n}.{name}.{form}.tif", values)
                    files += 1
    print(files)


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
