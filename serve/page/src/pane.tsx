// SPDX-License-Identifier: Apache-2.0

// A pane is a stage with its readout, its legend, and its keys. Two of them stand side by
// side, and share the visible box and the cursor.

import { signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { api, isAbort, State, type ArrayFacts, type ValueFacts } from "./api";
import { Along } from "./along";
import * as colours from "./colours";
import { Icon } from "./icons";
import { Legend, tally, type Tally } from "./legend";
import { change, view } from "./link";
import type { Look } from "./picture";
import { Stage, type Scene } from "./stage";
import { cursor, dark, place, reload, resolve, said, visible } from "./state";
import { bytes, coordinate, count, number, unit } from "./words";

/** plainCanvas is set by the address ?canvas=1, for browsers whose WebGL2 is broken. */
const plainCanvas = new URLSearchParams(location.search).get("canvas") === "1";

/** stages are those on the page; the first is that of the array that is open. */
export const stages = signal<Stage[]>([]);

const isInteger = (a: ArrayFacts) => /^u?int/.test(a.data_type) || a.kind === "bool" || a.kind === "enum";

/** itemSize is the bytes of an element in memory, as its data type says. */
function itemSize(a: ArrayFacts): number {
	const bits = Number(/(\d+)/.exec(a.data_type)?.[1] ?? 8);
	return a.kind === "bool" ? 1 : bits / 8;
}

interface Given {
	a: ArrayFacts;
	node: string;
	/** The array whose values are taken from those of a. */
	minus?: string;
	role: "first" | "second";
}

export function Pane({ a, node, minus, role }: Given) {
	const root = useRef<HTMLDivElement>(null);
	const stage = useRef<Stage | null>(null);
	const seen = useSignal<Tally | null>(null);
	const look = useSignal<Look | null>(null);
	const facts = useSignal<{ at: string; value: ValueFacts | null } | null>(null);
	const status = useSignal<{ loading: boolean; problem: string; empty: boolean; damaged: { key: string; message: string }[]; inexact: string }>({ loading: true, problem: "", empty: true, damaged: [], inexact: "" });
	const known = useRef<{ key: string; ends: [number, number] } | null>(null);

	const v = view.value;
	const s = resolve(a, v);
	const yAlong = useMemo(() => new Along(node, s.y, a.axes[s.y]), [node, a, s.y]);
	const xAlong = useMemo(() => new Along(node, s.x, a.axes[s.x]), [node, a, s.x]);
	const key = [node, minus ?? "", a.version, s.y, s.x, place(s, s.y, s.x), v.part, v.field].join("|");

	const makeLook = (): Look | null => {
		const st = stage.current;
		if (!st) return null;
		const w = view.peek();
		const map = colours.find(w.map || colours.proposed(a, !!minus));
		const family = [node, minus ?? "", w.part, w.field].join("|");
		const sorted = st.state?.sorted ?? new Float32Array(0);
		if (known.current?.key !== family) known.current = null;
		if (sorted.length) {
			// The range of an array only grows: colours stay while a slider moves.
			const ends = known.current?.ends ?? (a.statistics?.complete && !minus && !w.part ? [a.statistics.min, a.statistics.max] : [Infinity, -Infinity]);
			known.current = { key: family, ends: [Math.min(ends[0], sorted[0]), Math.max(ends[1], sorted[sorted.length - 1])] };
		}
		let ends = known.current?.ends ?? null;
		if (w.beside === "side" && ends) {
			// Two pictures side by side have one range, so that a colour is a number.
			sides.set(role, ends);
			const other = sides.get(role === "first" ? "second" : "first");
			if (other) ends = [Math.min(ends[0], other[0]), Math.max(ends[1], other[1])];
			const name = ends.join();
			if (sidesName !== name) {
				sidesName = name;
				queueMicrotask(() => stages.peek().forEach((x) => x.draw()));
			}
		} else sides.clear();
		const [lo, hi] = colours.range(w.range, sorted, ends, map, w.log);
		const natural = [false, !isInteger(a), true, true, true, true, true];
		const marked = natural.map((is, i) => (w.plain.includes(String(i)) ? !is : is));
		const isDark = dark.peek();
		const ratio = Math.min(2, window.devicePixelRatio || 1);
		const same = look.peek();
		const name = [map.name, w.reverse, a.path, lo, hi, w.log, marked.join(), isDark, ratio].join();
		if (same && lookNames.get(same) === name) return same;
		const made: Look = { table: colours.table(map, w.reverse, a.flags), lo, hi, log: w.log, categories: map.kind === "categories", marked, dark: isDark, ratio };
		lookNames.set(made, name);
		queueMicrotask(() => (look.value = made));
		return made;
	};

	useEffect(() => {
		const st = (stage.current = new Stage(root.current!, plainCanvas));
		st.lookOf = () => makeLookRef.current();
		st.onPoint = (p) => (cursor.value = p);
		st.onClick = (p) => {
			const w = view.peek();
			change({ pin: w.pin && w.pin[0] === p.y && w.pin[1] === p.x ? null : [p.y, p.x] });
		};
		let timer = 0;
		st.onBox = (box, byUser) => {
			visible.value = box;
			if (byUser) change({ box: st.isFitted ? null : box });
			clearTimeout(timer);
			timer = window.setTimeout(() => tallyVisibleRef.current(), 160);
		};
		st.onTiles = () => {
			const t = st.state;
			if (!t) return;
			const damaged = new Map(t.all().flatMap((x) => x.head.problems ?? []).map((p) => [p.key, p]));
			const inexact = t.all().find((x) => !x.head.exact)?.head.method ?? "";
			status.value = { loading: t.isLoading, problem: t.problem?.message ?? "", empty: t.isEmpty, damaged: [...damaged.values()], inexact };
			clearTimeout(timer);
			timer = window.setTimeout(() => tallyVisibleRef.current(), 160);
		};
		stages.value = role === "first" ? [st, ...stages.peek()] : [...stages.peek(), st];
		return () => {
			clearTimeout(timer);
			stages.value = stages.peek().filter((x) => x !== st);
			st.end();
		};
	}, []);

	const makeLookRef = useRef(makeLook);
	makeLookRef.current = makeLook;
	const tallyVisible = () => {
		const st = stage.current, l = look.peek();
		if (st && l) seen.value = tally(l, (see) => st.visible(see));
	};
	const tallyVisibleRef = useRef(tallyVisible);
	tallyVisibleRef.current = tallyVisible;

	// Another look has other bins.
	useEffect(() => tallyVisible(), [look.value]);

	useEffect(() => {
		yAlong.changed = xAlong.changed = () => stage.current?.draw();
		return () => {
			yAlong.end();
			xAlong.end();
		};
	}, [yAlong, xAlong]);

	useEffect(() => {
		const query = (of: string) => ({ node: of, y: s.y, x: s.x, at: place(s, s.y, s.x), part: v.part, field: v.field });
		const scene: Scene = {
			key, subject: { query: query(node), minus: minus ? query(minus) : undefined, height: a.shape[s.y], width: a.shape[s.x] },
			y: yAlong, x: xAlong, flip: s.flip, stretch: s.stretch, borders: v.borders, heat: v.heat, itemSize: itemSize(a),
		};
		if (stage.current) {
			stage.current.pin = v.pin ? { y: v.pin[0], x: v.pin[1] } : null;
			stage.current.show(scene, v.box);
		}
	}, [key, v.box?.join(), s.flip, s.stretch, v.borders, v.heat, v.pin?.join(), v.map, v.reverse, v.log, v.range, v.plain, dark.value, yAlong, xAlong]);

	// The heat map asks for the chunks in sight.
	const box = visible.value;
	useEffect(() => {
		if (!v.heat) return;
		const abort = new AbortController();
		const timer = setTimeout(() => {
			const [y0, y1, x0, x1] = box ?? [0, a.shape[s.y], 0, a.shape[s.x]];
			api.chunks(node, s.y, s.x, place(s, s.y, s.x), `${y0}:${y1},${x0}:${x1}`, abort.signal).then(
				(c) => {
					if (!stage.current) return;
					stage.current.chunks = c;
					stage.current.draw();
					status.value = { ...status.peek() };
				},
				(error) => !isAbort(error) && (said.value = "The chunks cannot be listed: " + error.message),
			);
		}, 120);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [key, v.heat !== "", box?.join()]);

	// Linked cursors: the one that the pointer is over tells the other.
	useSignalEffect(() => {
		const p = cursor.value;
		const st = stage.current;
		if (st && (st.cursor?.y !== p?.y || st.cursor?.x !== p?.x)) {
			st.cursor = p;
			st.draw();
		}
	});

	const spot = cursor.value ?? (v.pin ? { y: v.pin[0], x: v.pin[1] } : null);
	const index = spot ? s.at.map((i, k) => (k === s.y ? spot.y : k === s.x ? spot.x : i)) : null;
	const at = index && index.every((i, k) => i < a.shape[k]) ? index.join(",") : "";
	useEffect(() => {
		if (!at) return;
		const abort = new AbortController();
		const timer = setTimeout(() => {
			api.value(node, at.split(",").map(Number), abort.signal).then(
				(value) => (facts.value = { at, value }),
				() => {},
			);
		}, 40);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [at, node, a.version]);

	const press = (e: KeyboardEvent) => {
		const st = stage.current;
		if (!st || e.altKey || e.metaKey || e.ctrlKey) return;
		const c = st.cursor ?? spot ?? middle(st.box());
		const up = s.flip ? 1 : -1;
		const move = (dy: number, dx: number) => {
			const [y0, y1, x0, x1] = st.box();
			const far = Math.max(1, Math.round(Math.max(y1 - y0, x1 - x0) / 60));
			const p = { y: Math.max(0, Math.min(a.shape[s.y] - 1, c.y + dy * far)), x: Math.max(0, Math.min(a.shape[s.x] - 1, c.x + dx * far)) };
			st.point(p);
			const got = st.valueAt(p);
			said.value = `${yAlong.name} ${yAlong.label(p.y)}, ${xAlong.name} ${xAlong.label(p.x)}: ${got && got.state < 2 ? number(got.value) : "no value"}`;
		};
		const arrows: Record<string, [number, number]> = { ArrowUp: [up, 0], ArrowDown: [-up, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
		const a4 = arrows[e.key];
		if (a4 && e.shiftKey) move(...a4);
		else if (a4) st.panBy(-a4[1] * 0.1, (e.key === "ArrowUp" ? 1 : e.key === "ArrowDown" ? -1 : 0) * 0.1);
		else if (e.key === "+" || e.key === "=") st.zoomBy(1.5);
		else if (e.key === "-" || e.key === "_") st.zoomBy(1 / 1.5);
		else if (e.key === "0") st.fit();
		else if (e.key === "Enter" && c) st.onClick(c);
		else if (e.key === "Escape") change({ pin: null });
		else return;
		e.preventDefault();
	};

	const told = status.value;
	const title = minus ? `${node} − ${minus}` : node;
	const pinTold = facts.value?.at === at ? facts.value.value : null;
	const painted = spot && stage.current ? stage.current.valueAt(spot) : null;
	return (
		<section class="pane" aria-label={title}>
			<div class="stage" ref={root}>
				<canvas class="picture" role="img" aria-label={`Picture of ${title}, ${yAlong.name} by ${xAlong.name}`} />
				<canvas class="over" aria-hidden="true" />
				<svg class="axes" aria-hidden="true"><g class="bottom" /><g class="left" /><text class="bottom" /><text class="left" /></svg>
				<div class="glass" tabIndex={0} role="application" onKeyDown={press}
					aria-label={`${title}. Arrows pan, with shift they move the cursor. Plus and minus zoom, 0 shows all, Enter takes a profile.`} />
				<div class="buttons">
					<button title="Zoom in (+)" aria-label="Zoom in" onClick={() => stage.current?.zoomBy(1.5)}><Icon name="plus" /></button>
					<button title="Zoom out (-)" aria-label="Zoom out" onClick={() => stage.current?.zoomBy(1 / 1.5)}><Icon name="minus" /></button>
					<button title="Show all (0)" aria-label="Show all" onClick={() => stage.current?.fit()}><Icon name="fit" /></button>
				</div>
				{told.loading && <div class="loading" role="progressbar" aria-label="Loading" />}
				{told.problem && (
					<div class={"notice" + (told.empty ? " whole" : "")} role="alert">
						<Icon name="warning" />
						<p>{told.problem}</p>
						<button onClick={() => (stage.current?.retry(), reload())}>Try again</button>
					</div>
				)}
				{a.shape.some((n) => n === 0) && <div class="notice whole"><p>This array has no elements: {a.axes.filter((x) => !x.length).map((x) => x.name || "an axis").join(", ")} has length 0.</p></div>}
			</div>
			<Readout a={a} s={s} index={at ? index : null} value={pinTold} painted={painted} along={[yAlong, xAlong]} minus={minus} role={role} />
			{look.value && <Legend a={a} look={look.value} seen={seen.value} states={seen.value?.states ?? []} />}
			{(told.damaged.length > 0 || told.inexact) && (
				<div class="remarks">
					{told.inexact && <p><span class="tag warn">not exact</span> {methods[told.inexact] ?? told.inexact}</p>}
					{told.damaged.slice(0, 3).map((p) => <p key={p.key} class="bad"><Icon name="warning" /> <code>{p.key}</code> {p.message}</p>)}
					{told.damaged.length > 3 && <p>and {count(told.damaged.length - 3)} more chunks that cannot be read</p>}
				</div>
			)}
			{v.heat && stage.current?.chunks && <HeatLegend stage={stage.current} heat={v.heat} />}
		</section>
	);
}

const methods: Record<string, string> = {
	every: "Some elements are left out at this distance: zoom in to see each.",
	mean: "Pixels are means of several elements at this distance.",
	level: "A level of a pyramid is shown at this distance.",
	statistics: "Only statistics of chunks are shown at this distance: zoom in to read elements.",
	sampled: "Only some chunks are read at this distance: zoom in to read all.",
};

/** sides are the ranges of two pictures that stand side by side. */
const sides = new Map<string, [number, number]>();
let sidesName = "";

const lookNames = new WeakMap<Look, string>();

const middle = (box: number[]) => ({ y: Math.floor((box[0] + box[1]) / 2), x: Math.floor((box[2] + box[3]) / 2) });

function HeatLegend({ stage, heat }: { stage: Stage; heat: string }) {
	const [lo, hi] = stage.heatEnds();
	const text = (n: number) => (heat === "bytes" ? bytes(n) : heat === "ratio" ? number(n, 3) + " : 1" : heat === "age" ? new Date(n * 1000).toISOString().slice(0, 16).replace("T", " ") : n < 1 ? Math.round(100 * n) + " %" : "stored");
	const missing = stage.chunks!.stored.filter((n) => !n).length;
	return (
		<div class="remarks heat">
			<p>
				<b>{{ stored: "Stored chunks", bytes: "Stored size of chunks", ratio: "Decoded size to stored size", age: "Last write of chunks" }[heat]}</b>
				{heat !== "stored" && <span class="scale"><span>{text(lo)}</span><span class="ramp" /><span>{text(hi)}</span></span>}
				<span>{count(stage.chunks!.stored.length - missing)} stored, {count(missing)} not stored</span>
				{!stage.chunks!.complete && <span class="tag warn">not all were listed</span>}
			</p>
		</div>
	);
}

interface Told {
	a: ArrayFacts;
	s: ReturnType<typeof resolve>;
	index: number[] | null;
	value: ValueFacts | null;
	painted: { value: number; state: State; exact: boolean } | null;
	along: [Along, Along];
	minus?: string;
	role: string;
}

const stateNames = ["", "fill value", "NaN", "chunk not stored", "missing", "not read", "unreadable"];

/** Readout tells the element under the cursor. */
function Readout({ a, s, index, value, painted, along, minus, role }: Told) {
	const v = view.value;
	const other = useSignal<{ at: string; text: string } | null>(null);
	const at = index?.join(",") ?? "";
	useEffect(() => {
		const node = minus ?? (role === "first" && v.beside === "" ? v.second : "");
		if (!node || !at) return;
		const abort = new AbortController();
		const timer = setTimeout(() => api.value(node, at.split(",").map(Number), abort.signal).then((o) => (other.value = { at, text: o.text }), () => {}), 60);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [at, v.second, v.beside, minus]);
	if (!index) return <div class="readout" data-index=""><span class="hint">Point at the picture to see values. Click for a profile.</span></div>;
	const u = unit(a.units ?? "");
	const state = value?.state ?? painted?.state ?? 0;
	const text = minus && painted ? number(painted.value) : value ? value.text : painted && painted.state < 2 ? number(painted.value) : "…";
	return (
		<div class="readout" data-index={value ? at : ""}>
			<b class="value" data-text={text}>{text}{u && !/[a-z]$/i.test(text) ? " " + u : ""}</b>
			{state > 0 && <span class={"tag" + (state === 6 ? " warn" : "")}>{stateNames[state]}</span>}
			{other.value && other.value.at === at && <span class="pair"><i>{(minus ?? v.second).split("/").at(-1)}</i> {other.value.text}</span>}
			<span class="where">
				{a.axes.map((x, k) => {
					const c = value?.coordinates?.[k];
					const label = c !== null && c !== undefined ? coordinate(c, x.coordinate?.units) : k === s.y ? along[0].label(index[k]) : k === s.x ? along[1].label(index[k]) : count(index[k]);
					return <span key={k}><i>{x.name || k}</i> {label}{x.coordinate && <small>[{count(index[k])}]</small>}</span>;
				})}
			</span>
			{value?.chunk && <span class="cell"><i>{value.inner ? "shard" : "chunk"}</i> {value.chunk.index.join(", ")} <small>{value.chunk.stop.map((n, k) => n - value.chunk!.start[k]).join(" × ")}, {value.chunk.stored ? bytes(value.chunk.bytes) : "not stored"}{value.chunk.modified ? ", " + value.chunk.modified.slice(0, 10) : ""}</small></span>}
			{value?.inner && <span class="cell"><i>inner chunk</i> {value.inner.index.join(", ")} <small>{value.inner.stop.map((n, k) => n - value.inner!.start[k]).join(" × ")}, {value.inner.stored ? bytes(value.inner.bytes) : "not stored"}</small></span>}
		</div>
	);
}
