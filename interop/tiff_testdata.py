# SPDX-License-Identifier: Apache-2.0

"""Writes TIFF files with LZW, PackBits and predictors: testdata of package virtual.

    pip install tifffile imagecodecs rasterio virtual-tiff
    python tiff_testdata.py ../virtual/testdata

It prints what is expected of them, and of references to them: lines of expected.json. Written with tifffile 2026.3.3, imagecodecs 2026.3.6,
GDAL 3.10.3 of rasterio 1.4.4, and virtual-tiff 0.5.0.
"""

import hashlib
import json
import os
import sys
import warnings

import numpy as np
import rasterio
import tifffile
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from rasterio.shutil import copy
from virtual_tiff import VirtualTIFF

warnings.simplefilter("ignore")

random = np.random.default_rng(11)
folder = sys.argv[1]


def field(shape, dtype):
    """Smooth numbers with some noise. Integers use all their bits, and wrap around."""
    dtype = np.dtype(dtype)
    y, x = np.meshgrid(np.arange(shape[-2]), np.arange(shape[-1]), indexing="ij")
    smooth = np.broadcast_to(300 * y + 70 * x, shape) + random.integers(0, 9, shape)
    if dtype.kind == "f":
        return (smooth / 64 - 20).astype(dtype)
    return (smooth.astype("u8") * np.uint64(max(1, 2 ** (8 * dtype.itemsize - 14)))).astype(dtype.str.replace("i", "u")).view(dtype)


def little(values):
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"))


def expected(name, labels, arrays):
    """Prints what is expected of a file. tifffile tells where chunks are."""
    variables = {}
    with tifffile.TiffFile(os.path.join(folder, name)) as f:
        pages = [level for page in f.pages for level in [page, *(page.pages or [])]]
        for label, page, values in zip(labels, pages, arrays, strict=True):
            assert (page.asarray() == values).all(), label
            chunk = (page.tilelength, page.tilewidth) if page.is_tiled else (min(page.rowsperstrip, page.imagelength), page.imagewidth)
            kept = little(values)
            variables[label] = {
                "shape": kept.shape, "dtype": kept.dtype.str, "big_endian": f.byteorder == ">", "tiled": page.is_tiled,
                "compression": int(page.compression), "predictor": int(page.predictor), "planar": int(page.planarconfig), "chunks": chunk,
                "sha256": hashlib.sha256(kept.tobytes()).hexdigest(),
                "stored": [[i, at, n] for i, (at, n) in enumerate(zip(page.dataoffsets, page.databytecounts)) if n],
            }  # fmt: skip
    text = {"format": "tiff", "names": "free", "attributes": {}, "variables": variables}
    print(f"{json.dumps(name)}: {json.dumps(text, separators=(',', ':'))},")


def pages(byteorder):
    """Types, predictors and ways to cut, of which the last strip is short and the last tiles are padded."""
    tiles, strips = {"tile": (16, 16)}, {"rowsperstrip": 5}
    chunky, planar = {"planarconfig": "contig"}, {"planarconfig": "separate"}
    for dtype in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]:
        for predictor in (1, 2, 3):
            # tifffile subtracts floats only as floats, and has no halves of the other byte order.
            if predictor != 1 and (predictor == 3) != (dtype[0] == "f") or (dtype, predictor, byteorder) == ("f2", 3, ">"):
                continue
            yield f"{dtype}_{predictor}_tiles", (19, 21), dtype, predictor, tiles
            yield f"{dtype}_{predictor}_strips", (12, 17), dtype, predictor, strips
    for dtype, predictor in [("u1", 2), ("i2", 2), ("u4", 2), ("i8", 2), ("f4", 3), ("f8", 3)]:
        yield f"{dtype}_{predictor}_chunky_tiles", (17, 20, 3), dtype, predictor, tiles | chunky
        yield f"{dtype}_{predictor}_chunky_strips", (12, 7, 4), dtype, predictor, strips | chunky
        yield f"{dtype}_{predictor}_planar_tiles", (3, 17, 20), dtype, predictor, tiles | planar
        yield f"{dtype}_{predictor}_planar_strips", (2, 12, 7), dtype, predictor, strips | planar
    for compression in ("deflate", "zstd"):
        for dtype, predictor in [("u2", 2), ("f4", 3)]:
            yield f"{dtype}_{predictor}_{compression}", (19, 21), dtype, predictor, tiles | {"compression": compression}
            yield f"{dtype}_{predictor}_{compression}_chunky", (12, 17, 3), dtype, predictor, strips | chunky | {"compression": compression}
    yield "packbits", (12, 17), "u1", 1, strips | {"compression": "packbits"}
    yield "packbits_tiles", (19, 21, 3), "u2", 1, tiles | chunky | {"compression": "packbits"}


def write(name, byteorder, bigtiff):
    labels, arrays = [], []
    with tifffile.TiffWriter(os.path.join(folder, name), byteorder=byteorder, bigtiff=bigtiff) as f:
        for label, shape, dtype, predictor, options in pages(byteorder):
            # The samples of a chunky image are its last axis.
            flat = shape if len(shape) == 2 or options["planarconfig"] == "separate" else (shape[2], *shape[:2])
            values = field(flat, byteorder + dtype)
            if flat != shape:
                values = np.moveaxis(values, 0, -1).copy()
            options = {"compression": "lzw", "predictor": predictor, "photometric": "minisblack", "metadata": None, "software": False} | options
            f.write(values, **options)
            labels.append(label)
            arrays.append(values)
    expected(name, labels, arrays)


def gdal(name, values, levels=(), **options):
    """A file of GDAL, whose libtiff subtracts floats by their bits, and whose COG has overviews."""
    path = os.path.join(folder, name)
    bands = values if values.ndim == 3 else values[None]
    profile = {"driver": "GTiff", "count": len(bands), "height": bands.shape[1], "width": bands.shape[2], "dtype": values.dtype}
    transform = rasterio.transform.from_origin(5, 50, 0.25, 0.25)
    if levels:
        with rasterio.MemoryFile() as memory:
            with memory.open(**profile, crs="EPSG:4326", transform=transform) as f:
                f.write(bands)
            with memory.open() as f:
                copy(f, path, driver="COG", **options)
    else:
        with rasterio.open(path, "w", **profile, crs="EPSG:4326", transform=transform, **options) as f:
            f.write(bands)
    arrays = []
    for level in [None, *range(len(levels))]:
        with rasterio.open(path, **({} if level is None else {"overview_level": level})) as f:
            read = f.read()
        arrays.append(read[0] if len(read) == 1 else read if options.get("interleave") == "band" else np.moveaxis(read, 0, -1))
    expected(name, ["full"] + [f"overview_{i + 1}" for i in range(len(levels))], arrays)


write("tiff_predictors.tif", "<", False)
write("tiff_predictors_big.tif", ">", True)
gdal("cog_lzw.tif", field((70, 90), "i2"), (2, 4), compress="LZW", predictor="2", blocksize=32, overview_count=2)
gdal("geotiff_lzw_floats.tif", field((32, 21), "f4"), compress="LZW", predictor=2, blockysize=8, endianness="BIG")
gdal("geotiff_lzw_bands.tif", field((3, 33, 40), "f8"), compress="LZW", predictor=3, tiled=True, blockxsize=16, blockysize=16, interleave="band")
gdal("geotiff_zstd_pixels.tif", field((3, 33, 40), "u2"), compress="ZSTD", predictor=2, tiled=True, blockxsize=16, blockysize=16, interleave="pixel")
gdal("geotiff_deflate_floats.tif", field((2, 33, 40), "f4"), compress="DEFLATE", predictor=3, blockysize=8, interleave="pixel", endianness="BIG")


def referenced(name, path, form, of):
    """Prints what is expected of references."""
    with rasterio.open(os.path.join(folder, of)) as f:
        values = f.read()
        values = little(values[0] if len(values) == 1 else np.moveaxis(values, 0, -1) if f.interleaving.value == "PIXEL" else values)
    array = {"shape": values.shape, "dtype": values.dtype.str, "sha256": hashlib.sha256(values.tobytes()).hexdigest()}
    text = {"of": [of], "form": form, "arrays": {path: array}, "absent": [], "wrong": []}
    print(f"{json.dumps(name)}: {json.dumps(text, separators=(',', ':'))},")


print()
for of in ["cog_lzw.tif", "geotiff_lzw_floats.tif", "geotiff_lzw_bands.tif", "geotiff_zstd_pixels.tif"]:
    name = of.replace(".tif", ".v1.json")
    with tifffile.TiffFile(os.path.join(folder, of)) as f, f.series[0].aszarr(level=0) as store:
        store.write_fsspec(os.path.join(folder, name), url="", groupname="full", version=1)
    referenced(name, "full", "version 1, written with tifffile", of)
at = "file://" + os.path.abspath(folder) + "/"


def virtual(of):
    return VirtualTIFF(ifd=0)(at + of, ObjectStoreRegistry({"file://": LocalStore()}))


of = "geotiff_lzw_bands.tif"
name = of.replace(".tif", ".virtualizarr.json")
text = json.dumps(virtual(of).to_virtual_dataset().virtualize.to_kerchunk(format="dict"))
with open(os.path.join(folder, name), "w") as f:
    f.write(text.replace(at, "").replace(os.path.abspath(folder) + "/", ""))
referenced(name, "0", "version 1, written with VirtualiZarr", of)

# Documents of format 3 have codecs of virtual-tiff, which references of format 2 cannot have.
for of in ["geotiff_zstd_pixels.tif", "cog_lzw.tif"]:
    array = virtual(of)._group.arrays["0"]
    refs = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group"}), "0/zarr.json": json.dumps(array.metadata.to_dict())}
    for key, chunk in array.manifest.dict().items():
        refs["0/c/" + key.replace(".", "/")] = [of, int(chunk["offset"]), int(chunk["length"])]
    with open(os.path.join(folder, of.replace(".tif", ".virtualtiff.json")), "w") as f:
        json.dump({"version": 1, "refs": refs}, f)
