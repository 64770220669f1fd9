# SPDX-License-Identifier: Apache-2.0

"""Arrays of every data type, codec, grid and format of zarr-python, and selections of them.

everything.py write DIR SEED N   writes random arrays DIR/<i>.zarr, their elements DIR/<i>.bin and DIR/<i>.json: attributes, selections with
                                 their elements, and a change by a selection, with the elements that it writes and all elements afterwards
everything.py judge DIR          compares all arrays DIR/*.zarr with DIR/*.after, and their attributes and dimension names; prints the differences
everything.py group DIR SEED N FORMAT   writes a group of random arrays with consolidated metadata
everything.py check DIR FORMAT          compares consolidated metadata with those of the nodes; prints the differences and the number of nodes
everything.py conformance DIR           writes arrays like those of zarr-conformance-tests
everything.py lines DIR                 prints the elements of all arrays DIR/*.zarr

Elements are in C order and little endian; those of variable length are a JSON list, bytes in hexadecimal digits.
"""

import json
import pathlib
import shutil
import sys
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ScaleOffset, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as nc
from zarr.dtype import VariableLengthBytes

warnings.simplefilter("ignore")
zarr.config.set({"array.rectilinear_chunks": True})

TYPES = [
    *("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"),
    *("<U3", "<U1", "|S4", "|S1", "|V3", "|V8", "<M8[ns]", "<M8[D]", "<M8[10us]", "<M8[Y]", "<m8[ms]", "<m8[7h]", "<m8[W]"),
    [("a", "<i2"), ("b", "<f4")],
    [("x", "<u4"), ("y", "|S2"), ("z", [("p", "<f8"), ("q", [("r", "|i1"), ("s", "<c8")])]), ("when", "<M8[s]"), ("w", "<U2")],
    *("string", "string", "bytes", "bytes"),
]
WORDS = ["", "a", "größer", "日本", "x" * 300, "a\x00b"]


def variable(dtype):
    return dtype in ("string", "bytes")


def elements(r, dtype, shape):
    if variable(dtype):
        words = np.array([w.encode() + b"\xff" * (i % 2) for i, w in enumerate(WORDS)] if dtype == "bytes" else WORDS, dtype=object)
        return words[r.integers(0, len(words), shape)] if shape else np.array(words[r.integers(len(words))], dtype=object)
    dtype = np.dtype(dtype)
    if dtype.names:
        data = np.zeros(shape, dtype)
        for name in dtype.names:
            data[name] = elements(r, dtype[name], shape)
        return data
    if dtype.kind == "U":
        return r.choice(["", "a", "öü", "日"], shape).astype(dtype)
    if dtype.kind == "f":
        return r.choice([0, 1.5, -0.0, np.nan, np.inf, -3e4, 0.25], shape).astype(dtype)
    if dtype.kind == "c":
        return (r.choice([0, 1.5, -2.25, 1e3], shape) + 1j * r.choice([0, 0.5, -4], shape)).astype(dtype)
    if dtype.kind == "b":
        return r.integers(0, 2, shape).astype(bool)
    count = int(np.prod(shape))
    return np.frombuffer(r.integers(0, 3, count * dtype.itemsize, dtype="u1").tobytes(), dtype).reshape(shape).copy()


def pick(r, choices):
    return choices[r.integers(len(choices))]


def filters(r, dtype, rank):
    """Codecs from arrays to arrays."""
    chain = []
    if rank == 0:
        return chain  # for a single element, zarr-python loses the byte order
    if rank > 1 and r.integers(3) == 0:
        chain.append(TransposeCodec(order=tuple(int(x) for x in r.permutation(rank))))
    if variable(dtype) or np.dtype(dtype).names or r.integers(3):
        return chain
    descr, kind, size = np.dtype(dtype).str, np.dtype(dtype).kind, np.dtype(dtype).itemsize
    if kind in "iu":
        chain.append(pick(r, [nc.Delta(dtype=descr), ScaleOffset(offset=1, scale=1), nc.FixedScaleOffset(offset=0, scale=1, dtype=descr)]))
    elif kind == "f" and size > 2:
        chain.append(pick(r, [
            nc.Quantize(digits=2, dtype=descr), nc.BitRound(keepbits=5), nc.AsType(encode_dtype="<f8", decode_dtype=descr),
            nc.AsType(encode_dtype="<f4", decode_dtype=descr), ScaleOffset(offset=0.5, scale=2.0),
        ]))
    elif kind == "b":
        chain.append(nc.PackBits())
    return chain


def compressors(r, dtype):
    size = 1 if variable(dtype) else np.dtype(dtype).itemsize
    choices = [
        lambda: BloscCodec(cname=pick(r, ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]), clevel=int(r.integers(10)), typesize=size,
                           shuffle=pick(r, ["noshuffle", "shuffle", "bitshuffle"]), blocksize=int(pick(r, [0, 0, 256]))),
        lambda: nc.Blosc(cname=pick(r, ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]), clevel=int(r.integers(10)), shuffle=int(r.integers(-1, 3))),
        lambda: GzipCodec(level=int(r.integers(10))), lambda: ZstdCodec(level=int(r.integers(-3, 10)), checksum=bool(r.integers(2))),
        Crc32cCodec, nc.CRC32, nc.CRC32C, nc.Adler32, nc.Fletcher32, nc.JenkinsLookup3,
        lambda: nc.Zlib(level=int(r.integers(10))), lambda: nc.GZip(level=int(r.integers(10))), lambda: nc.BZ2(level=int(r.integers(1, 10))),
        lambda: nc.LZMA(preset=int(r.integers(3))), lambda: nc.LZ4(acceleration=int(r.integers(1, 5))), lambda: nc.Zstd(level=int(r.integers(1, 10))),
    ]
    chain = [] if variable(dtype) or r.integers(3) else [nc.Shuffle(elementsize=size)]
    return chain + [pick(r, choices)() for _ in range(r.integers(3))]


def edges(r, extent):
    list_ = []
    while sum(list_) < extent:
        list_.append(int(min(r.integers(1, 5), extent - sum(list_))))
    return list_


def options(r, dtype, shape, form):
    """Arguments to create an array of a format."""
    rank = len(shape)
    if form == 2:
        compressor = pick(r, [None, numcodecs.Zstd(1), numcodecs.Blosc("lz4"), numcodecs.Zlib(1), numcodecs.LZ4()])
        vlen = {"string": [numcodecs.VLenUTF8()], "bytes": [numcodecs.VLenBytes()]}[dtype] if variable(dtype) else None
        chunks = tuple(int(x) for x in r.integers(1, 6, rank))
        return {"chunks": chunks, "filters": vlen, "compressors": compressor, "order": pick(r, "CF"),
                "chunk_key_encoding": {"name": "v2", "separator": pick(r, "./")}}
    inner = tuple(int(x) for x in r.integers(1, 5, rank))
    o = {"chunks": inner, "filters": filters(r, dtype, rank), "compressors": compressors(r, dtype)}
    if not variable(dtype) and r.integers(2):
        o["serializer"] = BytesCodec(endian=pick(r, ["little", "big"]))
    grid = r.integers(3)
    if grid == 0 and rank:
        o["shards"] = tuple(int(n * r.integers(1, 4)) for n in inner)
    elif grid == 1 and rank and min(shape) > 0:
        o["chunks"] = [edges(r, n) for n in shape]
    o["chunk_key_encoding"] = {"name": pick(r, ["default", "v2"]), "separator": pick(r, "./")}
    if rank and r.integers(2):
        o["dimension_names"] = [pick(r, ["x", None, f"d{k}"]) for k in range(rank)]
    return o


def create(path, r, dtype, shape, form):
    o = options(r, dtype, shape, form)
    typ = {"string": str, "bytes": VariableLengthBytes()}[dtype] if variable(dtype) else np.dtype(dtype)
    fill = elements(r, dtype, (1,))[0] if r.integers(2) else None
    if form == 2 and dtype == "bytes":
        fill = None
    attributes = {"_ARRAY_DIMENSIONS": [f"d{k}" for k in range(len(shape))], "big": 2**53 + 1, "text": "größer", "list": [1.5, None, {}]}
    array = zarr.create_array(path, shape=shape, dtype=typ, zarr_format=form, fill_value=fill, attributes=attributes if r.integers(2) else {}, **o)
    data = elements(r, dtype, shape)
    part = tuple(slice(0, int(r.integers(0, n + 1))) for n in shape)
    part = ... if r.integers(2) else part
    array[part] = data[part]
    return array


def whole(array):
    return np.asarray(array[...], dtype=object if array.dtype.kind in "OT" else array.dtype)


def stored(data):
    """Elements in the form in which they are exchanged."""
    if data.dtype == object:
        return json.dumps([x.hex() if isinstance(x, bytes) else str(x).encode().hex() for x in data.ravel()]).encode()
    return np.ascontiguousarray(data.astype(data.dtype.newbyteorder("<"))).tobytes()


# Selections: entries like those of NumPy, in JSON.


def slice_entry(r, n, backwards):
    step = int(r.integers(1, 4)) * (-1 if backwards and r.integers(2) else 1)
    bound = [None if r.integers(3) == 0 else int(r.integers(-n - 1, n + 2)) for _ in range(2)]
    return {"slice": [*bound, step if r.integers(4) else (step > 0) - (step < 0)]}


def entry(r, n, kind):
    which = r.integers(4)
    if which == 0:
        return {"int": int(r.integers(-n, n))}
    if kind == "orthogonal" and which == 1:
        return {"ints": [int(x) for x in r.integers(-n, n, r.integers(0, 6))]}
    if kind == "orthogonal" and which == 2:
        return {"mask": "".join(str(int(x)) for x in r.integers(0, 2, n))}
    return slice_entry(r, n, kind == "basic")


def random_selection(r, shape, counts):
    kind = pick(r, ["basic", "orthogonal", "coordinate", "mask", "block"])
    if kind == "mask":
        entries = [{"mask": "".join(str(int(x)) for x in r.integers(0, 2, int(np.prod(shape))))}]
    elif kind == "coordinate":
        count = int(r.integers(1, 5))
        wide = [[count], [2, count], [2, 1], [1, count]]
        entries = []
        for n in shape:
            form = pick(r, wide)
            entries.append({"shape": form, "ints": [int(x) for x in r.integers(-n, n, int(np.prod(form)))]})
    elif kind == "block":
        entries = [{"int": int(r.integers(n))} if r.integers(2) else {"slice": [int(x) for x in np.sort(r.integers(0, n + 1, 2))] + [1]} for n in counts]
    else:
        entries = [entry(r, n, kind) for n in shape]
        if kind == "basic" and r.integers(4) == 0:
            entries[r.integers(len(entries)):] = [{"ellipsis": True}]
    return {"kind": kind, "entries": entries}


def index(e, n):
    """An entry as an index of NumPy."""
    if "int" in e:
        return e["int"]
    if "slice" in e:
        return slice(*e["slice"])
    if "ellipsis" in e:
        return ...
    return np.array(e["ints"], dtype=int).reshape(e.get("shape", -1)) if "ints" in e else np.array([c == "1" for c in e["mask"]])


def numpy_index(sel, shape, sizes):
    """The selection as an index of NumPy, and the shape of its result."""
    items = [index(e, None) for e in sel["entries"]]
    if sel["kind"] == "mask":
        return items[0].reshape(shape), None
    if sel["kind"] in ("basic", "coordinate"):
        return tuple(items), None
    if sel["kind"] == "block":
        starts = [np.concatenate([[0], np.cumsum(s)]) for s in sizes]
        items = [slice(int(s[i]), int(s[i + 1])) if isinstance(i, int) else slice(int(s[i.start]), int(s[i.stop])) for i, s in zip(items, starts)]
        return tuple(items), None
    axes, kept = [], []
    for i, n in zip(items, shape):
        axis = np.arange(n)[[i] if isinstance(i, int) else i]
        axes.append(axis)
        kept += [] if isinstance(i, int) else [len(axis)]
    return np.ix_(*axes), kept


def write(directory, seed, n):
    refused = 0
    for i in range(n):
        r = np.random.default_rng([seed, i])
        dtype, form = pick(r, TYPES), 2 if r.integers(4) == 0 else 3
        shape = tuple(int(x) for x in r.integers(1, 9, int(r.integers(variable(dtype), 4))))
        if shape and r.integers(20) == 0:
            shape = (0, *shape[1:])
        path = directory / f"{i}.zarr"
        try:
            array = create(path, r, dtype, shape, form)
            data = whole(array)
        except Exception as error:  # combinations that zarr-python does not support
            print(f"{i}: {dtype}: {type(error).__name__}: {error}".replace("\n", " ")[:300])
            shutil.rmtree(path, ignore_errors=True)
            refused += 1
            continue
        (directory / f"{i}.bin").write_bytes(stored(data))
        case = {"attributes": dict(array.attrs), "type": str(dtype), "selections": []}
        sizes = array.write_chunk_sizes
        if data.size and data.ndim:
            for _ in range(5):
                sel = random_selection(r, shape, [len(s) for s in sizes])
                at, kept = numpy_index(sel, shape, sizes)
                found = np.asarray(data[at], dtype=data.dtype)
                found = found if kept is None else found.reshape(kept)
                case["selections"].append({**sel, "shape": list(found.shape), "data": stored(found).hex()})
            sel = case["selections"][0]
            at, kept = numpy_index(sel, shape, sizes)
            values = elements(r, dtype, tuple(sel["shape"]))
            after = data.copy()
            # An array of objects would take an array without axes for an element.
            after[at] = values.reshape(after[at].shape) if kept is not None else values[()]
            case["write"] = stored(np.asarray(values, dtype=data.dtype)).hex()
        else:
            after = data
        (directory / f"{i}.json").write_text(json.dumps(case))
        # Lossy codecs lose information of the written elements, too.
        copy = zarr.open_array(shutil.copytree(path, directory / f"{i}.copied"), mode="r+")
        copy[...] = after
        (directory / f"{i}.after").write_bytes(stored(whole(copy)))
        shutil.rmtree(directory / f"{i}.copied")
    print(f"{refused} refused")


def judge(directory):
    for path in sorted(directory.glob("*.zarr")):
        case = path.name.split(".")[0]
        if not (directory / f"{case}.json").exists():
            continue  # refused after it was created
        try:
            array = zarr.open_array(path, mode="r")
            if stored(whole(array)) != (directory / f"{case}.after").read_bytes():
                print(f"{path.name}: elements differ: {array.metadata}")
            found, want = dict(array.attrs), json.loads((directory / f"{case}.json").read_text())["attributes"]
            if "like" in path.name and array.ndim == 0 and array.metadata.zarr_format == 2:
                want["_ARRAY_DIMENSIONS"] = []  # xarray needs it to open the group
            for attributes in (found, want) if "other" in path.name else ():
                attributes.pop("_ARRAY_DIMENSIONS", None)  # names of dimensions: attributes in format 2 only
            if found != want:
                print(f"{path.name}: attributes {found}")
        except Exception as error:
            print(f"{path.name}: {type(error).__name__}: {error}")


def group(directory, seed, n, form):
    root = zarr.create_group(directory, zarr_format=form, attributes={"a": 1})
    root.create_group("deep/er", attributes={"b": [1.5]})
    for i in range(n):
        r = np.random.default_rng([seed, i])
        path = directory / pick(r, ["", "deep", "deep/er"]) / str(i)
        try:
            create(path, r, pick(r, TYPES), (5, 4), form)
        except Exception:
            shutil.rmtree(path, ignore_errors=True)
    zarr.consolidate_metadata(directory, zarr_format=form)


def check(directory, form):
    """Prints the number of nodes, and the nodes whose consolidated metadata differ from their own."""
    root = zarr.open_consolidated(directory, mode="r", zarr_format=form)
    nodes = root.metadata.consolidated_metadata.flattened_metadata
    for path, node in nodes.items():
        own = zarr.open(directory / path, mode="r", zarr_format=form).metadata
        if isinstance(root[path], zarr.Array) and node != own or dict(root[path].attrs) != own.attributes:
            print(f"{path}: {node}, its own are {own}")
    print(len(nodes))


def conformance(directory):
    """The six arrays of five types of zarr-conformance-tests. Their data are generated, since the originals have no licence."""
    cases = [("bool", "|b1", (2, 2), (2, 2), 2), ("int64", "<i8", (4, 4), (2, 2), 2), ("int32", "<i4", (30, 20, 10), (10, 10, 5), 2),
             ("float32", "<f4", (30, 20, 10), (10, 10, 5), 2), ("float64", "<f8", (30, 20, 10), (10, 10, 5), 2), ("int32_v3", "<i4", (2, 2), (2, 2), 3)]
    for k, (name, dtype, shape, chunks, form) in enumerate(cases):
        r = np.random.default_rng(k)
        compressor = [numcodecs.Zstd(0), numcodecs.Zlib(6), None][k % 3] if form == 2 else "auto"
        array = zarr.create_array(directory / f"{name}.zarr", shape=shape, chunks=chunks, dtype=dtype, zarr_format=form, compressors=compressor)
        array[: shape[0] * 2 // 3] = (r.standard_normal(shape) * 100).astype(dtype)[: shape[0] * 2 // 3]


def lines(directory):
    """Prints every element of every array below a directory, by the name of its folder."""
    for path in sorted(directory.glob("*.zarr")):
        for x in whole(zarr.open_array(path, mode="r")).ravel():
            print(f"{path.name} {json.dumps(x.item() if x.dtype != np.float32 else float(str(x)))}")


if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[2])
    numbers = [int(text) for text in sys.argv[3:]]
    {"write": write, "judge": judge, "group": group, "check": check, "conformance": conformance, "lines": lines}[sys.argv[1]](directory, *numbers)
