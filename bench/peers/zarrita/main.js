// SPDX-License-Identifier: Apache-2.0

// Does the work of the benchmarks with zarrita.js, as its documentation advises: see bench/protocol.
import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

const LEAST = 0.2; // seconds that short work is repeated for

class Unsupported extends Error {}

class Sum {
  constructor(limit = 0) { Object.assign(this, { limit, total: 0n, bytes: 0 }); }

  add(i, values) {
    const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const crc = crc32(this.limit ? data.subarray(0, this.limit) : data);
    this.bytes += data.length;
    this.total = BigInt.asUintN(64, this.total + BigInt(crc) * BigInt(2 * i + 1));
  }

  answer() { return { bytes: this.bytes, checksum: this.total.toString(16).padStart(16, "0") }; }
}

class Timer {
  constructor() { Object.assign(this, { wall: performance.now(), cpu: process.cpuUsage() }); }

  stop() {
    const { user, system } = process.cpuUsage(this.cpu);
    return { seconds: (performance.now() - this.wall) / 1e3, cpu: (user + system) / 1e6 };
  }
}

const store = (location) => location.startsWith("http:") ? new zarr.FetchStore(location) : new FileSystemStore(location);

async function array(location) {
  const a = await zarr.open.v3(zarr.root(store(location)), { kind: "array" });
  try {
    if (a.chunks) return a;
  } catch { /* it looks for the one length of an axis */ }
  throw new Unsupported("it knows no rectilinear grids");
}

/** Rows of integers of a file. */
function numbers(name, width) {
  const bytes = readFileSync(name);
  const all = Array.from(new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8), Number);
  return Array.from({ length: all.length / width }, (_, i) => all.slice(i * width, (i + 1) * width));
}

const regions = ({ regions: name, rank }) =>
  numbers(name, 2 * rank).map((row) => row.slice(0, rank).map((begin, k) => zarr.slice(begin, row[rank + k])));

/** Calls f(0) to f(count - 1), n at a time. */
async function flying(f, count, n) {
  let next = 0;
  await Promise.all(Array.from({ length: n }, async () => {
    while (next < count) await f(next++);
  }));
}

/** A queue that runs n tasks at a time, for zarr.get: without one it opens more files than a process may have. */
const queue = (n) => () => {
  const tasks = [];
  return { add: (f) => tasks.push(f), onIdle: () => flying((i) => tasks[i](), tasks.length, n) };
};

const works = {
  async "read-all"({ store: location, concurrency }) {
    const timer = new Timer();
    const { data } = await zarr.get(await array(location), null, { createQueue: queue(concurrency || 64) });
    const times = timer.stop(), checking = new Timer(), sum = new Sum();
    sum.add(0, data);
    return { ...times, ...sum.answer(), checking: checking.stop().seconds };
  },

  async "read-regions"(request) {
    const boxes = regions(request), sum = new Sum(request.check), timer = new Timer();
    const a = await array(request.store);
    await flying(async (i) => sum.add(i, (await zarr.get(a, boxes[i])).data), boxes.length, request.concurrency);
    return { ...timer.stop(), ...sum.answer() };
  },

  async copy(request) {
    if (request.sync) throw new Unsupported("nothing that it writes is synced");
    const boxes = regions(request), timer = new Timer();
    const a = await array(request.store), b = await array(request.target);
    let bytes = 0;
    await flying(async (i) => {
      const block = await zarr.get(a, boxes[i]);
      bytes += block.data.byteLength;
      await zarr.set(b, boxes[i], block);
    }, boxes.length, request.concurrency);
    return { ...timer.stop(), bytes };
  },

  async open({ store: location }) {
    const timer = new Timer(), sum = new Sum();
    for (let n = 1; ; n++) {
      const a = await array(location);
      const { data } = await zarr.get(a, a.shape.map((length) => zarr.slice(length - 1, length)));
      const { seconds, cpu } = timer.stop();
      if (seconds < LEAST) continue;
      sum.add(0, data);
      return { seconds: seconds / n, cpu: cpu / n, ...sum.answer() };
    }
  },
};

async function answer(request) {
  if (!works[request.work]) return { unsupported: "there is no call for it" };
  try {
    return await works[request.work](request);
  } catch (error) {
    if (error instanceof Unsupported || `${error}`.includes("set on sharded arrays")) return { unsupported: error.message };
    throw error;
  }
}

console.log(JSON.stringify(await answer(JSON.parse(process.argv[2]))));
