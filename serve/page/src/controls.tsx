// SPDX-License-Identifier: Apache-2.0

// What the user may choose about a picture: axes, places along the others, colours,
// overlays, and a second array.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ArrayFacts } from "./api";
import { Along } from "./along";
import { maps, proposed } from "./colours";
import { Icon } from "./icons";
import { change, view } from "./link";
import { resolve } from "./state";
import { count, last } from "./words";

const axisName = (a: ArrayFacts, i: number) => a.axes[i].name || "axis " + i;

export function Controls({ a }: { a: ArrayFacts }) {
	const v = view.value;
	const s = resolve(a, v);
	const free = a.axes.map((_, i) => i).filter((i) => i !== s.y && i !== s.x);
	const chooseAxis = (which: "y" | "x", i: number) => {
		const other = which === "y" ? s.x : s.y;
		// Choosing the axis of the other side swaps them.
		if (i === other) change({ y: s.x, x: s.y, box: null, pin: null, stretch: null });
		else change({ y: s.y, x: s.x, [which]: i, box: null, pin: null, stretch: null });
	};
	const map = v.map || proposed(a, v.beside === "difference");
	const pairs = (a.pair ?? []).filter((p) => p !== v.node);
	return (
		<div class="controls" role="toolbar" aria-label="Picture">
			<div class="group">
				{(["y", "x"] as const).map((which) => (
					<label key={which} class="field"><span>{which === "y" ? "Down" : "Across"}</span>
						<select value={s[which]} onChange={(e) => chooseAxis(which, Number(e.currentTarget.value))} aria-label={which === "y" ? "Vertical axis" : "Horizontal axis"}>
							{a.axes.map((_, i) => <option key={i} value={i}>{axisName(a, i)}</option>)}
						</select>
					</label>
				))}
				<button class="icon-button" title="Swap the axes" aria-label="Swap the axes" onClick={() => chooseAxis("y", s.x)}><Icon name="swap" /></button>
				<label class="check"><input type="checkbox" checked={s.stretch} onChange={(e) => change({ stretch: e.currentTarget.checked })} />Fill</label>
			</div>
			<div class="group">
				<label class="field"><span>Colours</span>
					<select value={map} onChange={(e) => change({ map: e.currentTarget.value })}>
						{(["sequential", "diverging", "categories"] as const).map((kind) => (
							<optgroup key={kind} label={kind}>{maps.filter((m) => m.kind === kind).map((m) => <option key={m.name} value={m.name}>{m.name}</option>)}</optgroup>
						))}
					</select>
				</label>
				{map !== "categories" && (
					<>
						<label class="field"><span>Range</span>
							<select value={["auto", "p2:98", "p1:99", "p0.1:99.9"].includes(v.range) ? v.range : "own"} onChange={(e) => e.currentTarget.value !== "own" && change({ range: e.currentTarget.value })}>
								<option value="auto">all values</option>
								<option value="p2:98">2 to 98 %</option>
								<option value="p1:99">1 to 99 %</option>
								<option value="p0.1:99.9">0.1 to 99.9 %</option>
								<option value="own" disabled>own numbers</option>
							</select>
						</label>
						<label class="check"><input type="checkbox" checked={v.log} onChange={(e) => change({ log: e.currentTarget.checked })} />Log</label>
						<label class="check"><input type="checkbox" checked={v.reverse} onChange={(e) => change({ reverse: e.currentTarget.checked })} />Reverse</label>
					</>
				)}
				{a.kind === "complex" && (
					<label class="field"><span>Part</span>
						<select value={v.part || "magnitude"} onChange={(e) => change({ part: e.currentTarget.value })}>
							{["magnitude", "phase", "real", "imaginary"].map((p) => <option key={p} value={p}>{p}</option>)}
						</select>
					</label>
				)}
			</div>
			<div class="group">
				<label class="check"><input type="checkbox" checked={v.borders} onChange={(e) => change({ borders: e.currentTarget.checked })} />Chunk borders</label>
				<label class="field"><span>Heat map</span>
					<select value={v.heat} onChange={(e) => change({ heat: e.currentTarget.value as typeof v.heat })}>
						<option value="">none</option>
						<option value="stored">stored or not</option>
						<option value="bytes">stored size</option>
						<option value="ratio">ratio</option>
						<option value="age">age</option>
					</select>
				</label>
			</div>
			{pairs.length > 0 && (
				<div class="group">
					<label class="field"><span>With</span>
						<select value={v.second} onChange={(e) => change({ second: e.currentTarget.value, beside: e.currentTarget.value ? v.beside : "" })} aria-label="Second array">
							<option value="">none</option>
							{pairs.map((p) => <option key={p} value={p}>{last(p)}</option>)}
							{v.second && !pairs.includes(v.second) && <option value={v.second}>{v.second}</option>}
						</select>
					</label>
					{v.second && (
						<label class="field"><span>as</span>
							<select value={v.beside} onChange={(e) => change({ beside: e.currentTarget.value as typeof v.beside })} aria-label="How the second array is shown">
								<option value="">value under the cursor</option>
								<option value="side">side by side</option>
								<option value="difference">difference</option>
							</select>
						</label>
					)}
				</div>
			)}
			{free.filter((i) => a.axes[i].length > 1).map((i) => <Slider key={v.node + i} a={a} axis={i} at={s.at} />)}
		</div>
	);
}

/** Slider chooses the place along an axis that is not in the picture. */
export function Slider({ a, axis, at }: { a: ArrayFacts; axis: number; at: number[] }) {
	const node = view.value.node;
	const [, redraw] = useState(0);
	const [isPlaying, setPlaying] = useState(false);
	const along = useMemo(() => new Along(node, axis, a.axes[axis]), [node, axis, a]);
	useEffect(() => {
		along.changed = () => redraw((n) => n + 1);
		along.ask(Math.max(0, at[axis] - 300), Math.min(a.shape[axis], at[axis] + 300));
		return () => along.end();
	}, [along]);
	const n = a.shape[axis];
	const go = (i: number) => {
		const next = [...at];
		next[axis] = Math.max(0, Math.min(n - 1, i));
		change({ at: next });
	};
	useEffect(() => {
		if (!isPlaying) return;
		const timer = setTimeout(() => go((at[axis] + 1) % n), 250);
		return () => clearTimeout(timer);
	}, [isPlaying, at[axis]]);
	const i = at[axis];
	return (
		<div class="slider">
			<span class="slider-name">{along.name}</span>
			<button class="icon-button" aria-label={isPlaying ? "Stop" : `Play along ${along.name}`} title={isPlaying ? "Stop" : "Play"} onClick={() => setPlaying(!isPlaying)}><Icon name={isPlaying ? "pause" : "play"} /></button>
			<input type="range" min={0} max={n - 1} step={1} value={i} aria-label={along.name} aria-valuetext={`${along.label(i)}, ${count(i + 1)} of ${count(n)}`} onInput={(e) => (setPlaying(false), go(Number(e.currentTarget.value)))} />
			<output><b>{along.label(i)}</b> <input class="index" type="number" min={0} max={n - 1} value={i} aria-label={`Index along ${along.name}`} onChange={(e) => go(Math.trunc(Number(e.currentTarget.value)))} /><small>of {count(n)}</small></output>
		</div>
	);
}
