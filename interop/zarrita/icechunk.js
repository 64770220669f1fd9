// SPDX-License-Identifier: Apache-2.0

// Works on repositories of Icechunk in folders with @earthmover/icechunk: one request of
// JSON on each line of the input, and one answer on each line of the output.

import { createInterface } from "node:readline";
import { Repository, Storage } from "@earthmover/icechunk";

const operations = {
  // The values of a branch, in hexadecimal, by key.
  async read(repository, { branch }) {
    const { store } = await repository.readonlySession({ branch });
    const values = {};
    for (const key of await store.list()) values[key] = Buffer.from(await store.get(key)).toString("hex");
    return values;
  },
  // The commits of a branch, the last one first.
  async log(repository, { branch }) {
    return (await repository.ancestry({ branch })).map((s) => [s.id, s.message]);
  },
  // Commits values, in hexadecimal, by key. The document of an array comes before its chunks.
  async commit(repository, { branch, values, message }) {
    const session = await repository.writableSession(branch);
    const isDocument = ([key]) => key.endsWith("zarr.json");
    const list = Object.entries(values).sort((a, b) => isDocument(b) - isDocument(a));
    for (const [key, value] of list) await session.store.set(key, Buffer.from(value, "hex"));
    return session.commit(message);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    const storage = await Storage.newLocalFilesystem(request.folder);
    const repository = await Repository.openOrCreate(storage);
    console.log(JSON.stringify({ ok: await operations[request.op](repository, request) }));
  } catch (e) {
    console.log(JSON.stringify({ error: String(e) }));
  }
}
