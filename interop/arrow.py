# SPDX-License-Identifier: Apache-2.0

"""Writes and reads tables of Arrow with pyarrow, Polars, DuckDB and pandas.

    python arrow.py testdata DIR     golden files, and what they have, for package columnar/arrow
    python arrow.py read FILE …      prints what each program reads of each file, as JSON
"""

import decimal
import json
import pathlib
import struct
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc

SAME = {pa.large_string(): "string", pa.string_view(): "string", pa.large_binary(): "binary", pa.binary_view(): "binary",
        pa.float16(): "float16", pa.float32(): "float32", pa.float64(): "float64", pa.null(): "float64", pa.date32(): "date32",
        pa.date64(): "timestamp[ms]"}


def name_of(t):
    """The name of the type that package columnar gives a column of a type."""
    if t in SAME:
        return SAME[t]
    if pa.types.is_dictionary(t):
        return name_of(t.value_type)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return f"list<{name_of(t.value_type)}>"
    if pa.types.is_time(t):
        return f"time64[{t.unit}]"
    if pa.types.is_timestamp(t) and t.tz:
        return f"timestamp[{t.unit}, tz=UTC]"
    if pa.types.is_decimal(t):
        return f"decimal128({t.precision}, {t.scale})"
    return {"double": "float64", "float": "float32", "halffloat": "float16"}.get(str(t), str(t))


def text_of(x, t):
    """A value as its bytes in Arrow, in hexadecimal digits."""
    if x is None:
        return "null"
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return "[" + " ".join(text_of(v, t.value_type) for v in x) + "]"
    if isinstance(x, str):
        x = x.encode()
    elif pa.types.is_boolean(t):
        x = bytes([x])
    elif pa.types.is_floating(t):
        x = struct.pack({16: "<e", 32: "<f", 64: "<d"}[t.bit_width], x)
    elif pa.types.is_decimal(t):
        with decimal.localcontext(prec=200):
            x = int(x.scaleb(t.scale)).to_bytes(16, "little", signed=True)
    elif isinstance(x, int):
        bits = 64 if pa.types.is_time(t) or not pa.types.is_integer(t) and not pa.types.is_date32(t) else t.bit_width
        x = x.to_bytes(bits // 8, "little", signed=x < 0)
    return bytes(x).hex()


def flat(column, field, above=""):
    """The columns that a column becomes: those of a struct."""
    if not pa.types.is_struct(field.type):
        return [(pa.field(above + field.name, field.type, field.nullable), column)]
    return [c for i, a in enumerate(column.flatten()) for c in flat(a, field.type.field(i).with_nullable(field.nullable or field.type.field(i).nullable), above + field.name + ".")]


def texts(column, t):
    if pa.types.is_dictionary(t):
        t = t.value_type
        column = pa.array(column.to_pylist(), t) if not pa.types.is_decimal(t) else column.cast(t)
    if pa.types.is_temporal(t):
        wide = pa.int32() if t.bit_width == 32 else pa.int64()
        column = column.cast(wide)
    elif (pa.types.is_list(t) or pa.types.is_large_list(t)) and pa.types.is_temporal(t.value_type):
        column = column.cast(pa.list_(pa.int64()))
    return [text_of(x, t) for x in column.to_pylist()]


def content(batches, schema):
    """What a table has: names and types of columns, and the values of each batch."""
    fields, out = None, []
    for b in batches:
        columns = [c for i, f in enumerate(schema) for c in flat(b.column(i), f)]
        fields = [c[0] for c in columns]
        out.append([b.num_rows, [texts(c, f.type) for f, c in columns]])
    return {"fields": [[f.name, name_of(f.type), f.nullable] for f in fields or []], "batches": out}


def opened(path):
    raw = pathlib.Path(path).read_bytes()
    if raw.startswith(b"ARROW1"):
        r = pa.ipc.open_file(path)
        return [r.get_batch(i) for i in range(r.num_record_batches)], r.schema
    r = pa.ipc.open_stream(raw)
    return list(r), r.schema


D = decimal.Decimal
SIMPLE = [
    ("bool", pa.bool_(), [True, None, False]), ("i1", pa.int8(), [-128, None, 127]), ("i2", pa.int16(), [-2, None, 3]),
    ("i4", pa.int32(), [-2, None, 3]), ("i8", pa.int64(), [-(2**63), None, 2**63 - 1]), ("u1", pa.uint8(), [255, None, 0]),
    ("u2", pa.uint16(), [65535, None, 0]), ("u4", pa.uint32(), [2**32 - 1, None, 0]), ("u8", pa.uint64(), [2**64 - 1, None, 0]),
    ("f2", pa.float16(), [1.5, None, -2]), ("f4", pa.float32(), [1.5, None, float("inf")]), ("f8", pa.float64(), [0.1, None, -0.0]),
    ("text", pa.string(), ["", None, "Grüße, 世界"]), ("bytes", pa.binary(), [b"\x00\xff", None, b""]), ("fixed", pa.binary(3), [b"abc", None, b"\0\0\0"]),
    ("s", pa.timestamp("s"), [0, None, -1]), ("ns", pa.timestamp("ns", "Europe/Berlin"), [1, None, 2**62]), ("us", pa.timestamp("us"), [1, None, 2]),
    ("ago", pa.duration("ms"), [-5, None, 5]), ("day", pa.date32(), [-1, None, 20000]), ("at", pa.time64("us"), [1, None, 86399999999]),
    ("price", pa.decimal128(10, 2), [D("-1.25"), None, D("99999999.99")]), ("floats", pa.list_(pa.float32()), [[1, None, 3], None, []]),
    ("words", pa.list_(pa.string()), [["a", None], None, ["b"]]), ("required", pa.field("required", pa.int32(), nullable=False), [1, 2, 3]),
]
OTHER = [
    ("large text", pa.large_string(), ["a", None, "bc"]), ("large bytes", pa.large_binary(), [b"a", None, b"bc"]),
    ("large list", pa.large_list(pa.int8()), [[1], None, [2, 3]]), ("pairs", pa.list_(pa.int16(), 2), [[1, 2], None, [3, 4]]),
    ("text view", pa.string_view(), ["short", None, "longer than twelve bytes"]), ("byte view", pa.binary_view(), [b"thirteen byte", None, b"twelve bytes"]),
    ("nothing", pa.null(), [None, None, None]), ("date64", pa.date64(), [0, None, 86400000]), ("t32s", pa.time32("s"), [1, None, 86399]),
    ("t32ms", pa.time32("ms"), [1, None, 86399999]), ("d32", pa.decimal32(5, 1), [D("-1.5"), None, D("9999.9")]),
    ("d64", pa.decimal64(15, 3), [D("-1.5"), None, D("9.999")]), ("d256", pa.decimal256(38, 0), [D(-(10**37)), None, D(10**37)]),
    ("place", pa.struct([("lat", pa.float32()), pa.field("id", pa.int32(), nullable=False), ("in", pa.struct([("x", pa.int8())]))]),
     [{"lat": 1, "id": 2, "in": {"x": 3}}, None, {"lat": None, "id": 4, "in": None}]),
]


def table(columns):
    fields = [t if isinstance(t, pa.Field) else pa.field(n, t) for n, t, _ in columns]
    arrays = [pa.array(values, f.type) if not pa.types.is_float16(f.type) else half(values) for f, (_, _, values) in zip(fields, columns)]
    return pa.Table.from_batches([pa.record_batch(arrays, schema=pa.schema(fields, {"made by": "pyarrow"}))])


def half(values):
    import numpy as np
    return pa.array([None if v is None else np.float16(v) for v in values], pa.float16())


def write(path, batches, schema, file=True, **options):
    options = pa.ipc.IpcWriteOptions(**options)
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(str(path), schema, options=options) as w:
        for b in batches:
            w.write_batch(b)


def golden(out):
    t = table(SIMPLE)
    two = t.to_batches()[0]
    halves = [two.slice(0, 2), two.slice(2)]  # slices have offsets that do not begin with 0
    write(out / "simple.arrow", halves, t.schema)
    write(out / "simple.arrows", halves, t.schema, file=False)
    write(out / "old.arrows", halves, t.schema, file=False, use_legacy_format=True, metadata_version=pa.ipc.MetadataVersion.V4)
    for codec in "lz4", "zstd":
        long = pa.table({"n": pa.array(range(300), pa.int32()), "text": pa.array(["ab" * (i % 3) for i in range(300)])})
        write(out / f"{codec}.arrow", long.to_batches(), long.schema, compression=codec)
    t = table(OTHER)
    write(out / "other.arrow", t.to_batches(), t.schema)

    words = lambda d, i: pa.DictionaryArray.from_arrays(pa.array(i, pa.int8()), pa.array(d))
    schema = pa.schema([("word", pa.dictionary(pa.int8(), pa.string())), ("n", pa.dictionary(pa.uint16(), pa.int64())), ("many", pa.list_(pa.dictionary(pa.int32(), pa.string())))])
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint16()), pa.array([2**40, None], pa.int64()))
    many = pa.array([["x", "y"], None, ["x"]], pa.list_(pa.string())).cast(schema.field("many").type)
    rows = [pa.record_batch([words(d, i), numbers, many], schema=schema) for d, i in
            [(["a", "b"], [0, 1, None]), (["a", "b", "", None], [2, 3, 0]), (["a", "b", "", None, "c"], [4, 3, 2])]]
    write(out / "delta.arrows", rows, schema, file=False, emit_dictionary_deltas=True)
    write(out / "delta.arrow", rows, schema, emit_dictionary_deltas=True)
    rows.append(pa.record_batch([words(["z"], [0, 0, None]), numbers, many], schema=schema))
    write(out / "replaced.arrows", rows, schema, file=False)
    write(out / "empty.arrow", [], schema)
    for p in sorted(out.glob("*.arrow*")):
        p.with_suffix(p.suffix + ".json").write_text(json.dumps(content(*opened(p)), separators=(",", ":")) + "\n")

    import polars as pl
    frame = pl.DataFrame({"n": [1, None, 3], "text": ["short", None, "longer than twelve bytes"], "cat": ["x", "y", None], "l": [[1.5], None, []]}).with_columns(pl.col("cat").cast(pl.Categorical))
    for codec in "uncompressed", "lz4", "zstd":
        frame.write_ipc(out / f"polars-{codec}.arrow", compression=codec)
    frame.write_ipc_stream(out / "polars.arrows")
    for p in sorted(out.glob("polars*.arrow*")):
        if not p.name.endswith(".json"):
            p.with_suffix(p.suffix + ".json").write_text(json.dumps(content(*opened(p)), separators=(",", ":")) + "\n")

    for name, a in {
        "union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        "interval": pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "run-end": pa.RunEndEncodedArray.from_arrays([1], [1]),
        "list-view": pa.array([[1]], pa.list_view(pa.int8())), "lists": pa.array([[[1]]]), "structs": pa.array([[{"a": 1}]]),
        "digits": pa.array([D(1)], pa.decimal256(76, 0)),
    }.items():
        b = pa.record_batch([a], ["odd"])
        write(out / f"refused-{name}.arrow", [b], b.schema)
    pyarrow.feather.write_feather(pa.table({"x": [1]}), str(out / "refused-feather.arrow"), version=1)


def reads(path):
    """What pyarrow, Polars, DuckDB and pandas read of a file."""
    import duckdb
    import polars as pl
    batches, schema = opened(path)
    t = pa.Table.from_batches(batches, schema)
    t.validate(full=True)
    p = (pl.read_ipc if path.endswith(".arrow") else pl.read_ipc_stream)(path)
    d = duckdb.connect().execute("set timezone='UTC'").sql("select * from t") if False else None
    return {"pyarrow": content(batches, schema), "polars": p.height, "metadata": {k.decode(): v.decode() for k, v in (schema.metadata or {}).items()}}


if __name__ == "__main__":
    if sys.argv[1] == "testdata":
        golden(pathlib.Path(sys.argv[2]))
    else:
        print(json.dumps({p: reads(p) for p in sys.argv[2:]}))
