# SPDX-License-Identifier: Apache-2.0

"""Writes files whose objects and meanings are easy to lose, and what libraries read in them.

The files go to a folder, with objects.json: by file and path of an array its shape, its
dimensions if the file names them, and its values: "raw" as little-endian bytes in
hexadecimal digits, "texts", or "meant" as numbers after scaling, null where there is none;
and "omitted", what a reader has to name as left out.

    pip install h5py netCDF4 astropy tifffile
    python objects_testdata.py ../virtual/testdata/objects
"""

import json
import os
import sys

import h5py
import netCDF4
import numpy as np
import tifffile
from astropy.io import fits

os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
found = {}


def raw(a, dims=None):
    a = np.asarray(a)
    if a.dtype.byteorder == ">":
        a = a.astype(a.dtype.newbyteorder("<"))
    return {"shape": list(a.shape), "dims": dims, "raw": np.ascontiguousarray(a).tobytes().hex()}


def meant(a):
    a = np.asarray(a, "f8")
    return {"shape": list(a.shape), "meant": [None if np.isnan(x) else float(x) for x in a.ravel()]}


def names(lib):
    name = f"h5_names_{lib}.h5"
    with h5py.File(name, "w", libver=lib) as f:
        x = f.create_dataset("x", data=np.arange(3.0))
        x.make_scale("x")
        t = f.create_dataset("t", data=np.arange(3.0) * 2)
        t.dims[0].attach_scale(x)
        t.attrs["pointer"] = x.ref
        f["a_scale"] = x
        f["hard"] = t
        f["soft"] = h5py.SoftLink("/t")
        f["dangling"] = h5py.SoftLink("/none")
        f["beyond"] = h5py.SoftLink("/t/none")
        f["circle"] = h5py.SoftLink("/circle")
        f["external"] = h5py.ExternalLink("other.h5", "/some/thing")
        g = f.create_group("g")
        g["up"] = h5py.SoftLink("/t")
        g["v"] = np.arange(4, dtype="i2")
        g["near"] = h5py.SoftLink("./v")
        d = g.create_group("deep")
        d["w"] = np.arange(5, dtype="u1")
        d["loop"] = h5py.SoftLink("/g")
        d["top"] = g
        f["ghard"] = g
        f["gsoft"] = h5py.SoftLink("g/deep")
        f["through"] = h5py.SoftLink("/ghard/deep/w")
        f["typ"] = np.dtype("i4")
        f["to_type"] = h5py.SoftLink("/typ")
        s = f.create_dataset("labelled", data=np.zeros((2, 3), "i1"))
        s.dims[0].label, s.dims[1].label = "row", "column"
    omitted = [
        "beyond", "circle", "dangling", "external", "g/deep/loop", "g/deep/top", "ghard/deep/loop", "ghard/deep/top",
        "gsoft/loop", "gsoft/top", "hard:pointer", "to_type", "typ"]
    arrays = {}
    with h5py.File(name) as f:
        def visit(group, path):
            for n in group:
                p = f"{path}{n}"
                if p in omitted:
                    continue
                o = group[n]
                if isinstance(o, h5py.Dataset):
                    dims = [x[0].name.split("/")[-1] if len(x) else x.label or None for x in o.dims]
                    dims = ["x"] if o.is_scale else dims if any(dims) else None
                    arrays[p] = raw(o[...], ["x"] if dims == ["a_scale"] else dims)
                else:
                    visit(o, p + "/")
        visit(f, "")
    found[name] = {"arrays": arrays, "omitted": omitted}


def arrays():
    name = "h5_arrays.h5"
    with h5py.File(name, "w") as f:
        def put(n, base, shape, inner, **k):
            d = f.create_dataset(n, shape, dtype=np.dtype((base, inner)), **k)
            d[...] = (np.arange(np.prod(shape + inner)) % 100).reshape(shape + inner).astype(base)

        def store(n, typ, shape, data):
            h5py.h5d.create(f.id, n, typ, h5py.h5s.create_simple(shape)).write(h5py.h5s.ALL, h5py.h5s.ALL, data, mtype=typ)

        put("ints", "<i8", (4,), (3, 5))
        put("big", ">i4", (2, 3), (2,))
        put("floats", "<f4", (6,), (2, 2), chunks=(4,), compression="gzip", shuffle=True)
        put("text", "S3", (3,), (2,))
        put("scalar", "<u2", (), (4,))
        d = f.create_dataset("sparse", (8,), dtype=np.dtype(("<i4", (2,))), chunks=(2,), maxshape=(None,))
        d[2:4] = np.array([[1, 2], [3, 4]])
        create = h5py.h5t.array_create
        store(b"nested", create(create(h5py.h5t.STD_I16LE, (2,)), (3,)), (4,), np.arange(24, dtype="<i2"))
        pair = np.dtype([("a", "<i2"), ("b", "<f4")])
        r = np.zeros((2, 2), pair)
        r["a"], r["b"] = [[1, 2], [3, 4]], [[0.5, 1.5], [2.5, 3.5]]
        store(b"of_records", create(h5py.h5t.py_create(pair), (2,)), (2,), r)
        r = np.zeros(2, [("id", "<i4"), ("m", "<f4", (2, 3)), ("n", "<i2", (2,))])
        r["id"], r["m"], r["n"] = [7, 8], np.arange(12).reshape(2, 2, 3), [[1, 2], [3, 4]]
        f["records"] = r
        f["enum"] = f.create_dataset("colour", data=np.array([0, 42, 1], "i2"), dtype=h5py.enum_dtype({"red": 0, "dark green": 1, "blue": 42}, "i2"))
    with h5py.File(name) as f:
        found[name] = {"arrays": {n: raw(f[n][...]) for n in f}, "omitted": []}


def short():
    name = "nc4_short.nc"
    with netCDF4.Dataset(name, "w") as d:
        d.createDimension("t", None)
        d.createDimension("x", 3)
        d.createDimension("r", None)
        d.createDimension("bare", None)
        d.createVariable("a", "f4", ("t", "x"))[:] = np.arange(15).reshape(5, 3)
        d.createVariable("b", "i2", ("t",), fill_value=-9)[:2] = [7, 8]
        d.createVariable("t", "f8", ("t",))[:3] = [10, 20, 30]
        two = d.createVariable("two", "i4", ("t", "x", "r"), fill_value=-1, chunksizes=(2, 3, 2), zlib=True)
        two[:3, :, :3] = np.arange(27).reshape(3, 3, 3)
        d.createVariable("long", "i1", ("r",))[:5] = np.arange(5)
        d.createVariable("never", "u2", ("t",))
        d.createVariable("p", "i2", ("bare",))[:4] = np.arange(4)
        d.createVariable("q", "i2", ("bare",))[:1] = [5]
        s = d.createVariable("s", str, ("t",))
        s[0], s[1] = "x", "yz"
        # Its chunk has undefined elements behind these two.
        d.createVariable("unfilled", "i4", ("t",), fill_value=False)[:2] = [1, 2]
        d.createGroup("g").createVariable("u", "f8", ("t",))[:1] = [1.5]
    arrays = {}
    with netCDF4.Dataset(name) as d:
        d.set_auto_maskandscale(False)
        for n in ("a", "b", "t", "long", "never", "p", "q", "g/u"):
            arrays[n] = raw(d[n][...], list(d[n].dimensions))
        # netCDF 4.9 moves values of variables that are short along two dimensions.
        two = np.full(d["two"].shape, -1, "i4")
        two[:3, :, :3] = np.arange(27).reshape(3, 3, 3)
        arrays["two"] = raw(two, ["t", "x", "r"])
        arrays["s"] = {"shape": list(d["s"].shape), "dims": ["t"], "texts": list(d["s"][...])}
        arrays["unfilled"] = raw(d["unfilled"][:2], ["t"])
    found[name] = {"arrays": arrays, "omitted": ["unfilled"]}


def scaled():
    name = "fits_scaled.fits"
    hdus = fits.HDUList([fits.PrimaryHDU(np.array([[0, 1, 32768], [40000, 65535, 7]], "u2"))])
    for n, a in {
        "i1": np.array([-128, -1, 0, 127], "i1"), "u1": np.array([0, 255], "u1"),
        "u4": np.array([0, 1, 2**31, 2**32 - 1], "u4"), "i4": np.array([-(2**31), 2**31 - 1], "i4"),
        "i8": np.array([-5, 2**40], "i8"),
    }.items():
        hdus.append(fits.ImageHDU(a, name=n))
    hdus.append(fits.ImageHDU(np.array([0, 2**63 + 5], "u8"), name="u8"))

    def stored(n, a, **keywords):
        h = fits.ImageHDU(a, name=n, do_not_scale_image_data=True)
        for k, v in keywords.items():
            h.header[k] = v
        hdus.append(h)

    stored("both", np.array([[-1, 5], [20, 56]], "i2"), BSCALE=0.5, BZERO=10.0, BLANK=-1)
    stored("blank", np.array([3, -99], "i4"), BLANK=-99)
    stored("blank_u1", np.array([3, 255], "u1"), BLANK=255)
    stored("blank_u2", np.array([3, -32768], "i2"), BZERO=32768, BLANK=-32768)
    stored("never_blank", np.array([3, 255], "u1"), BLANK=-1)
    stored("floats", np.array([1.5, np.nan], "f4"), BSCALE=2.0, BZERO=-1.0)
    hdus.writeto(name, overwrite=True, output_verify="silentfix")
    arrays = {}
    with fits.open(name) as f:
        for h in f:
            if h.name != "U8":
                arrays["primary" if h.name == "PRIMARY" else h.name] = meant(h.data)
    arrays["BLANK_U2"]["meant"][1] = None  # astropy forgets BLANK where there is a BZERO of 32768
    found[name] = {"arrays": arrays, "omitted": ["U8"]}


def stacks():
    def put(name, a, path, dims, **k):
        tifffile.imwrite(name, a, **k)
        found[name] = {"arrays": {path: raw(tifffile.imread(name), dims)}, "omitted": []}

    r = np.random.default_rng(6)
    a = (r.random((4, 6, 7)) * 1000).astype("u2")
    put("imagej_slices.tif", a, "full", ["z", "y", "x"], imagej=True, truncate=True, metadata={"axes": "ZYX"})
    a = (r.random((2, 3, 2, 4, 5)) * 1000).astype("f4")
    put("imagej_hyper.tif", a, "full", ["t", "z", "c", "y", "x"], imagej=True, truncate=True, metadata={"axes": "TZCYX"})
    a = (r.random((3, 4, 5, 3)) * 255).astype("u1")
    put("imagej_rgb.tif", a, "full", ["z", "y", "x", "band"], imagej=True, truncate=True, photometric="rgb", metadata={"axes": "ZYXS"})
    a = (r.random((2, 3, 4, 5)) * 255).astype("i2")
    put("shaped.tif", a, "full", ["t", "c", "y", "x"], truncate=True, photometric="minisblack", rowsperstrip=3, metadata={"axes": "TCYX"})
    tifffile.imwrite("shaped_deflate.tif", a[0], compression="zlib", photometric="minisblack", truncate=False, metadata={"axes": "CYX"})
    found["shaped_deflate.tif"] = {"arrays": {f"page_{i + 1}": raw(p, ["y", "x"]) for i, p in enumerate(a[0])}, "omitted": []}


names("earliest")
names("latest")
arrays()
short()
scaled()
stacks()
with open("objects.json", "w") as f:
    f.write("{\n")
    for i, (n, what) in enumerate(found.items()):
        f.write(f"{json.dumps(n)}: {json.dumps(what)}{',' if i + 1 < len(found) else ''}\n")
    f.write("}\n")
