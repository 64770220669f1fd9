// SPDX-License-Identifier: Apache-2.0

// The calls of the server below api/, and what they answer. All numbers of the answers
// are those of elements, not of pixels.

/** Runs are lengths with their counts, in order: [[31, 1], [28, 1]]. */
export type Runs = [length: number, count: number][];

export type Kind = "number" | "bool" | "text" | "bytes" | "time" | "duration" | "complex" | "struct" | "enum";

export interface Member {
	name: string;
	path: string;
	kind: "group" | "array";
	shape?: number[];
	data_type?: string;
	dimensions?: string[];
	problem?: string;
	title?: string;
}

export interface Coordinate {
	node: string;
	kind: "number" | "time" | "text" | "index";
	units: string;
	calendar?: string;
	first: number | string | null;
	last: number | string | null;
	ascending: boolean;
	even: boolean;
}

export interface AxisFacts {
	name: string;
	length: number;
	/** null if they are too many to be told. */
	edges: Runs | null;
	inner: Runs | null;
	coordinate: Coordinate | null;
	role: "time" | "x" | "y" | "z" | "other";
}

export interface Finding {
	text: string;
	command?: string;
}

export interface Opening {
	language: string;
	code: string;
}

export interface NodeFacts {
	path: string;
	version?: string;
	format?: string | number;
	attributes?: Record<string, unknown> | null;
	facts?: [string, string][] | null;
	findings?: Finding[] | null;
	open?: Opening[] | null;
	title?: string;
	problem?: string;
}

export interface GroupFacts extends NodeFacts {
	members: number;
	table?: { columns: string[] } | null;
}

export interface ArrayFacts extends NodeFacts {
	shape: number[];
	data_type: string;
	kind: Kind;
	fields?: string[];
	dimensions: string[];
	fill_value: unknown;
	long_name?: string;
	units?: string;
	missing?: unknown[] | null;
	flags?: { value: number; meaning: string; color?: string }[] | null;
	axes: AxisFacts[];
	plane?: { y: number; x: number; flip_y: boolean } | null;
	levels?: { node: string; factors: number[]; shape: number[] }[] | null;
	stored?: { bytes: number; chunks: number; cells: number; complete: boolean } | null;
	statistics?: { min: number; max: number; missing: number; complete: boolean } | null;
	pair?: string[] | null;
	ragged?: string;
}

export interface PlaneHead {
	height: number;
	width: number;
	box: [number, number, number, number];
	step: [number, number];
	method: string;
	level?: string;
	exact: boolean;
	min: number | null;
	max: number | null;
	chunks: number;
	requests: number;
	bytes: number;
	decoded: number;
	problems?: { key: string; message: string }[] | null;
	version: string;
}

/** What a pixel is. The numbers are those of the server. */
export enum State { value, fill, nan, absent, missing, unknown, unreadable }

export interface PlaneData {
	head: PlaneHead;
	values: Float32Array;
	states: Uint8Array;
}

export interface Cell {
	index: number[];
	key: string;
	start: number[];
	stop: number[];
	stored: boolean;
	bytes: number;
	modified: string | null;
}

export interface ValueFacts {
	value: unknown;
	decoded: unknown;
	text: string;
	coordinates: (number | string | null)[];
	state: State;
	chunk: Cell | null;
	inner: Cell | null;
}

export interface Series {
	from: number;
	step: number;
	min?: (number | null)[] | null;
	max?: (number | null)[] | null;
	values?: (number | null)[] | null;
	method: string;
	exact: boolean;
	missing: number;
}

export interface Rows {
	columns: { name: string; data_type: string }[];
	rows: string[][];
	from: number;
	total: number;
}

export interface Chunks {
	y: number[];
	x: number[];
	stored: number[];
	bytes: number[];
	modified: number[];
	complete: boolean;
	by: [number, number];
}

export interface Gap {
	from: number;
	to: number;
	first?: number | string | null;
	last?: number | string | null;
}

export interface Cost {
	requests: number;
	bytes: number;
	decoded_bytes: number;
	elements: number;
}

export interface Plan {
	before: Runs[];
	after: Runs[];
	kept: number;
	rewritten: number;
	bytes_read: number;
	bytes_written: number;
	requests: number;
	command: string;
}

/** Problem is an error that the server answers, or that keeps it from answering. */
export class Problem extends Error {
	constructor(
		readonly status: number,
		readonly title: string,
		readonly detail: string,
		readonly kind = "",
		readonly key = "",
	) {
		super(detail || title);
	}
}

/** unreachable is the status of a Problem of a server that does not answer. */
export const unreachable = 0;

type Query = Record<string, string | number | boolean | undefined>;

function address(call: string, query: Query): string {
	const q = new URLSearchParams();
	for (const [name, value] of Object.entries(query))
		if (value !== undefined && value !== "" && value !== false) q.set(name, value === true ? "1" : String(value));
	const text = q.toString();
	return "api/" + call + (text ? "?" + text : "");
}

async function answer(call: string, query: Query, signal?: AbortSignal): Promise<Response> {
	let response: Response;
	try {
		response = await fetch(address(call, query), { signal, headers: { Accept: "*/*" } });
	} catch (error) {
		if (signal?.aborted) throw error;
		throw new Problem(unreachable, "The server does not answer", "It may have been stopped. The picture stays until it is back.");
	}
	if (response.ok) return response;
	let told: Partial<Problem & { title: string }> = {};
	try {
		told = await response.json();
	} catch {
		// A proxy may answer with a page of its own.
	}
	throw new Problem(response.status, told.title ?? response.statusText, told.detail ?? "", told.kind, told.key);
}

async function json<T>(call: string, query: Query, signal?: AbortSignal): Promise<T> {
	return (await answer(call, query, signal)).json() as Promise<T>;
}

/** isAbort reports whether the error is that of a request that the page gave up. */
export function isAbort(error: unknown): boolean {
	return error instanceof DOMException && error.name === "AbortError";
}

export const api = {
	nodes: (signal?: AbortSignal) => json<{ nodes: Member[]; program: string }>("nodes", {}, signal),
	members: (node: string, after: string, signal?: AbortSignal) =>
		json<{ members: Member[]; next: string }>("members", { node, after, limit: 500 }, signal),
	find: (node: string, find: string, signal?: AbortSignal) =>
		json<{ members: Member[]; complete: boolean }>("members", { node, find, limit: 200 }, signal),
	array: (node: string, signal?: AbortSignal) => json<ArrayFacts>("array", { node }, signal),
	group: (node: string, signal?: AbortSignal) => json<GroupFacts>("group", { node }, signal),
	coordinate: (node: string, axis: number, from: number, to: number, signal?: AbortSignal) =>
		json<{ from: number; step: number; values: (number | string | null)[] }>("coordinate", { node, axis, from, to, max: 1000 }, signal),
	value: (node: string, index: number[], signal?: AbortSignal) =>
		json<ValueFacts>("value", { node, index: index.join(",") }, signal),
	series: (node: string, axis: number, at: string, from: number, to: number, points: number, signal?: AbortSignal) =>
		json<Series>("series", { node, axis, at, from, to, points, decode: 1 }, signal),
	rows: (node: string, from: number, count: number, signal?: AbortSignal) => json<Rows>("rows", { node, from, count }, signal),
	chunks: (node: string, y: number, x: number, at: string, box: string, signal?: AbortSignal) =>
		json<Chunks>("chunks", { node, y, x, at, box }, signal),
	missing: (node: string, axis: number, signal?: AbortSignal) => json<Gap[] | { missing: Gap[] }>("missing", { node, axis, limit: 1000 }, signal),
	cost: (node: string, select: string, signal?: AbortSignal) => json<Cost>("cost", { node, select }, signal),
	plan: (node: string, to: string, signal?: AbortSignal) => json<Plan>("plan", { node, to }, signal),
	plane,
};

export interface PlaneQuery {
	node: string;
	y: number;
	x: number;
	at: string;
	part?: string;
	field?: string;
}

/** plane reads a box of a plane, in at most height times width pixels. */
async function plane(q: PlaneQuery, box: number[], height: number, width: number, signal?: AbortSignal): Promise<PlaneData> {
	const [y0, y1, x0, x1] = box;
	const response = await answer("plane", {
		node: q.node, y: q.y, x: q.x, at: q.at, part: q.part, field: q.field,
		box: `${y0}:${y1},${x0}:${x1}`, size: `${height},${width}`, decode: 1,
	}, signal);
	const bytes = await response.arrayBuffer();
	const length = new DataView(bytes).getUint32(0, true);
	const head = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length))) as PlaneHead;
	const count = head.height * head.width;
	// The header may have any length, so the floats are copied to where they are aligned.
	const values = new Float32Array(bytes.slice(4 + length, 4 + length + 4 * count));
	const states = new Uint8Array(bytes.slice(4 + length + 4 * count, 4 + length + 5 * count));
	return { head, values, states };
}

/** top returns the name of the node that is served, of which node is a part. */
export function top(node: string): string {
	return node.split("/", 1)[0];
}

function path(node: string): string {
	return node.split("/").map(encodeURIComponent).join("/");
}

/** eventsAddress is the stream of what becomes of the arrays of a node. */
export function eventsAddress(node: string): string {
	return "../@events/" + path(top(node));
}

/** valuesAddress is where selected elements can be downloaded. */
export function valuesAddress(node: string, select: string, format: string): string {
	return `../@values/${path(node)}?select=${encodeURIComponent(select)}&format=${format}`;
}
