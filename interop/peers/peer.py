# SPDX-License-Identifier: Apache-2.0

"""Writes and reads arrays with one implementation: one request in each line of input, one answer in each line of output.

Run as "peer.py zarr2", "zarr3", "zarrs", "tensorstore" or "gdal". A request to write is
{"op": "write", "path", "document", "dtype", "rows", "data"}: the array that the document
describes, of which the first rows have data. One to read is {"op": "read", "path",
"format", "dtype"}. data is in C order, hexadecimal and little endian, or a list of texts.
An answer is {"data"}, {"path"} with the place of what was written, or {"error"}.
"""

import json
import os
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def elements(request):
    """Returns the rows of a request as an array of NumPy."""
    document, dtype = request["document"], request["dtype"]
    shape = list(document["shape"])
    if shape:
        shape[0] = request["rows"]
    if dtype == "string":
        return np.array(request["data"], dtype=object).reshape(shape)
    return np.frombuffer(bytes.fromhex(request["data"]), np.dtype(dtype)).reshape(shape)


def answer(found, dtype):
    """Returns the elements of an array of NumPy."""
    found = np.asarray(found)
    if dtype == "string":
        return {"data": [str(x) for x in found.reshape(-1)]}
    if found.dtype.kind != np.dtype(dtype).kind or found.dtype.itemsize != np.dtype(dtype).itemsize:
        raise TypeError(f"the data type is {found.dtype}")
    return {"data": found.astype(np.dtype(dtype)).tobytes().hex()}


def rows(request):
    """Returns the selection of the rows of a request."""
    return slice(0, request["rows"]) if request["document"]["shape"] else Ellipsis


class Zarr2:
    """zarr-python 2, or format 2 of zarr-python 3."""

    def write(self, request):
        import numcodecs
        import zarr

        if request["format"] == 3:
            raise NotImplementedError("zarr-python 2 has no format 3")
        d = request["document"]
        codec = lambda c: None if c is None else numcodecs.get_codec(dict(c))
        filters = [codec(c) for c in d["filters"] or []]
        a = zarr.create(
            tuple(d["shape"]), chunks=tuple(d["chunks"]), dtype=object if request["dtype"] == "string" else d["dtype"],
            compressor=codec(d["compressor"]), filters=None if request["dtype"] == "string" else filters or None,
            object_codec=filters[0] if request["dtype"] == "string" else None,
            fill_value=fill(d["fill_value"]), order=d["order"], dimension_separator=d.get("dimension_separator", "."),
            store=request["path"], overwrite=True)
        a[rows(request)] = elements(request)

    def read(self, request):
        import zarr

        return zarr.open_array(request["path"], mode="r")[...]


def fill(value):
    if isinstance(value, list):
        return complex(*value)
    return {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}.get(value, value) if isinstance(value, str) else value


def edges(axis):
    """Returns the edges of an axis without runs."""
    return [n for e in axis for n in ([e[0]] * e[1] if isinstance(e, list) else [e])]


def split(codecs):
    """Splits the codecs of format 3 into those before, at and after the array-to-bytes codec."""
    makes = ("bytes", "sharding_indexed", "vlen-utf8", "vlen-bytes")
    i = next(i for i, c in enumerate(codecs) if c["name"] in makes)
    return codecs[:i], codecs[i], codecs[i + 1:]


class Zarr3:
    """zarr-python 3."""

    def __init__(self):
        import zarr

        for option in ("array.rectilinear_chunks",):
            try:
                zarr.config.set({option: True})
            except Exception:
                pass

    def write(self, request):
        import numcodecs
        import zarr

        d = request["document"]
        if request["format"] == 2:
            codec = lambda c: numcodecs.get_codec(dict(c))
            text = request["dtype"] == "string"
            options = dict(
                chunks=tuple(d["chunks"]), order=d["order"], compressors=codec(d["compressor"]) if d["compressor"] else None,
                filters=[codec(c) for c in d["filters"] or []] or None, dtype=str if text else d["dtype"],
                chunk_key_encoding={"name": "v2", "separator": d.get("dimension_separator", ".")})
            if text:
                del options["filters"]
        else:
            filters, serializer, compressors = split(d["codecs"])
            grid = d["chunk_grid"]["configuration"]
            chunks = tuple(grid["chunk_shape"]) if "chunk_shape" in grid else [edges(axis) for axis in grid["chunk_shapes"]]
            name = d["data_type"]
            options = dict(
                chunks=chunks, filters=filters or None, compressors=compressors or None,
                serializer=serializer, dimension_names=d.get("dimension_names"),
                dtype=str if name == "string" else np.dtype(request["dtype"]).newbyteorder("="),
                chunk_key_encoding={"name": d["chunk_key_encoding"]["name"], **d["chunk_key_encoding"]["configuration"]})
            if name == "string":
                options["serializer"] = "auto"
        a = zarr.create_array(
            request["path"], shape=tuple(d["shape"]), fill_value=fill(d["fill_value"]), zarr_format=request["format"],
            overwrite=True, **options)
        a[rows(request)] = elements(request)

    def read(self, request):
        import zarr

        return zarr.open_array(request["path"], mode="r")[...]


class Zarrs(Zarr3):
    """The Rust library zarrs, as the codec pipeline of zarr-python."""

    def __init__(self):
        super().__init__()
        import zarr
        import zarrs  # noqa: F401

        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})


class TensorStore:
    def spec(self, request):
        return {"driver": "zarr3" if request["format"] == 3 else "zarr", "kvstore": {"driver": "file", "path": request["path"] + "/"}}

    def write(self, request):
        import tensorstore as ts

        metadata = {k: v for k, v in request["document"].items() if k not in ("zarr_format", "node_type")}
        a = ts.open({**self.spec(request), "metadata": metadata, "create": True, "delete_existing": True}).result()
        a[rows(request)].write(elements(request)).result() if metadata["shape"] else a.write(elements(request)).result()

    def read(self, request):
        import tensorstore as ts

        return ts.open({**self.spec(request), "open": True}).result().read().result()


class GDAL:
    def __init__(self):
        from osgeo import gdal

        gdal.UseExceptions()

    def options(self, request):
        """Returns creation options for the array of a document. Raises an error if they cannot describe it."""
        d = request["document"]
        if request["format"] == 2:
            if d["filters"]:
                raise NotImplementedError("no creation option makes these filters")
            known = {None: "NONE", "zlib": "ZLIB", "gzip": "GZIP", "zstd": "ZSTD", "lz4": "LZ4", "blosc": "BLOSC"}
            name = (d["compressor"] or {}).get("id")
            if name not in known:
                raise NotImplementedError(f"no creation option makes {name}")
            return [f"COMPRESS={known[name]}", f"CHUNK_MEMORY_LAYOUT={d['order']}", f"DIM_SEPARATOR={d.get('dimension_separator', '.')}"], d["chunks"]
        names = [c["name"] for c in d["codecs"]]
        known = {("bytes",): "NONE", ("bytes", "gzip"): "GZIP", ("bytes", "zstd"): "ZSTD", ("bytes", "blosc"): "BLOSC"}
        if tuple(names) not in known or d["codecs"][0].get("configuration", {}).get("endian") == "big":
            raise NotImplementedError(f"no creation option makes {names}")
        if d["chunk_grid"]["name"] != "regular" or d["chunk_key_encoding"]["name"] != "default":
            raise NotImplementedError("no creation option makes this grid or these keys")
        separator = d["chunk_key_encoding"]["configuration"]["separator"]
        return [f"COMPRESS={known[tuple(names)]}", f"DIM_SEPARATOR={separator}"], d["chunk_grid"]["configuration"]["chunk_shape"]

    def write(self, request):
        from osgeo import gdal, gdal_array

        options, chunks = self.options(request)
        if request["dtype"] == "string":
            kind = gdal.ExtendedDataType.CreateString()
        else:
            code = gdal_array.NumericTypeCodeToGDALTypeCode(np.dtype(request["dtype"]).type)
            if code is None or np.dtype(request["dtype"]).kind in "bM":
                raise NotImplementedError("GDAL has no such data type")
            kind = gdal.ExtendedDataType.Create(code)
        dataset = gdal.GetDriverByName("Zarr").CreateMultiDimensional(request["path"], [], [f"FORMAT=ZARR_V{request['format']}"])
        root = dataset.GetRootGroup()
        shape = request["document"]["shape"]
        axes = [root.CreateDimension(f"d{i}", None, None, n) for i, n in enumerate(shape)]
        blocks = [f"BLOCKSIZE={','.join(map(str, chunks))}"] if chunks else []
        a = root.CreateMDArray("a", axes, kind, options + blocks)
        value = fill(request["document"]["fill_value"])
        if isinstance(value, (int, float)) and kind.GetClass() == gdal.GEDTC_NUMERIC:
            a.SetNoDataValueDouble(float(value))
        data = elements(request)
        if request["dtype"] == "string":
            raise NotImplementedError("the bindings write no texts")
        a.WriteArray(np.ascontiguousarray(data), array_start_idx=[0] * len(shape)) if shape else a.Write(data.tobytes())
        del a, root, dataset
        return os.path.join(request["path"], "a")

    def read(self, request):
        from osgeo import gdal

        dataset = gdal.OpenEx(f'ZARR:"{request["path"]}"', gdal.OF_MULTIDIM_RASTER)
        root = dataset.GetRootGroup()
        a = root.OpenMDArray(root.GetMDArrayNames()[0])
        if request["dtype"] == "string" or a.GetDimensionCount() == 0:
            found = a.Read()
            if request["dtype"] == "string":
                return np.array(found, dtype=object)
            return np.frombuffer(bytes(found), np.dtype(request["dtype"]))
        return a.ReadAsArray()


def main(name):
    peer = {"zarr2": Zarr2, "zarr3": Zarr3, "zarrs": Zarrs, "tensorstore": TensorStore, "gdal": GDAL}[name]()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "write":
                reply = {"path": peer.write(request) or request["path"]}
            else:
                reply = answer(peer.read(request), request["dtype"])
        except BaseException as e:  # including panics of Rust
            reply = {"error": f"{type(e).__name__}: {e}".splitlines()[0][:200]}
        print(json.dumps(reply), flush=True)


main(sys.argv[1])
