# SPDX-License-Identifier: Apache-2.0

"""Judges the tables of Parquet and Arrow that varve export writes.

tables.py write DIR writes groups for varve to export, and prints the name of each, with a
    tab and the reason if it has to be refused.
tables.py read DIR reads DIR/NAME.FORM.EXTENSION with pyarrow, DuckDB, Polars and pandas,
    and compares rows with those of xarray and zarr-python.
tables.py pipe reads a stream of Arrow from standard input with DuckDB.
tables.py parts DIR compares files of parts with the whole.
tables.py three DIR reads the files of the first example of docs/export.md.
tables.py speed DIR makes an array of 500 MB, and times pandas with pyarrow.
"""

import datetime
import glob
import math
import os
import resource
import sys
import time
import warnings

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import xarray
import zarr

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})


def grid(n=20):
    rng = numpy.random.default_rng(1)
    t2m = rng.normal(280, 10, (n, 5, 7)).astype("float32")
    t2m[0, 0, :3] = numpy.nan
    return xarray.Dataset(
        {"t2m": (("time", "lat", "lon"), t2m, {"units": "K"}), "tp": (("time", "lat", "lon"), rng.gamma(1, 1, (n, 5, 7)))},
        {"time": pandas.date_range("2020-01-28", periods=n, freq="6h"), "lat": numpy.linspace(60, 40, 5, dtype="float32"),
         "lon": numpy.linspace(0, 30, 7), "crs": 0}, {"title": "grid"})


PACKED = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280, "_FillValue": -32767}


def write(folder):
    def at(name):
        return os.path.join(folder, name + ".zarr")

    def store(node, ds, **encoding):
        ds.to_zarr(at(node), mode="w", consolidated=False, encoding=encoding, zarr_format=3)
        print(node)

    store("grid", grid(), t2m={"chunks": (8, 5, 7)} | PACKED, tp={"chunks": (8, 5, 7)})
    store("sharded", grid(), t2m={"chunks": (2, 5, 7), "shards": (8, 5, 7)} | PACKED, tp={"chunks": (20, 1, 7)})
    grid().to_zarr(at("old"), mode="w", zarr_format=2, encoding={"t2m": {"chunks": (3, 5, 7)} | PACKED})
    print("old")
    y, x = numpy.meshgrid(numpy.arange(4.0), numpy.arange(3.0), indexing="ij")
    store("curvilinear", xarray.Dataset(
        {"v": (("k", "y", "x"), numpy.arange(24).reshape(2, 4, 3), {"_FillValue": 5})},
        {"lat": (("y", "x"), 50 + y + x / 10), "lon": (("y", "x"), x - y / 10), "name": ("x", ["a", "b", "c"])}))
    days = xarray.date_range("2001-02-27", periods=4, calendar="noleap", use_cftime=True)
    store("noleap", xarray.Dataset({"v": ("time", [1.5, math.nan, 3, 4])}, {"time": days}))
    store("empty", xarray.Dataset({"v": (("a", "b"), numpy.zeros((0, 3), "int32"))}, {"b": [1, 2, 3]}))
    store("scalar", xarray.Dataset({"v": ((), numpy.int32(7))}))
    durations = numpy.array([1, 2, "NaT"], "timedelta64[ns]")
    store("stations", xarray.Dataset(
        {"name": ("station", ["x", "", "ü"]), "height": ("station", numpy.array([1, 2, 3], "uint8")), "wait": ("station", durations)},
        {"station": [10, 20, 30]}), name={"chunks": (2,)})

    group = zarr.create_group(at("rectilinear"), overwrite=True)
    a = group.create_array("v", shape=(6, 4), chunks=[[1, 3, 2], [3, 1]], dtype="float64", dimension_names=("x", "y"), attributes={"_FillValue": "AAAAAAAA+H8="})
    values = numpy.arange(24.0).reshape(6, 4)
    values[2, 2] = numpy.nan
    a[...] = values
    print("rectilinear")

    group = zarr.create_group(at("types"), overwrite=True)
    for name, values in types().items():
        dtype = zarr.dtype.VariableLengthBytes() if name == "bytes" else values.dtype
        a = group.create_array(name, shape=values.shape, chunks=(2,), dtype=dtype, dimension_names=("row",))
        a[...] = values
    print("types")

    group = zarr.create_group(at("ragged"), overwrite=True)
    for name, values, dims, attributes in [
        ("row_size", numpy.array([2, 0, 1, 3]), ("row",), {"sample_dimension": "obs"}), ("id", numpy.array([1, 2, 3, 4], "int32"), ("row",), {}),
        ("lat", numpy.arange(6, dtype="float32"), ("obs",), {}), ("q", numpy.arange(6, dtype="int8"), ("obs",), {"_FillValue": 3}),
    ]:
        a = group.create_array(name, shape=values.shape, chunks=(3,), dtype=values.dtype, dimension_names=dims, attributes=attributes)
        a[...] = values
    print("ragged")

    record = numpy.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i2"), ("b", "<f8")])
    a = zarr.create_array(at("record"), shape=(2,), chunks=(2,), dtype=record.dtype)
    a[...] = record
    print("record")

    zarr.create_array(at("complex"), shape=(2,), chunks=(2,), dtype="complex64", dimension_names=("x",))
    print("complex\telements of type complex64 have no type in tables")
    other = grid().rename({"lat": "y"})["tp"].drop_vars("y").rename("u")
    xarray.merge([grid()["tp"], other.isel(lon=0, drop=True)]).to_zarr(at("apart"), mode="w", zarr_format=3, consolidated=False)
    print("apart\ta table has arrays that share their dimensions")


def types():
    made = {name: numpy.array([0, 1, 127], name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()}
    made["bool"] = numpy.array([True, False, True])
    made["text"] = numpy.array(["a", "", "ü…"], dtype=numpy.dtypes.StringDType())
    made["fixed"] = numpy.array(["ab", "c", ""], "U2")
    made["terminated"] = numpy.array([b"ab", b"c", b""], "S2")
    made["raw"] = numpy.array([b"abc", b"\0\1\2", b"xyz"], "V3")
    made["bytes"] = numpy.array([b"a", b"", b"\xff\0"], dtype=object)
    for unit in ["s", "ms", "us", "ns", "D"]:
        made["moment_" + unit] = numpy.array([0, 18262, "NaT"], f"datetime64[{unit}]")
        if unit != "D":
            made["length_" + unit] = numpy.array([0, -5, "NaT"], f"timedelta64[{unit}]")
    return made


def plain(v):
    """A value that compares equal across libraries. Absent values and NaN are one."""
    if isinstance(v, (list, tuple, numpy.ndarray)) and not isinstance(v, bytes):
        return tuple(plain(e) for e in v)
    if v is None or v is pandas.NaT or isinstance(v, (float, numpy.floating)) and math.isnan(v):
        return "absent"
    if isinstance(v, (numpy.datetime64, numpy.timedelta64)):
        return "absent" if numpy.isnat(v) else plain(pandas.Timestamp(v) if isinstance(v, numpy.datetime64) else pandas.Timedelta(v))
    if isinstance(v, datetime.datetime):
        return str(numpy.datetime64(v.replace(tzinfo=None), "us"))
    if isinstance(v, datetime.timedelta):
        return "length " + str(int(v.total_seconds() * 1e6 + (0.5 if v.total_seconds() >= 0 else -0.5)))
    if isinstance(v, numpy.void):
        return v.tobytes()
    if isinstance(v, numpy.generic):
        return plain(v.item())
    if hasattr(v, "isoformat"):
        return v.isoformat()[:10]
    if isinstance(v, (bool, int, float)):
        return float(v)
    return v


def rows_of(columns):
    """The rows of a table as a sorted list."""
    rows = [tuple(plain(v) for v in row) for row in zip(*columns.values())]
    return sorted(rows, key=repr)


def expected(folder, name, decoded):
    at = os.path.join(folder, name + ".zarr")
    if name == "types":
        return {k: list(v) for k, v in sorted(types().items())}
    if name == "ragged":
        return {"id": [1, 2, 3, 4], "lat": [[0, 1], [], [2], [3, 4, 5]], "q": [[0, 1], [], [2], [None, 4, 5]]}
    if name == "record":
        return {"a": [1, 3], "b": [2.5, 4.5]}
    ds = xarray.open_zarr(at, consolidated=False, decode_cf=True, mask_and_scale=decoded, decode_times=decoded, decode_timedelta=decoded)
    ds = ds.drop_vars([n for n, v in ds.variables.items() if v.ndim == 0 and len(ds.variables) > 1])
    if not decoded:
        for n, v in ds.variables.items():
            fill = v.attrs.get("_FillValue")
            if fill is not None and v.dtype.kind in "iuf":
                ds[n] = v.astype("float64").where(v != fill)
    if name == "scalar":
        return {"v": [7]}
    frame = ds.to_dataframe().reset_index()
    # A table has the coordinates of dimensions first, then others, and an index where
    # there is no coordinate, unless the table has one axis.
    return {str(c): list(frame[c]) for c in frame.columns}


def counts(v):
    """A duration as Parquet has it, which lacks the type: the number of its unit."""
    if v is pandas.NaT or isinstance(v, numpy.timedelta64) and numpy.isnat(v):
        return None
    if isinstance(v, pandas.Timedelta):
        return v.value
    return int(v.astype("int64")) if isinstance(v, numpy.timedelta64) else v


def engines(file):
    def of_arrow(table):
        return {n: table[n].to_numpy(zero_copy_only=False) if pyarrow.types.is_duration(table[n].type) or pyarrow.types.is_timestamp(table[n].type)
                else table[n].to_pylist() for n in table.column_names}

    def of_frame(frame):
        return {n: list(frame[n]) for n in frame.columns}

    if file.endswith(".parquet"):
        yield "pyarrow", of_arrow(pyarrow.parquet.read_table(file))
        yield "pandas", of_frame(pandas.read_parquet(file))
        yield "polars", {s.name: s.to_list() for s in polars.read_parquet(file)}
        result = duckdb.sql(f"select * from '{file}'")
        names = result.columns
        yield "duckdb", dict(zip(names, zip(*result.fetchall()))) if len(result) else {n: [] for n in names}
        return
    if file.endswith(".arrows"):
        yield "pyarrow", of_arrow(pyarrow.ipc.open_stream(file).read_all())
        yield "polars", {s.name: s.to_list() for s in polars.read_ipc_stream(file)}
        return
    yield "pyarrow", of_arrow(pyarrow.ipc.open_file(file).read_all())
    yield "feather", of_frame(pyarrow.feather.read_feather(file))
    if ".types." not in file:
        yield "polars", {s.name: s.to_list() for s in polars.read_ipc(file)}


def read(folder):
    count = 0
    for file in sorted(glob.glob(os.path.join(folder, "*.decoded.*")) + glob.glob(os.path.join(folder, "*.stored.*"))):
        name, form, _ = os.path.basename(file).split(".", 2)
        want = expected(folder, name, form == "decoded")
        if file.endswith(".parquet"):
            want = {n: [counts(v) for v in column] for n, column in want.items()}
        for engine, got in engines(file):
            assert sorted(got) == sorted(want), (file, engine, sorted(got), sorted(want))
            a, b = rows_of({n: got[n] for n in sorted(got)}), rows_of({n: want[n] for n in sorted(want)})
            if name == "noleap" and form == "decoded":
                a = [tuple(v[:10] if isinstance(v, str) else v for v in row) for row in a]
            for g, w in zip(a, b):
                assert g == w, (file, engine, g, w, sorted(got))
            assert len(a) == len(b), (file, engine, len(a), len(b))
            count += 1
    at = os.path.join(folder, "grid.chunks.parquet")
    f = pyarrow.parquet.ParquetFile(at)
    sizes = [f.metadata.row_group(i).num_rows for i in range(f.num_row_groups)]
    assert sizes == [280, 280, 140], sizes
    t2m = f.read()["t2m"]
    assert t2m.null_count == 3 and t2m.type == pyarrow.int16(), t2m
    # Coordinates are dictionaries, and DuckDB skips row groups by their statistics.
    assert "RLE_DICTIONARY" in f.metadata.row_group(0).column(0).encodings
    assert f.metadata.metadata[b"title"] == b"grid" and b'"units":"K"' in f.metadata.metadata[b"columns"], f.metadata.metadata
    stats = duckdb.sql(f"select row_group_id, stats_min_value, stats_max_value, stats_null_count from parquet_metadata('{at}') where path_in_schema = 'time' order by 1").fetchall()
    assert [s[1:] for s in stats] == [("0", "42", 0), ("48", "90", 0), ("96", "114", 0)], stats
    assert duckdb.sql(f"select count(*) from '{at}' where time >= 96").fetchall()[0] == (140,)
    print(count)


def pipe():
    rows = pyarrow.ipc.open_stream(sys.stdin.buffer).read_all()
    print(duckdb.sql("select count(*), count(t2m), round(avg(lat), 3) from rows").fetchall()[0])


def parts(folder):
    whole = xarray.open_zarr(os.path.join(folder, "grid.zarr"), consolidated=False)
    files = sorted(glob.glob(os.path.join(folder, "month-*.nc")))
    assert [os.path.basename(f) for f in files] == ["month-2020-01.nc", "month-2020-02.nc"], files
    months = xarray.open_mfdataset(files)
    xarray.testing.assert_equal(months.load(), whole.load())
    assert sorted(months.coords) == sorted(whole.coords)
    n = duckdb.sql(f"select count(*), sum(tp) from read_parquet('{folder}/month-*.parquet')").fetchall()[0]
    assert n[0] == whole.tp.size and math.isclose(n[1], float(whole.tp.sum())), n


def three(folder):
    import rasterio

    whole = xarray.open_zarr(os.path.join(folder, "era5.zarr"), consolidated=False).load()
    february = whole.sel(time="2020-02")
    xarray.testing.assert_equal(xarray.open_dataset(os.path.join(folder, "february.nc")).load(), february)
    with rasterio.open(os.path.join(folder, "noon.tif")) as image:
        noon = whole["t2m"].sel(time="2020-02-01T12")
        assert image.crs.to_epsg() == 4326 and image.profile["driver"] == "GTiff"
        got = image.read(1, masked=True) * image.scales[0] + image.offsets[0]
        assert numpy.allclose(got, noon.values, atol=1e-3)
    mean = duckdb.sql(f"select lat, avg(t2m) from '{folder}/era5.parquet' group by lat order by lat").fetchall()
    want = whole["t2m"].mean(["time", "lon"]).sortby("lat")
    assert numpy.allclose([m for _, m in mean], want.values), mean


def speed(folder):
    at = os.path.join(folder, "big.zarr")
    if not os.path.exists(at):
        rng = numpy.random.default_rng(0)
        ds = xarray.Dataset(
            {"t2m": (("time", "lat", "lon"), (280 + rng.normal(0, 5, (2000, 250, 250))).round(1).astype("float32"))},
            {"time": pandas.date_range("2000", periods=2000, freq="h"), "lat": numpy.linspace(60, 40, 250), "lon": numpy.linspace(0, 30, 250)})
        ds.to_zarr(at, mode="w", zarr_format=3, encoding={"t2m": {"chunks": (10, 250, 250)}})
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.time()
    frame = xarray.open_zarr(at).to_dataframe()
    frame.to_parquet(os.path.join(folder, "pandas.parquet"), compression="zstd")
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(f"xarray and pyarrow: {time.time() - start:.1f} s, processor {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} s, {after.ru_maxrss >> 10} MiB")


if sys.argv[1] == "pipe":
    pipe()
elif sys.argv[1] == "era5":
    ds = grid(100)
    ds["lat"].attrs, ds["lon"].attrs = {"units": "degrees_north"}, {"units": "degrees_east"}
    ds.drop_vars(["crs"]).to_zarr(os.path.join(sys.argv[2], "era5.zarr"), mode="w", consolidated=False, encoding={"t2m": {"chunks": (24, 5, 7)} | PACKED})
else:
    {"write": write, "read": read, "parts": parts, "three": three, "speed": speed}[sys.argv[1]](sys.argv[2])
