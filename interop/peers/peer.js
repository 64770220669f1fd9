// SPDX-License-Identifier: Apache-2.0

// Writes and reads arrays with zarrita; peer.py has the protocol.
import { createInterface } from "node:readline";
import { FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

const types = {
  bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array, uint8: Uint8Array,
  uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float32: Float32Array, float64: Float64Array,
};

/** Calls f with the place in the data of every element, in C order. */
function walk(shape, stride, f) {
  const visit = (axis, place) => {
    if (axis === shape.length) return f(place);
    for (let i = 0; i < shape[axis]; i++) visit(axis + 1, place + i * stride[axis]);
  };
  visit(0, 0);
}

async function read({ path, dtype }) {
  const array = await zarr.open(zarr.root(new FileSystemStore(path)), { kind: "array" });
  let found = await zarr.get(array);
  if (array.shape.length === 0) found = { data: dtype === "string" ? [found] : types[array.dtype].of(found), shape: [], stride: [] };
  if (dtype === "string") {
    const list = [];
    walk(found.shape, found.stride, (k) => list.push(typeof found.data.get === "function" ? found.data.get(k) : found.data[k]));
    return { data: list };
  }
  if (!(array.dtype in types)) throw new TypeError(`the data type is ${array.dtype}`);
  const { buffer, byteOffset, BYTES_PER_ELEMENT: size = 1 } = found.data;
  const bytes = Buffer.from(buffer, byteOffset), parts = [];
  walk(found.shape, found.stride, (k) => parts.push(bytes.subarray(k * size, (k + 1) * size)));
  return { data: Buffer.concat(parts).toString("hex") };
}

async function write({ path, document, rows, data, format, dtype }) {
  if (format !== 3) throw new Error("zarrita writes format 3 only");
  if (document.chunk_grid.name !== "regular") throw new Error("zarrita makes regular grids only");
  const array = await zarr.create(new FileSystemStore(path), {
    shape: document.shape, chunkShape: document.chunk_grid.configuration.chunk_shape, dtype: document.data_type,
    codecs: document.codecs, fillValue: document.fill_value, dimensionNames: document.dimension_names,
    chunkSeparator: document.chunk_key_encoding.configuration.separator,
  });
  if (document.chunk_key_encoding.name !== "default") throw new Error("zarrita makes keys of the default encoding only");
  const shape = document.shape.length ? [rows, ...document.shape.slice(1)] : [];
  const stride = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  if (!(document.data_type in types)) throw new TypeError(`zarrita makes no elements of ${dtype}`);
  const bytes = Uint8Array.from(Buffer.from(data, "hex"));
  let elements = new types[document.data_type](bytes.buffer);
  if (document.data_type === "bool") elements = new zarr.BoolArray(bytes.buffer);
  await zarr.set(array, shape.length ? [zarr.slice(0, rows), ...shape.slice(1).map(() => null)] : null, { data: elements, shape, stride });
  return { path };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const reply = await (request.op === "write" ? write : read)(request).catch((e) => ({ error: `${e}`.split("\n")[0].slice(0, 200) }));
  console.log(JSON.stringify(reply));
}
