# SPDX-License-Identifier: Apache-2.0

"""Judges files of NetCDF that varve export has written.

netcdf.py write DIR          writes DIR/era.zarr and DIR/classic.zarr, groups with all types that files can have
netcdf.py read DIR NAME FILE compares FILE with DIR/NAME.zarr as xarray, netCDF4, h5py and h5netcdf or scipy read both
netcdf.py append FILE        appends to FILE with netCDF4: elements along time, an attribute, variables, a group; reads all again
netcdf.py trips FILE FILE... compares pairs of files: dimensions, variables, types, attributes and elements
netcdf.py speed DIR VARVE    compares the time of VARVE export with that of xarray, with the same chunks and filters
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import time
import warnings

import netCDF4
import numpy as np
import pandas
import xarray

warnings.simplefilter("ignore")
TIMES = 700


def classic():
    """A data set with the types of netCDF-3."""
    r = np.random.default_rng(7)
    field = np.round(r.random((TIMES, 9, 11)) * 40 + 250, 2)
    packed = np.where(r.random((TIMES, 9, 11)) < 0.1, np.nan, np.round(field - 250, 1))
    d = xarray.Dataset(
        {
            "t2m": (("time", "lat", "lon"), field.astype("f4"), {"units": "K", "long_name": "temperature at 2 m", "n": 3, "levels": [1.5, 2]}),
            "packed": (("time", "lat", "lon"), packed, {"valid_range": np.array([-100, 500], "i2")}),
            "flag": (("time", "lat"), r.integers(0, 4, (TIMES, 9)).astype("i1"), {"flag_values": np.arange(4, dtype="i1"), "flag_meanings": "a b c d"}),
            "short": (("lat",), np.arange(9, dtype="i2")),
            "ok": (("lat",), np.arange(9) % 2 == 0),
            "crs": ((), np.int32(7), {"crs_wkt": "GEOGCS[...]"}),
        },
        coords={
            "time": ("time", np.arange(TIMES, dtype="i4"), {"units": "days since 2001-02-03", "calendar": "noleap"}),
            "lat": np.linspace(-40, 40, 9),
            "lon": ("lon", np.linspace(0, 330, 11).astype("f4"), {"units": "degrees_east"}),
            "area": (("lat", "lon"), r.random((9, 11))),
        },
        attrs={"title": "größer", "history": "x" * 70_000, "version": 2, "part": 0.5},
    )
    how = {"packed": {"dtype": "i2", "scale_factor": 0.1, "_FillValue": -999}, "t2m": {"chunks": (100, 9, 11)}, "time": {"chunks": (50,)}}
    return d, how


def era():
    """More than classic: what netCDF-4 has besides."""
    d, how = classic()
    d = d.assign(
        big=(("lat",), np.arange(9, dtype="u8") + 2**63),
        small=(("lat",), np.arange(9, dtype="u1")),
        name=(("lat",), np.array(["", "a", "größer", "日本", "x" * 5000, "f", "g", "h", "i"], dtype=object)),
        chars=(("lat",), np.array([b"ab", b"c", b"", b"d", b"e", b"f", b"g", b"h", b"i"])),
        moment=(("lat",), pandas.date_range("2020-01-01T06:00", periods=9)),
        empty=(("none", "lat"), np.zeros((0, 9), "f4")),
        square=(("lat", "lat2"), np.eye(9)),
        half=(("time",), np.arange(TIMES, dtype="f2")),
    )
    d["t2m"].attrs["words"] = ["one", "zwölf"]
    return d, how


def write(folder):
    for name, (d, how) in {"era": era(), "classic": classic()}.items():
        for version in (2, 3):
            target = f"{folder}/{name}{version}.zarr"
            d.to_zarr(target, encoding=how, zarr_format=version, consolidated=False)
            if name == "era":
                below = xarray.Dataset({"z": (("level", "lat"), np.arange(27.0).reshape(3, 9))}, coords={"level": [1, 2, 3]}, attrs={"a": "b"})
                below.to_zarr(target, group="deep/er", mode="a", zarr_format=version, consolidated=False)
    z = xarray.open_zarr(f"{folder}/era3.zarr", consolidated=False, chunks=None, decode_times=False)
    assert z.t2m.shape == (TIMES, 9, 11)


def alike(name, a, b):
    """Variables are identical, but for types that a file has others for, and how it spells attributes."""
    assert a.dims == b.dims, (name, a.dims, b.dims)
    a = a.astype("f4") if a.dtype == "f2" else a
    assert a.dtype.kind == b.dtype.kind or {a.dtype.kind, b.dtype.kind} <= set("OUT"), (name, a.dtype, b.dtype)
    np.testing.assert_array_equal(a.values, b.values, err_msg=name)
    for key in set(a.attrs) | set(b.attrs):
        np.testing.assert_array_equal(a.attrs[key], b.attrs[key], err_msg=f"{name}: {key}")


def read(folder, name, file):
    source = xarray.open_datatree(f"{folder}/{name}.zarr", engine="zarr", consolidated=False)
    engines = ["netcdf4", "h5netcdf"]
    if open(file, "rb").read(3) == b"CDF":
        engines = ["netcdf4"] if open(file, "rb").read(4)[3] == 5 else ["netcdf4", "scipy"]
    for engine in engines:
        if engine == "scipy":  # xarray gives it no groups
            made = xarray.DataTree(xarray.open_dataset(file, engine=engine))
        else:
            made = xarray.open_datatree(file, engine=engine)
        assert [g for g in made.groups if g != "/deep"] == [g for g in source.groups if g != "/deep"], (made.groups, source.groups)
        for group in source.groups:
            a, b = source[group].to_dataset(), made[group].to_dataset()
            assert set(a.variables) == set(b.variables), (engine, group, set(a.variables) ^ set(b.variables))
            for v in a.variables:
                alike(f"{engine} {group} {v}", a[v].variable, b[v].variable)
            for key in a.attrs:
                np.testing.assert_array_equal(a.attrs[key], b.attrs[key], err_msg=key)
    if "h5netcdf" in engines:
        import h5py

        with h5py.File(file) as f:
            tracked = h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED
            assert f["/"].id.get_create_plist().get_link_creation_order() == tracked
            assert f["t2m"].id.get_create_plist().get_attr_creation_order() == tracked
            assert f["t2m"].dims[0].keys() == ["time"] and f["time"].is_scale
            np.testing.assert_array_equal(f["t2m"][...], netCDF4.Dataset(file)["t2m"][...])
    if open(file, "rb").read(4) != b"CDF\x05" and importlib.util.find_spec("rasterio"):
        import rasterio  # with GDAL

        with rasterio.open(f'netcdf:"{file}":t2m') as r, netCDF4.Dataset(file) as f:
            np.testing.assert_array_equal(r.read(3)[::-1], f["t2m"][2])  # north is up
    for program in filter(shutil.which, ["ncdump", "nccopy"]):
        args = ["-h", file] if program == "ncdump" else [file, file + ".copy"]
        subprocess.run([program, *args], check=True, stdout=subprocess.DEVNULL)
        if program == "nccopy":
            trips(file, file + ".copy")


def append(file):
    """Appends with netCDF4, many chunks, and reads all again."""
    with netCDF4.Dataset(file) as f:
        f.set_auto_mask(False)
        before = {v: f[v][...] for v in f.variables}
        attributes = {v: f[v].ncattrs() for v in f.variables}
        assert f.dimensions["time"].isunlimited()
    more = np.arange(5000 * 9 * 11, dtype="f4").reshape(5000, 9, 11)
    with netCDF4.Dataset(file, "a") as f:
        f["t2m"][TIMES : TIMES + 5000] = more
        f["time"][TIMES : TIMES + 5000] = np.arange(5000)
        f["t2m"][3, 4, 5] = -7
        for i in range(20):
            f["t2m"].setncattr(f"more{i}", f"value {i}")
        f.note = ["a", "ß"]
        f.createVariable("new", "f8", ("time", "lat"), zlib=True)[:] = 3
        f.createVariable("words", str, ("lat",))[:] = np.array(list("abcdefghi"), dtype=object)
        f.createDimension("fresh", 4)
        f.createGroup("beside").createVariable("v", "i4", ("fresh",))[:] = [1, 2, 3, 4]
        f.renameAttribute("title", "headline")
        f["short"].delncattr("_FillValue") if "_FillValue" in f["short"].ncattrs() else None
    before["t2m"][3, 4, 5] = -7
    with netCDF4.Dataset(file) as f:
        f.set_auto_mask(False)
        for v, values in before.items():
            part = f[v][...][:TIMES] if f[v].dimensions[:1] == ("time",) else f[v][...]
            np.testing.assert_array_equal(part, values, err_msg=v)
            assert set(attributes[v]) - {"_FillValue"} <= set(f[v].ncattrs()), v
        np.testing.assert_array_equal(f["t2m"][TIMES:], more)
        assert f["t2m"].more19 == "value 19" and f.note == ["a", "ß"] and f.headline == "größer"
        assert f["new"].shape == (TIMES + 5000, 9) and f["words"][8] == "i" and list(f["beside/v"][...]) == [1, 2, 3, 4]
        # What nobody has written is the fill value, also in chunks that are there.
        f.set_auto_scale(False)
        assert f["packed"].shape == (TIMES + 5000, 9, 11) and (f["packed"][TIMES:] == -999).all()
        assert np.isnan(f["half"][TIMES:]).all()
    with xarray.open_dataset(file, engine="h5netcdf", decode_times=False) as d:
        assert d.sizes["time"] == TIMES + 5000


def walk(group, at=""):
    yield at, group
    for name, below in group.groups.items():
        yield from walk(below, f"{at}/{name}")


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
        return a.tolist() == b.tolist()
    return a.shape == b.shape and np.array_equal(a, b, equal_nan=True)


def trip(left, right):
    """Two files are alike in all that ncdump shows, but for the widths of attributes."""
    a, b = dict(walk(left)), dict(walk(right))
    assert set(a) == set(b), set(a) ^ set(b)
    for at in a:
        x, y = a[at], b[at]
        used = {d for _, g in a.items() for v in g.variables.values() for d in v.dimensions}
        for d in x.dimensions:
            assert d not in used or len(x.dimensions[d]) == len(y.dimensions[d]), (at, d)
        assert set(x.variables) == set(y.variables), (at, set(x.variables) ^ set(y.variables))
        assert set(x.ncattrs()) == set(y.ncattrs()), (at, x.ncattrs(), y.ncattrs())
        for key in x.ncattrs():
            assert same(x.getncattr(key), y.getncattr(key)), (at, key)
        for name in x.variables:
            v, w = x[name], y[name]
            for each in (v, w):
                each.set_auto_maskandscale(False)
                each.set_auto_chartostring(False)
            assert v.dimensions == w.dimensions and np.dtype(v.dtype).newbyteorder("=") == np.dtype(w.dtype).newbyteorder("="), (at, name, v, w)
            assert set(v.ncattrs()) == set(w.ncattrs()), (at, name, v.ncattrs(), w.ncattrs())
            for key in v.ncattrs():
                assert same(v.getncattr(key), w.getncattr(key)), (at, name, key)
            assert same(v[...], w[...]), (at, name)


def trips(*files):
    for left, right in zip(files[::2], files[1::2]):
        with netCDF4.Dataset(left) as a, netCDF4.Dataset(right) as b:
            try:
                trip(a, b)
            except AssertionError as e:
                raise AssertionError(f"{left}, {right}: {e}") from e


def speed(folder, varve):
    """A field of 520 MB, at three levels, each program three times in turns."""
    times, lats, lons, random = 500, 361, 720, np.random.default_rng(1)
    field = np.sin(np.linspace(0, 6, lats))[:, None] * 20 + np.cos(np.linspace(0, 12, lons)) * 5 + 270
    values = np.stack([np.round(field + np.sin(i / 10) * 3 + random.normal(0, 0.5, field.shape), 2).astype("f4") for i in range(times)])
    chunks = (20, lats, lons)
    source, file = f"{folder}/speed.zarr", f"{folder}/speed.nc"
    xarray.Dataset({"t2m": (("time", "lat", "lon"), values)}).to_zarr(source, encoding={"t2m": {"chunks": chunks}}, consolidated=False)
    for level in (1, 4, 9):
        best = [float("inf")] * 2
        for _ in range(3):
            start = time.monotonic()
            subprocess.run([varve, "export", source, "-o", file, "--deflate", str(level)], check=True)
            best[0] = min(best[0], time.monotonic() - start)
            ours = os.path.getsize(file)
            start = time.monotonic()
            how = {"zlib": level > 0, "shuffle": level > 0, "complevel": level, "chunksizes": chunks}
            xarray.open_zarr(source, consolidated=False, chunks=None).to_netcdf(file, encoding={"t2m": how}, engine="netcdf4")
            best[1] = min(best[1], time.monotonic() - start)
        print(f"level {level}: varve {best[0]:.1f} s, {ours / 1e6:.0f} MB; xarray {best[1]:.1f} s, {os.path.getsize(file) / 1e6:.0f} MB; {best[1] / best[0]:.2f} times")


if __name__ == "__main__":
    {"write": write, "read": read, "append": append, "trips": trips, "speed": speed}[sys.argv[1]](*sys.argv[2:])
