// SPDX-License-Identifier: Apache-2.0

// Bundles view.js and the workers of neuroglancer into the folder page, without icons.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const lib = "node_modules/neuroglancer/lib/";
const icons = {
  name: "icons",
  setup(b) {
    b.onResolve({ filter: /\.svg(\?raw)?$/ }, ({ path }) => ({ path, namespace: "icon" }));
    b.onLoad({ filter: /.*/, namespace: "icon" }, () => ({ contents: 'export default "<svg/>"', loader: "js" }));
  },
};
await build({
  entryPoints: ["view.js", lib + "chunk_worker.bundle.js", lib + "async_computation.bundle.js"],
  bundle: true, format: "esm", outdir: "page", entryNames: "[name]", plugins: [icons], logLevel: "error",
  loader: { ".html": "text", ".wasm": "file", ".png": "file", ".webp": "file" },
});
// The workers are beside the bundle.
for (const name of ["view.js", "chunk_worker.bundle.js"]) {
  const file = "page/" + name;
  writeFileSync(file, readFileSync(file, "utf8").replaceAll('"../async_computation.bundle.js"', '"./async_computation.bundle.js"'));
}
const head = '<!DOCTYPE html><meta charset="utf-8"><link rel="stylesheet" href="view.css">';
writeFileSync("page/index.html", head + '<div id="neuroglancer-container" style="width:400px;height:300px"></div><script type="module" src="view.js"></script>\n');
