// SPDX-License-Identifier: Apache-2.0

// The legend of a picture: the colour bar with the histogram of what is visible, the ends
// of the range, and a swatch for each state that is not a plain value.

import { useEffect, useRef } from "preact/hooks";
import { State, type ArrayFacts } from "./api";
import { category, css, place } from "./colours";
import { change, view } from "./link";
import { inks, isInk, type Look } from "./picture";
import { count, number, unit } from "./words";

/** Visible is what the legend knows of the elements on the screen. */
export interface Tally {
	bins: number[];
	categories: Map<number, number>;
	states: number[];
	total: number;
	least: number;
	greatest: number;
}

const binCount = 96;

/** tally counts the values that visit offers. */
export function tally(look: Look, visit: (see: (value: number, state: State) => void) => void): Tally {
	const t: Tally = { bins: new Array(binCount).fill(0), categories: new Map(), states: new Array(7).fill(0), total: 0, least: Infinity, greatest: -Infinity };
	visit((v, s) => {
		t.states[s]++;
		t.total++;
		if ((s !== State.value && look.marked[s]) || Number.isNaN(v)) return;
		if (v < t.least) t.least = v;
		if (v > t.greatest) t.greatest = v;
		if (look.categories) t.categories.set(v, (t.categories.get(v) ?? 0) + 1);
		else t.bins[Math.min(binCount - 1, Math.floor((place(v, look.lo, look.hi, look.log) / 256) * binCount))]++;
	});
	return t;
}

const names: Record<number, [string, string]> = {
	[State.fill]: ["fill value", "Elements that have the fill value"],
	[State.nan]: ["NaN", "Elements that are not a number"],
	[State.absent]: ["chunk not stored", "Elements of chunks that are not stored: they read as the fill value"],
	[State.missing]: ["missing", "Elements that _FillValue or missing_value marks as missing"],
	[State.unknown]: ["not read", "Elements that were not read, because that would take too long"],
	[State.unreadable]: ["unreadable", "Elements of chunks that cannot be read"],
};

function Swatch({ state, dark }: { state: State; dark: boolean }) {
	const box = useRef<HTMLCanvasElement>(null);
	useEffect(() => {
		const c = box.current?.getContext("2d");
		if (!c) return;
		const image = c.createImageData(22, 14);
		const [ink, paper] = inks(dark)[state];
		for (let i = 0; i < 22 * 14; i++) image.data.set([...(isInk(state, i % 22, Math.floor(i / 22)) ? ink : paper), 255], 4 * i);
		c.putImageData(image, 0, 0);
	}, [state, dark]);
	return <canvas class="swatch" ref={box} width={22} height={14} aria-hidden="true" />;
}

export function Legend({ a, look, seen, states }: { a: ArrayFacts; look: Look; seen: Tally | null; states: number[] }) {
	const shown = states.map((n, s) => [s, n] as const).filter(([s, n]) => s !== State.value && n > 0);
	return (
		<div class="legend">
			{look.categories ? <Names a={a} look={look} seen={seen} /> : <Bar a={a} look={look} seen={seen} />}
			{shown.length > 0 && (
				<div class="states" role="group" aria-label="What is not a plain value">
					{shown.map(([s, n]) => {
						const can = s === State.fill || s === State.absent;
						const share = (100 * n) / states.reduce((m, k) => m + k, 0);
						const text = `${names[s][0]} ${share < 0.1 ? "< 0.1" : number(share, share < 10 ? 2 : 3)} %`;
						return can ? (
							<button key={s} class="state" aria-pressed={look.marked[s]} title={names[s][1] + (look.marked[s] ? ". Press to see the colour of their value." : ". Press to mark them.")}
								onClick={() => change({ plain: view.peek().plain.includes(String(s)) ? view.peek().plain.replace(String(s), "") : view.peek().plain + s })}>
								{look.marked[s] ? <Swatch state={s} dark={look.dark} /> : <span class="swatch as-value" />}
								{text}
							</button>
						) : (
							<span key={s} class={"state" + (s === State.unreadable ? " bad" : "")} title={names[s][1]}>
								<Swatch state={s} dark={look.dark} />
								{text}
							</span>
						);
					})}
				</div>
			)}
		</div>
	);
}

function Bar({ a, look, seen }: { a: ArrayFacts; look: Look; seen: Tally | null }) {
	const box = useRef<HTMLCanvasElement>(null);
	const most = Math.max(1, ...(seen?.bins ?? []));
	useEffect(() => {
		const canvas = box.current;
		const c = canvas?.getContext("2d");
		if (!canvas || !c) return;
		const [w, h, bar] = [canvas.width, canvas.height, 24];
		c.clearRect(0, 0, w, h);
		for (let x = 0; x < w; x++) {
			c.fillStyle = css(look.table, Math.floor((x / w) * 256));
			c.fillRect(x, h - bar, 1, bar);
		}
		c.fillStyle = getComputedStyle(canvas).color;
		(seen?.bins ?? []).forEach((n, i) => {
			// The root lets rare values be seen beside common ones.
			const high = n && Math.max(2, Math.sqrt(n / most) * (h - bar - 4));
			c.fillRect((i * w) / binCount, h - bar - 2 - high, w / binCount - 1, high);
		});
	}, [look, seen]);
	const ends = (lo: string, hi: string) => {
		const [x, y] = [Number(lo.replace("−", "-")), Number(hi.replace("−", "-"))];
		if (lo.trim() && hi.trim() && Number.isFinite(x) && Number.isFinite(y)) change({ range: `${x}:${y}` });
	};
	const u = unit(a.units ?? "");
	return (
		<div class="bar">
			<input class="end" aria-label="Value of the first colour" value={number(look.lo, 5)} key={"lo" + look.lo} onChange={(e) => ends(e.currentTarget.value, String(look.hi))} />
			<canvas ref={box} width={480} height={80} role="img" aria-label={`Colours from ${number(look.lo)} to ${number(look.hi)} ${u}${look.log ? ", logarithmic" : ""}, with a histogram of ${count(seen?.total ?? 0)} visible elements`} />
			<input class="end" aria-label="Value of the last colour" value={number(look.hi, 5)} key={"hi" + look.hi} onChange={(e) => ends(String(look.lo), e.currentTarget.value)} />
			{u && <span class="units" title="units">{u}</span>}
		</div>
	);
}

function Names({ a, look, seen }: { a: ArrayFacts; look: Look; seen: Tally | null }) {
	const common = [...(seen?.categories ?? [])].sort((m, n) => n[1] - m[1]);
	const told = new Map((a.flags ?? []).map((f) => [f.value, f.meaning]));
	const list = common.slice(0, 24);
	return (
		<ul class="names" aria-label="Categories that are visible">
			{list.map(([v, n]) => (
				<li key={v} title={`${count(n)} of the elements looked at`}>
					<Dot table={look.table} i={category(v)} />
					{told.get(v) ?? (a.kind === "bool" ? (v ? "true" : "false") : number(v))}
				</li>
			))}
			{common.length > list.length && <li class="more">and {count(common.length - list.length)} more</li>}
			{!list.length && <li class="more">no categories in sight</li>}
		</ul>
	);
}

function Dot({ table, i }: { table: Look["table"]; i: number }) {
	return <span class="dot" style={{ background: css(table, i) }} />;
}
