// SPDX-License-Identifier: Apache-2.0

// Values along one axis as a line: a profile through a plane, or an array of rank one.
// Where more elements than pixels are in sight, the band between least and greatest value
// is drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { scaleUtc } from "d3-scale";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { api, isAbort, type ArrayFacts, type Series } from "./api";
import { Along } from "./along";
import { dark, said } from "./state";
import { count, number, unit } from "./words";

interface Given {
	a: ArrayFacts;
	node: string;
	axis: number;
	at: number[];
	from: number;
	to: number;
	onRange: (from: number, to: number) => void;
}

const format = scaleUtc().tickFormat();
/** dateLabel writes a tick in seconds. */
const dateLabel = (seconds: number) => format(new Date(seconds * 1000));

function ink(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Lines({ a, node, axis, at, from, to, onRange }: Given) {
	const box = useRef<HTMLDivElement>(null);
	const [size, setSize] = useState<[number, number]>([0, 0]);
	const [series, setSeries] = useState<Series | null>(null);
	const [problem, setProblem] = useState("");
	const [spot, setSpot] = useState("");
	const [, redraw] = useState(0);
	const along = useMemo(() => new Along(node, axis, a.axes[axis]), [node, axis, a]);
	useEffect(() => {
		along.changed = () => redraw((n) => n + 1);
		return () => along.end();
	}, [along]);
	const end = to > from ? Math.min(to, a.shape[axis]) : a.shape[axis];
	const start = Math.min(from, Math.max(0, end - 1));
	const index = at.map((i, k) => (k === axis ? "-" : i)).join(",");

	useEffect(() => {
		const sees = new ResizeObserver(() => {
			const b = box.current;
			if (b) setSize([b.clientWidth, b.clientHeight]);
		});
		if (box.current) sees.observe(box.current);
		return () => sees.disconnect();
	}, []);

	useEffect(() => {
		if (!size[0] || end <= start) return;
		const abort = new AbortController();
		const timer = setTimeout(async () => {
			try {
				setSeries(await api.series(node, axis, index, start, end, Math.max(50, Math.min(1200, size[0])), abort.signal));
				setProblem("");
				along.ask(start, end);
			} catch (error) {
				if (!isAbort(error)) setProblem(error instanceof Error ? error.message : String(error));
			}
		}, 60);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [node, axis, index, start, end, size[0] > 0, a.version]);

	useEffect(() => {
		const b = box.current;
		if (!b || !series || !size[0] || size[1] < 40) return;
		const least = series.values ?? series.min ?? [];
		const greatest = series.values ? null : series.max;
		const places = least.map((_, k) => series.from + k * series.step);
		const useNumbers = along.monotonic;
		const xs = places.map((i) => (useNumbers ? along.amount(i) / (along.isTime ? 1000 : 1) : i));
		// uPlot needs ascending positions: a descending coordinate is drawn from its end.
		const order = xs.length > 1 && xs[0] > xs[xs.length - 1];
		const turn = <T,>(list: T[]) => (order ? [...list].reverse() : list);
		const axisLook = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
		const line = { stroke: ink("--accent"), width: 1.5, points: { show: least.length < 60, size: 5, fill: ink("--accent") }, spanGaps: false };
		const plot = new uPlot({
			width: size[0],
			height: size[1],
			legend: { show: false },
			scales: { x: { time: useNumbers && along.isTime } },
			tzDate: (t) => uPlot.tzDate(new Date(t * 1000), "Etc/UTC"),
			axes: [{ ...axisLook, values: useNumbers ? (along.isTime ? (_, vs) => vs.map(dateLabel) : (_, vs) => vs.map((v) => number(v))) : (_, vs) => vs.map((v) => (Number.isInteger(v) ? along.label(v) : "")) }, { ...axisLook, size: 64, space: 26, values: (_, vs) => vs.map((v) => number(v, 5)) }],
			series: greatest ? [{}, { ...line, width: 1, points: { show: false } }, { ...line, width: 1, points: { show: false } }] : [{}, line],
			bands: greatest ? [{ series: [2, 1], fill: ink("--band") }] : undefined,
			cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 7 } },
			hooks: {
				setCursor: [(u) => {
					const k = u.cursor.idx;
					if (k === null || k === undefined) return setSpot("");
					const i = turn(places)[k];
					const [lo, hi] = [turn(least)[k], greatest ? turn(greatest)[k] : undefined];
					const value = lo === null ? "no value" : hi !== undefined && hi !== null && hi !== lo ? `${number(lo)} to ${number(hi)}` : number(lo);
					setSpot(`${along.name} ${along.label(i)}${series.step > 1 ? ` and ${count(series.step - 1)} more` : ""}: ${value} ${unit(a.units ?? "")}`);
				}],
				setSelect: [(u) => {
					if (u.select.width < 6) return;
					const ends = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")].map((v) => (useNumbers ? along.position(v * (along.isTime ? 1000 : 1)) : v));
					ends.sort((m, n) => m - n);
					const lo = Math.max(0, Math.floor(ends[0])), hi = Math.min(a.shape[axis], Math.ceil(ends[1]) + 1);
					if (hi - lo >= 2) onRange(lo, hi);
				}],
			},
		}, [turn(xs), turn(least), ...(greatest ? [turn(greatest)] : [])] as uPlot.AlignedData, b);
		plot.over.addEventListener("dblclick", () => onRange(0, 0));
		return () => plot.destroy();
	}, [series, size[0], size[1], dark.value, along.monotonic]);

	const shown = end - start;
	const press = (e: KeyboardEvent) => {
		const step = Math.max(1, Math.round(shown / 4));
		const move = (lo: number, hi: number) => onRange(Math.max(0, Math.round(lo)), Math.min(a.shape[axis], Math.round(hi)));
		switch (e.key) {
			case "ArrowLeft": start > 0 && move(Math.max(0, start - step), Math.max(0, start - step) + shown); break;
			case "ArrowRight": end < a.shape[axis] && move(Math.min(start + step, a.shape[axis] - shown), Math.min(end + step, a.shape[axis])); break;
			case "+": case "=": if (shown > 4) move(start + shown / 4, end - shown / 4); break;
			case "-": move(start - shown / 2, end + shown / 2); break;
			case "0": onRange(0, 0); break;
			default: return;
		}
		e.preventDefault();
		said.value = `${along.name} from ${along.label(start)} to ${along.label(end - 1)}`;
	};
	return (
		<div class="lines">
			<div class="plot" ref={box} tabIndex={0} role="application" onKeyDown={press}
				aria-label={`Values along ${along.name}. Arrows move, plus and minus zoom, 0 shows all.`} />
			<div class="strip" aria-live="off">
				<span class="grow">{problem ? <b class="bad">{problem}</b> : spot || `${count(shown)} of ${count(a.shape[axis])} along ${along.name}. Drag to zoom, double-click for all.`}</span>
				{series && !series.exact && <span class="tag warn" title="Not every element was read: the line shows what statistics or samples say">{series.method}</span>}
				{series && series.missing > 0 && <span class="tag">{count(series.missing)} without value</span>}
				{shown < a.shape[axis] && <button class="small" onClick={() => onRange(0, 0)}>Show all</button>}
			</div>
		</div>
	);
}
