// SPDX-License-Identifier: Apache-2.0

// Opens an array in neuroglancer and posts the values that it has at some positions. The
// query has the source, the positions, and the address for the answer: {"values"} or
// {"error"}.
import { setupDefaultViewer } from "neuroglancer/unstable/ui/default_viewer_setup.js";
import "neuroglancer/unstable/datasource/enabled_frontend_modules.js";
import "neuroglancer/unstable/layer/enabled_frontend_modules.js";

const query = new URLSearchParams(location.search);
const answer = (value) => fetch(query.get("answer"), { method: "POST", body: JSON.stringify(value) });
const pause = () => new Promise((done) => setTimeout(done, 50));

/** Waits until neuroglancer has the value at a position, or a message that it cannot read the source. */
async function valueAt(viewer, position) {
  for (;;) {
    const layer = viewer.layerManager.getLayerByName("array")?.layer;
    const messages = [...(layer?.dataSources ?? [])].flatMap((source) => [...(source.messages ?? [])].map((m) => m.message));
    if (messages.some((m) => !m.startsWith("Loading"))) throw new Error(messages.join("; "));
    if (viewer.coordinateSpace.value?.valid) {
      viewer.position.value = Float32Array.from(position, (i) => i + 0.5);
      const value = layer?.getValueAt(viewer.position.value, { pickedRenderLayer: null, pickedValue: 0n, pickedOffset: 0 });
      if (value !== null && value !== undefined) return `${value}`;
    }
    await pause();
  }
}

async function values() {
  const viewer = setupDefaultViewer();
  viewer.state.restoreState({
    layers: [{ type: "image", name: "array", source: query.get("source") }], layout: "xy", crossSectionScale: 1,
  });
  const found = [];
  for (const position of JSON.parse(query.get("positions"))) found.push(await valueAt(viewer, position));
  return { values: found };
}

answer(await values().catch((error) => ({ error: `${error}` })));
