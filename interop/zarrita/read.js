// SPDX-License-Identifier: Apache-2.0

// Reads arrays with zarrita: a request a line in, {"path", "part"}, an answer a line out, {"shape", "type", "data"} or {"error"}.
// part is [[start, stop, step], ...], or null for the whole array. data is in C order, hexadecimal and little endian, or a list of texts.
import { createInterface } from "node:readline";
import { FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

/** Calls f with the place in the data of every element, in C order. */
function walk({ shape, stride }, f) {
  const visit = (axis, place) => {
    if (axis === shape.length) return f(place);
    for (let i = 0; i < shape[axis]; i++) visit(axis + 1, place + i * stride[axis]);
  };
  visit(0, 0);
}

function elements(found, type) {
  if (Array.isArray(found.data)) {
    const list = [];
    walk(found, (k) => list.push(found.data[k]));
    return list;
  }
  const { buffer, byteOffset, BYTES_PER_ELEMENT: size = 1 } = found.data;
  const bytes = Buffer.from(buffer, byteOffset), parts = [];
  walk(found, (k) => parts.push(bytes.subarray(k * size, (k + 1) * size)));
  return Buffer.concat(parts).toString("hex");
}

async function read({ path, part }) {
  const store = path.startsWith("http:") ? new zarr.FetchStore(path) : new FileSystemStore(path);
  const array = await zarr.open(zarr.root(store), { kind: "array" });
  const found = await zarr.get(array, part?.map((s) => zarr.slice(...s)));
  const data = array.shape.length > 0 ? found : wrapped(found, array);
  return { shape: data.shape, type: array.dtype, data: elements(data, array.dtype) };
}

/** The one element of an array without axes, which zarrita gives as it is. */
function wrapped(value, array) {
  if (typeof value === "string") return { data: [value], shape: [], stride: [] };
  const types = {
    bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array,
    uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
  };
  return { data: types[array.dtype].of(value), shape: [], stride: [] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await read(JSON.parse(line)).catch((error) => ({ error: `${error}` }));
  console.log(JSON.stringify(answer));
}
