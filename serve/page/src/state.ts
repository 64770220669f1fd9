// SPDX-License-Identifier: Apache-2.0

// What the page knows: the nodes of the server, the node that is open, and what the
// server last said about it.

import { effect, signal } from "@preact/signals";
import { api, eventsAddress, isAbort, Problem, top, unreachable, type ArrayFacts, type GroupFacts, type Member } from "./api";
import { change, view, type Show, type View } from "./link";
import { count } from "./words";

export const nodes = signal<Member[] | null>(null);
export const program = signal("");
export const array = signal<ArrayFacts | null>(null);
export const group = signal<GroupFacts | null>(null);
export const problem = signal<Problem | null>(null);
/** The second array, of which the value or the difference is shown. */
export const second = signal<ArrayFacts | null>(null);
/** What other programs did to the array that is shown. */
export const news = signal<{ text: string; newest: [axis: number, index: number] | null } | null>(null);
/** Whether the stream of events is open. */
export const connected = signal(true);
/** What a screen reader says next. */
export const said = signal("");
export const cursor = signal<{ y: number; x: number } | null>(null);
/** Elements that are visible, y0, y1, x0, x1. */
export const visible = signal<number[] | null>(null);

/** kinds are what nodes are, as far as lists have said it: it saves a question. */
export const kinds = new Map<string, Member["kind"]>();

const systemDark = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal<string>(stored());
const system = signal(systemDark.matches);
systemDark.addEventListener("change", (e) => (system.value = e.matches));

function stored(): string {
	try {
		return localStorage.getItem("varve.theme") ?? "";
	} catch {
		return ""; // storage may be forbidden
	}
}

export const dark = signal(false);
effect(() => {
	dark.value = chosen.value ? chosen.value === "dark" : system.value;
	document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

export function toggleTheme(): void {
	chosen.value = dark.peek() ? "light" : "dark";
	try {
		localStorage.setItem("varve.theme", chosen.peek());
	} catch {
		// It lasts until the page is closed.
	}
}

const failure = (error: unknown) => (error instanceof Problem ? error : new Problem(500, "The page failed", String(error)));

let beginning: Promise<void> | null = null;

/** begin lists the nodes, and opens the first one if the address names none. */
export function begin(): Promise<void> {
	return (beginning ??= list().finally(() => (beginning = null)));
}

async function list(): Promise<void> {
	try {
		const a = await api.nodes();
		for (const n of a.nodes) kinds.set(n.name, n.kind);
		nodes.value = a.nodes;
		program.value = a.program;
		problem.value = null;
		if (!view.peek().node && a.nodes.length) change({ node: a.nodes[0].name });
	} catch (error) {
		problem.value = failure(error);
	}
}

let loading: AbortController | null = null;
let loaded = "";

/** load reads what the server knows about the node that is open. */
async function load(node: string): Promise<void> {
	loading?.abort();
	const abort = (loading = new AbortController());
	const isSame = loaded === node;
	if (!isSame) {
		array.value = group.value = null;
		news.value = null;
		cursor.value = visible.value = null;
	}
	loaded = node;
	try {
		// A link may come before the list of nodes.
		if (!node.includes("/") && !nodes.peek()) await begin();
		if (kinds.get(node) === "group") {
			group.value = await api.group(node, abort.signal);
			array.value = null;
		} else try {
			const a = await api.array(node, abort.signal);
			array.value = a;
			group.value = null;
		} catch (error) {
			// A node that is no array is a group. What is neither keeps the first error.
			if (isAbort(error) || !(error instanceof Problem) || error.status === unreachable || error.status === 401 || error.status === 403) throw error;
			try {
				group.value = await api.group(node, abort.signal);
				array.value = null;
			} catch (other) {
				throw isAbort(other) ? other : error;
			}
		}
		problem.value = null;
		document.title = (array.value?.long_name || node) + " · Varve";
	} catch (error) {
		if (!isAbort(error)) problem.value = failure(error);
	}
}

/** reload reads the node again, for example after the server has come back. */
export function reload(): void {
	if (!nodes.peek()) void begin();
	if (view.peek().node) void load(view.peek().node);
}

effect(() => {
	const node = view.value.node;
	if (node && node !== loaded) void load(node);
});

let secondNode = "";
effect(() => {
	const node = view.value.second;
	if (node === secondNode) return;
	secondNode = node;
	second.value = null;
	if (node)
		api.array(node).then(
			(a) => {
				if (secondNode === node) second.value = a;
			},
			(error) => (said.value = `${node} cannot be shown: ${failure(error).message}`),
		);
});

let events: EventSource | null = null;
let listened = "";
effect(() => {
	const node = top(view.value.node);
	if (node === listened) return;
	listened = node;
	events?.close();
	if (!node) return;
	const source = (events = new EventSource(eventsAddress(node)));
	source.onopen = () => {
		if (!connected.peek()) {
			connected.value = true;
			reload();
		}
	};
	source.onerror = () => (connected.value = source.readyState === EventSource.OPEN);
	for (const kind of ["grown", "shrunk", "rechunked", "moved", "attributes", "replaced", "deleted", "created"])
		source.addEventListener(kind, (e) => heard(kind, node, JSON.parse((e as MessageEvent<string>).data)));
});

interface Event {
	path: string;
	shape?: number[];
	before?: number[];
}

function heard(kind: string, node: string, e: Event): void {
	const path = e.path ? `${node}/${e.path}` : node;
	const v = view.peek();
	if (path !== v.node && path !== v.second) return;
	const a = array.peek();
	if (path !== v.node || !a) return reload();
	news.value = { text: report(kind, a, e), newest: newest(a, e) };
	said.value = news.value.text;
	// Someone who looks at the last element follows it.
	const end = news.value.newest;
	if (kind === "grown" && end && e.before && v.at[end[0]] === e.before[end[0]] - 1) {
		const at = a.axes.map((_, i) => v.at[i] ?? 0);
		at[end[0]] = end[1];
		change({ at });
	}
	if (kind !== "deleted") void load(v.node);
}

function report(kind: string, a: ArrayFacts, e: Event): string {
	switch (kind) {
		case "grown":
		case "shrunk": {
			const parts = (e.shape ?? []).flatMap((n, i) => {
				const before = e.before?.[i] ?? n;
				if (n === before) return [];
				const name = a.axes[i]?.name || "axis " + i;
				return [`${n > before ? "grew" : "shrank"} by ${count(Math.abs(n - before))} along ${name}: was ${count(before)}, now ${count(n)}`];
			});
			return parts.join("; ") || "changed its shape";
		}
		case "rechunked": return "was rechunked";
		case "moved": return "lost or gained elements before its end, so the same index is another element";
		case "attributes": return "has other attributes";
		case "deleted": return "was deleted. The last picture stays";
		default: return "was replaced by another array";
	}
}

function newest(a: ArrayFacts, e: Event): [number, number] | null {
	const i = (e.shape ?? []).findIndex((n, k) => n > (e.before?.[k] ?? n));
	return i >= 0 && i < a.axes.length ? [i, e.shape![i] - 1] : null;
}

/** Shown is a view of an array in which nothing is left to defaults. */
export interface Shown {
	show: Exclude<Show, "">;
	y: number;
	x: number;
	at: number[];
	flip: boolean;
	stretch: boolean;
}

/** isPicture reports whether an array can be painted. */
export function isPicture(a: ArrayFacts): boolean {
	return a.shape.length >= 2 && !["text", "bytes", "struct"].includes(a.kind);
}

/** resolve replaces the defaults of a view, and what the array does not have. */
export function resolve(a: ArrayFacts, v: View): Shown {
	const rank = a.shape.length;
	let y = a.plane?.y ?? rank - 2, x = a.plane?.x ?? rank - 1;
	if (v.x >= 0 && v.x < rank) x = v.x;
	if (v.y >= 0 && v.y < rank) y = v.y;
	if (y === x) y = x === rank - 1 ? rank - 2 : rank - 1;
	const at = a.shape.map((n, i) => Math.max(0, Math.min(n - 1, Math.trunc(v.at[i] ?? 0))));
	const isNumber = !["text", "bytes", "struct"].includes(a.kind);
	const possible: Shown["show"][] = [...(isPicture(a) ? ["picture" as const] : []), ...(rank > 0 && isNumber ? ["line" as const] : []), ...(rank === 1 ? ["table" as const] : []), "chunks"];
	const c = a.axes[y]?.coordinate;
	const ascends = a.axes[y]?.role === "y" && c?.kind === "number" && c.ascending;
	const flip = a.plane && a.plane.y === y ? a.plane.flip_y : !!ascends;
	const proportion = (a.shape[x] || 1) / (a.shape[y] || 1);
	return {
		show: v.show && possible.includes(v.show) ? v.show : possible[0],
		y, x, at, flip,
		stretch: v.stretch ?? (proportion > 6 || proportion < 1 / 4),
	};
}

/** place writes the index of a plane for the server: 12,-,-. */
export function place(s: Shown, ...free: number[]): string {
	return s.at.map((i, k) => (free.includes(k) ? "-" : i)).join(",");
}

/** lineAxis is the axis along which an array is shown as a line. */
export function lineAxis(a: ArrayFacts, v: View): number {
	return v.along >= 0 && v.along < a.shape.length ? v.along : Math.max(0, a.axes.findIndex((x) => x.role === "time"));
}

/** selected writes the elements that are shown, as --select takes them. */
export function selected(a: ArrayFacts, s: Shown, v: View, box: number[] | null): string {
	const [y0, y1, x0, x1] = box ?? v.box ?? [0, a.shape[s.y], 0, a.shape[s.x]];
	const line = lineAxis(a, v);
	return a.shape.map((n, k) => {
		switch (s.show) {
			case "picture": return k === s.y ? `${y0}:${y1}` : k === s.x ? `${x0}:${x1}` : s.at[k];
			case "line": return k !== line ? s.at[k] : v.to > v.from ? `${v.from}:${Math.min(n, v.to)}` : `0:${n}`;
			case "table": return `${Math.min(v.from, n)}:${Math.min(v.from + 100, n)}`;
			default: return `0:${n}`;
		}
	}).join(",");
}
