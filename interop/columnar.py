# SPDX-License-Identifier: Apache-2.0

"""Tables in files of Parquet, as other programs write and read them.

columnar.py golden DIR [ROWS]  writes files in many forms, and expected.json with what pyarrow finds in them: the
                               same as in another file, or the types and columns
columnar.py read FILE          prints what pyarrow, pandas, Polars, DuckDB and fastparquet find in a file
columnar.py sums FILE          prints the rows that pyarrow, Polars and DuckDB find in a file by filters
columnar.py speed FILE LEVEL   prints the seconds that pyarrow needs to write the table of a file to memory
"""

import datetime
import decimal
import json
import math
import os
import sys
import time

import duckdb
import fastparquet
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq


def spelled(t):
    """A type as package columnar spells it."""
    if pa.types.is_dictionary(t):
        return spelled(t.value_type)
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return f"list<{spelled(t.value_type)}>"
    names = {
        "float": "float32", "double": "float64", "halffloat": "float16", "large_string": "string", "string_view": "string", "large_binary": "binary",
        "binary_view": "binary", "time32[ms]": "time64[ms]", "time32[s]": "time64[s]", "date32[day]": "date32",
    }
    text = str(t).replace("decimal32(", "decimal128(").replace("decimal64(", "decimal128(")
    for zone in ("+00:00", "Etc/UTC"):
        text = text.replace(zone, "UTC")
    return names.get(text, text)


def plain(column):
    """The elements of a column in JSON: None, a text, or a list of them."""
    t = column.type
    if isinstance(column, pa.ChunkedArray):
        return [x for part in column.chunks for x in plain(part)]
    if pa.types.is_dictionary(t):
        return plain(column.dictionary_decode())
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [None if not x.is_valid else plain(x.values) for x in column]
    if pa.types.is_timestamp(t) or pa.types.is_time64(t) or pa.types.is_duration(t):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(t) or pa.types.is_time32(t):
        column = column.cast(pa.int32())
    if pa.types.is_floating(t):
        bits = {16: np.uint16, 32: np.uint32, 64: np.uint64}[t.bit_width]
        data = np.frombuffer(column.buffers()[1], bits)[column.offset : column.offset + len(column)] if len(column) else []
        return [f"{x:x}" if valid else None for x, valid in zip(data, column.is_valid().to_pylist())]
    if pa.types.is_decimal(t):
        digits = decimal.Context(prec=80)
        return [None if x is None else str(int(x.scaleb(t.scale, digits))) for x in column.to_pylist()]
    return [x if x is None or isinstance(x, str) else x.hex() if isinstance(x, bytes) else str(x).lower() for x in column.to_pylist()]


def flat(table):
    while any(pa.types.is_struct(f.type) for f in table.schema):
        table = table.flatten()
    return table


def found(table):
    table = flat(table)
    return {"types": [spelled(f.type) for f in table.schema], "names": table.schema.names, "columns": [plain(c) for c in table.columns]}


def every(rows, seed=1):
    """A table of all types, with nulls, repeated values and runs."""
    r = np.random.default_rng(seed)
    words = ["", "a", "word", "été", "long " * 30]
    nulls = r.random(rows) < 0.2
    bytes_of = lambda n: [bytes(r.integers(0, 256, n, np.uint8)) for _ in range(rows)]
    masked = lambda values, t: pa.array([None if m else v for m, v in zip(nulls, values)], t)
    whole = lambda name: r.integers(np.iinfo(name).min, np.iinfo(name).max, rows, name, endpoint=True).tolist()
    columns = {"bool": masked((r.random(rows) < 0.5).tolist(), pa.bool_()), "runs": pa.array([i // 20 % 2 == 0 for i in range(rows)])}
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = masked(whole(f"int{bits}"), pa.from_numpy_dtype(f"int{bits}"))
        columns[f"uint{bits}"] = pa.array(whole(f"uint{bits}"), pa.from_numpy_dtype(f"uint{bits}"))
    columns["steps"] = pa.array(np.cumsum(r.integers(0, 9, rows)))
    floats = r.normal(0, 1, rows)
    floats[::7], floats[1::9] = np.nan, -0.0
    for t in (pa.float16(), pa.float32(), pa.float64()):
        columns[str(t)] = pa.array(floats.astype(t.to_pandas_dtype()), t)
    columns["few"] = masked([float(i % 5) for i in range(rows)], pa.float64())
    columns["text"] = masked([words[i] + (str(i % 11) if i else "") for i in r.integers(0, 5, rows)], pa.string())
    columns["binary"] = masked(bytes_of(5), pa.binary())
    columns["fixed"] = masked(bytes_of(3), pa.binary(3))
    for unit in ("ms", "us", "ns"):
        # Version 1.0 has no nanoseconds, and takes those that are microseconds.
        scale = 1000 if unit == "ns" else 1
        columns[f"at_{unit}"] = masked((scale * r.integers(-(10**15), 10**15, rows)).tolist(), pa.timestamp(unit, None if unit == "us" else "UTC"))
        columns[f"time_{unit}"] = pa.array((scale * r.integers(0, 86_400_000, rows)).tolist(), pa.time32("ms") if unit == "ms" else pa.time64(unit))
    columns["date"] = masked(r.integers(-50_000, 50_000, rows).tolist(), pa.date32())
    for digits in (5, 15, 30):
        limit = 10 ** min(digits, 18)
        columns[f"decimal{digits}"] = masked([decimal.Decimal(int(x)).scaleb(-2) for x in r.integers(-limit + 1, limit, rows)], pa.decimal128(digits, 2))
    return pa.table(columns)


def nested(rows):
    r = np.random.default_rng(7)
    lists = lambda make: [None if r.random() < 0.2 else [None if r.random() < 0.2 else make() for _ in range(r.integers(0, 4))] for _ in range(rows)]
    number = lambda: int(r.integers(-1000, 1000))
    structs = [None if r.random() < 0.2 else {"a": number(), "b": None if r.random() < 0.3 else {"c": f"t{number()}", "l": [number()] * (i % 3)}} for i in range(rows)]
    return pa.table({
        "ints": pa.array(lists(number), pa.list_(pa.int16())),
        "texts": pa.array(lists(lambda: f"text {number()}"), pa.list_(pa.string())),
        "full": pa.array([[float(k) for k in range(i % 4)] for i in range(rows)], pa.list_(pa.field("element", pa.float32(), False))),
        "s": pa.array(structs, pa.struct({"a": pa.int64(), "b": pa.struct({"c": pa.string(), "l": pa.list_(pa.int32())})})),
        "n": pa.array(range(rows)),
    })


def golden(dir, rows=60):
    os.makedirs(dir, exist_ok=True)
    expected = {}

    def add(name, write, table=None):
        path = os.path.join(dir, name + ".parquet")
        write(path)
        now = found(pq.read_table(path) if table is None else table(path))
        expected[name] = next((other for other, before in expected.items() if before == now), now)

    table = every(rows)
    for i, codec in enumerate(["none", "snappy", "gzip", "zstd", "lz4"]):
        for version in ("1.0", "2.6"):
            page = ("1.0", "2.0")[(i + (version == "1.0")) % 2]
            options = dict(compression=codec, version=version, data_page_version=page, use_dictionary=i % 2 == 0, data_page_size=300, row_group_size=37, store_schema=False, write_page_checksum=i % 2 == 0)
            add(f"pyarrow_{codec}_{version}_{page}", lambda path: pq.write_table(table, path, write_batch_size=20, **options))
    # Encodings that no program chooses by itself.
    physical = {"INT32": "DELTA_BINARY_PACKED", "INT64": "DELTA_BINARY_PACKED", "BYTE_ARRAY": "DELTA_BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY": "BYTE_STREAM_SPLIT", "FLOAT": "BYTE_STREAM_SPLIT", "DOUBLE": "BYTE_STREAM_SPLIT", "BOOLEAN": "RLE"}
    for page in ("1.0", "2.0"):
        for change in ({}, {"BYTE_ARRAY": "DELTA_LENGTH_BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY": "DELTA_BYTE_ARRAY", "INT32": "BYTE_STREAM_SPLIT", "INT64": "BYTE_STREAM_SPLIT"}):
            of = {**physical, **change}
            many = every(max(rows, 200), seed=3)
            pq.write_table(many, os.path.join(dir, "trial"))
            schema = pq.ParquetFile(os.path.join(dir, "trial")).schema
            encodings = {schema.column(i).path: of[schema.column(i).physical_type] for i in range(len(many.schema))}
            os.remove(os.path.join(dir, "trial"))
            add(f"deltas_{page}_{len(change)}", lambda path: pq.write_table(many, path, use_dictionary=False, column_encoding=encodings, data_page_version=page, data_page_size=1200, write_batch_size=150, compression="zstd", store_schema=False))
    times = pa.table({"at": pa.array([0, -1, 1_700_000_000_123_456_789, None], pa.timestamp("ns")), "n": [1, 2, 3, 4]})
    add("int96", lambda path: pq.write_table(times, path, use_deprecated_int96_timestamps=True))
    short = pa.table({"d": pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("-99.99")], pa.decimal128(4, 2)), "e": pa.array([decimal.Decimal("-123456789.5"), decimal.Decimal(0), None], pa.decimal128(12, 1))})
    add("decimal_integers", lambda path: pq.write_table(short, path, store_decimal_as_integer=True))
    lists = nested(rows)
    for page in ("1.0", "2.0"):
        add(f"nested_{page}", lambda path: pq.write_table(lists, path, data_page_version=page, data_page_size=100, write_batch_size=7, row_group_size=41))
    add("legacy_lists", lambda path: pq.write_table(lists, path, use_compliant_nested_type=False))
    add("empty", lambda path: pq.write_table(table.slice(0, 0), path))
    add("maps", lambda path: pq.write_table(pa.table({"m": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())), "n": [1, 2]}), path), lambda _: pa.table({"n": [1, 2]}))
    deep = pa.table({"d": pa.array([[[1]], None]), "n": [1, 2]})
    add("deep", lambda path: pq.write_table(deep, path), lambda _: pa.table({"n": [1, 2]}))
    add("brotli", lambda path: pq.write_table(pa.table({"n": [1, 2]}), path, compression="brotli"))
    # Other programs.
    some = table.drop_columns(["float16"] if "float16" in table.schema.names else ["halffloat"])
    joined = some.append_column("ints", lists["ints"]).append_column("texts", lists["texts"])
    database = duckdb.connect()
    database.register("joined", joined)
    for codec, version in (("zstd", "v2"), ("snappy", "v1")):
        add(f"duckdb_{codec}", lambda path: database.execute(f"copy joined to '{path}' (format parquet, compression {codec}, parquet_version {version})"), lambda path: database.sql(f"from '{path}'").to_arrow_table())
    add("polars_zstd", lambda path: pl.from_arrow(joined).write_parquet(path, compression="zstd"))
    add("polars_lz4", lambda path: pl.from_arrow(joined).write_parquet(path, compression="lz4", data_page_size=200))
    frame = table.select(["bool", "int32", "int64", "uint8", "few", "text", "binary", "at_us"]).to_pandas()
    frame["category"] = pd.Categorical([f"c{i % 3}" for i in range(rows)])
    frame["text"] = frame["text"].astype(object)
    for codec in ("GZIP", "SNAPPY"):
        add(f"fastparquet_{codec.lower()}", lambda path: fastparquet.write(path, frame, compression=codec, times="int96" if codec == "GZIP" else "int64"))
    with open(os.path.join(dir, "expected.json"), "w") as f:
        json.dump(expected, f, ensure_ascii=True, separators=(",", ":"))
        f.write("\n")


def read(path):
    """What each program finds. Types that a program does not have are those that it has instead."""
    t = pq.read_table(path)
    answers = {"pyarrow": found(t)}
    answers["dataset"] = found(pq.read_table(path, use_threads=False, memory_map=True))
    answers["duckdb"] = found(duckdb.sql(f"select * from read_parquet('{path}')").to_arrow_table())
    answers["polars"] = found(pl.read_parquet(path).to_arrow())
    answers["scan"] = found(pl.scan_parquet(path).collect().to_arrow())
    answers["pandas"] = {"columns": [counted(c) for _, c in pd.read_parquet(path, engine="pyarrow").items()]}
    answers["fastparquet"] = {"columns": [counted(c) for _, c in fastparquet.ParquetFile(path).to_pandas().items()]}
    answers["filters"] = filtered(path, t)
    answers["metadata"] = [
        {k: None if v is None else str(v) for k, v in row.items()}
        for row in duckdb.sql(f"select path_in_schema, stats_min_value, stats_max_value, stats_null_count, encodings, compression from parquet_metadata('{path}')").to_arrow_table().to_pylist()
    ]
    return answers


def filtered(path, table):
    """The filters by which a program finds other rows than there are, because of statistics that are wrong."""
    wrong = []
    lazy, data = pl.scan_parquet(path), pa.dataset.dataset(path)
    for field in table.schema:
        if pa.types.is_list(field.type) or pa.types.is_float16(field.type):
            continue
        for x in table[field.name].drop_null().unique().slice(0, 12):
            v = x.as_py() if not pa.types.is_timestamp(field.type) and not pa.types.is_time(field.type) else x
            for name, one in (("=", pc.equal), ("<=", pc.less_equal), (">=", pc.greater_equal)):
                want = table.filter(one(table[field.name], x)).num_rows
                # pyarrow takes it that all values are between the bounds, also in its own files.
                nans = pa.types.is_floating(field.type) and pc.any(pc.is_nan(table[field.name])).as_py()
                found = {} if nans else {"pyarrow": data.filter(one(pc.field(field.name), x)).count_rows()}
                if isinstance(v, (str, int, bytes, decimal.Decimal, datetime.date)) and v == v:
                    found["duckdb"] = duckdb.execute(f'select count(*) from read_parquet($1) where "{field.name}" {name} $2', [path, v]).fetchall()[0][0]
                    c = pl.col(field.name)
                    if not isinstance(v, decimal.Decimal):
                        keep = {"=": c == v, "<=": c <= v, ">=": c >= v}[name]
                        found["polars"] = lazy.filter(keep).select(pl.len()).collect().item()
                wrong += [f"{program}: {n} rows have {field.name} {name} {v}, which are {want}" for program, n in found.items() if n != want]
    return wrong


def sums(path):
    """Rows by filters of the columns n and text of a large file, for which programs skip pages and row groups."""
    answers = {}
    for name, where in {"all": "true", "few": "n between 1000 and 1010", "many": "n >= 200000 and n < 500000", "text": "text = 'text 777'", "null": "n is null", "last": "text > 'text 9990'"}.items():
        sql = f"select count(*), sum(n), sum(x), sum(length(text)), sum(len(list)) from read_parquet('{path}') where {where}"
        answers["duckdb " + name] = [float(v or 0) for v in duckdb.execute(sql).fetchall()[0]]
        frame = pl.SQLContext(t=pl.scan_parquet(path)).execute(f"select n, x, text, list from t where {where}").collect()
        lengths = frame["text"].str.len_bytes().sum(), frame["list"].list.len().sum()
        answers["polars " + name] = [float(v or 0) for v in (len(frame), frame["n"].sum(), frame["x"].sum(), *lengths)]
        n, text = pc.field("n"), pc.field("text")
        keep = {"all": None, "few": (n >= 1000) & (n <= 1010), "many": (n >= 200000) & (n < 500000), "text": text == "text 777", "null": n.is_null(), "last": text > "text 9990"}[name]
        found = pa.dataset.dataset(path).to_table(filter=keep)
        total = lambda column: pc.sum(column).as_py() or 0
        answers["pyarrow " + name] = [float(v) for v in (len(found), total(found["n"]), total(found["x"]), total(pc.binary_length(found["text"])), total(pc.list_value_length(found["list"])))]
    return answers


def counted(column):
    """The texts of a column of pandas, None for what is missing."""
    gone = lambda x: x is None or x is pd.NaT or x is pd.NA or isinstance(x, float) and math.isnan(x)
    form = lambda x: None if gone(x) else x.hex() if isinstance(x, bytes) else [form(y) for y in x] if isinstance(x, (list, np.ndarray)) else str(x).lower() if isinstance(x, (bool, np.bool_)) else str(x)
    return [form(x) for x in column.tolist()]


def speed(path, level):
    table = pq.read_table(path).combine_chunks()
    best = None
    for _ in range(5):
        wall, processor = time.perf_counter(), time.process_time()
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", compression_level=level, row_group_size=len(table), store_schema=False)
        took = {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor, "bytes": sink.getvalue().size}
        best = took if best is None or took["wall"] < best["wall"] else best
    return best


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["golden", dir, *rows]:
            golden(dir, *map(int, rows))
        case ["read", path]:
            json.dump(read(path), sys.stdout)
        case ["sums", path]:
            json.dump(sums(path), sys.stdout)
        case ["speed", path, level]:
            json.dump(speed(path, int(level)), sys.stdout)
        case _:
            sys.exit(__doc__)
