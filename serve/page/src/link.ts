// SPDX-License-Identifier: Apache-2.0

// The whole state of the page is in the hash of its address, so that a view is a link:
//
//	#/era5/t2m?y=lat&x=lon&at=12,-,-&box=0:721,0:1440&map=viridis&range=250:310
//
// What equals the default is left out. A change of the node or of the kind of view is an
// entry of the history; panning and sliders replace the present entry.

import { signal } from "@preact/signals";

export type Show = "" | "picture" | "line" | "table" | "chunks";
export type Heat = "" | "stored" | "bytes" | "ratio" | "age";

export interface View {
	node: string;
	show: Show;
	/** Axes of the plane, -1 for those that the server proposes. */
	y: number;
	x: number;
	/** The index along each axis that is not of the plane. */
	at: number[];
	/** The elements that are visible, y0, y1, x0, x1; null for all. */
	box: number[] | null;
	/** Whether pixels are stretched to fill the picture; null: as the shape suggests. */
	stretch: boolean | null;
	map: string;
	reverse: boolean;
	log: boolean;
	/** auto, a pair of percentiles as p2:98, or two numbers as 250:310. */
	range: string;
	part: string;
	field: string;
	/** Another array, and how it is shown: its value, beside, or the difference. */
	second: string;
	beside: "" | "side" | "difference";
	borders: boolean;
	heat: Heat;
	/** States that are drawn with the colour of their value, as digits. */
	plain: string;
	/** The place of a profile, y and x, and its axis. */
	pin: number[] | null;
	along: number;
	/** Elements or rows that a line or a table begins and ends with. */
	from: number;
	to: number;
	/** The grid of a rechunk that is previewed. */
	plan: string;
}

export const fresh: Readonly<View> = {
	node: "", show: "", y: -1, x: -1, at: [], box: null, stretch: null, map: "", reverse: false, log: false, range: "auto",
	part: "", field: "", second: "", beside: "", borders: false, heat: "", plain: "", pin: null, along: -1,
	from: 0, to: 0, plan: "",
};

const numbers = (text: string): number[] | null => {
	const list = text.split(/[,:]/).map(Number);
	return list.every(Number.isFinite) ? list : null;
};

/** write returns the hash of a view. */
export function write(v: View): string {
	const q: string[] = [];
	const add = (name: string, value: string) => q.push(name + "=" + encodeURIComponent(value).replace(/%(2C|3A|2F)/g, decodeURIComponent));
	if (v.show) add("show", v.show);
	if (v.y >= 0) add("y", String(v.y));
	if (v.x >= 0) add("x", String(v.x));
	if (v.at.some((i) => i !== 0)) add("at", v.at.join(","));
	if (v.box) add("box", `${v.box[0]}:${v.box[1]},${v.box[2]}:${v.box[3]}`);
	if (v.stretch !== null) add("stretch", v.stretch ? "1" : "0");
	for (const name of ["map", "part", "field", "second", "beside", "heat", "plain", "plan"] as const) if (v[name]) add(name, v[name]);
	for (const name of ["reverse", "log", "borders"] as const) if (v[name]) add(name, "1");
	if (v.range !== "auto") add("range", v.range);
	if (v.pin) add("pin", v.pin.join(","));
	if (v.along >= 0) add("along", String(v.along));
	if (v.from) add("from", String(v.from));
	if (v.to) add("to", String(v.to));
	return "#/" + v.node.split("/").map(encodeURIComponent).join("/") + (q.length ? "?" + q.join("&") : "");
}

/** parse returns the view of a hash. What it cannot read has its default. */
export function parse(hash: string): View {
	const v: View = { ...fresh };
	const [place, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
	try {
		v.node = place.split("/").map(decodeURIComponent).join("/");
	} catch {
		return v;
	}
	const q = new URLSearchParams(query);
	const text = (name: string) => q.get(name) ?? "";
	const count = (name: string, otherwise: number) => {
		const n = q.has(name) ? Number(q.get(name)) : NaN;
		return Number.isSafeInteger(n) && n >= 0 ? n : otherwise;
	};
	const show = text("show");
	if (show === "picture" || show === "line" || show === "table" || show === "chunks") v.show = show;
	const heat = text("heat");
	if (heat === "stored" || heat === "bytes" || heat === "ratio" || heat === "age") v.heat = heat;
	const beside = text("beside");
	if (beside === "side" || beside === "difference") v.beside = beside;
	for (const name of ["map", "part", "field", "second", "plan", "plain"] as const) v[name] = text(name);
	for (const name of ["reverse", "log", "borders"] as const) v[name] = text(name) === "1";
	for (const name of ["y", "x", "along"] as const) v[name] = count(name, -1);
	for (const name of ["from", "to"] as const) v[name] = count(name, 0);
	v.stretch = q.has("stretch") ? text("stretch") === "1" : null;
	v.at = (q.has("at") && numbers(text("at"))?.map((i) => Math.max(0, Math.trunc(i)))) || [];
	const box = numbers(text("box"));
	if (box?.length === 4 && box[0] < box[1] && box[2] < box[3]) v.box = box;
	const pin = numbers(text("pin"));
	if (pin?.length === 2) v.pin = pin;
	if (/^(auto|p[\d.]+:[\d.]+|[-+\d.eE]+:[-+\d.eE]+)$/.test(text("range"))) v.range = text("range");
	return v;
}

/** view is what the page shows. */
export const view = signal<View>(parse(location.hash));

/** change shows something else. A new entry of the history is made if push is set. */
export function change(what: Partial<View>, push = false): void {
	const next = { ...view.peek(), ...what };
	const hash = write(next);
	view.value = next;
	if (hash === write(parse(location.hash))) return;
	if (push) history.pushState(null, "", hash);
	else replaceSoon(hash);
}

// Browsers refuse more than some hundred changes of the address in ten seconds.
let waiting = 0;
let latest = "";
function replaceSoon(hash: string): void {
	latest = hash;
	if (waiting) return;
	waiting = window.setTimeout(() => {
		waiting = 0;
		if (latest) history.replaceState(null, "", latest);
	}, 200);
}

/** open shows another node, with the defaults for all else but the colours. */
export function open(node: string): void {
	latest = "";
	change({ ...fresh, node }, true);
}

/** follow shows what the address says when the user goes back or edits it. */
export function follow(): void {
	const restore = () => {
		latest = "";
		view.value = parse(location.hash);
	};
	window.addEventListener("popstate", restore);
	window.addEventListener("hashchange", restore);
}

/** quote quotes a word for a POSIX shell. */
export function quote(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", `'\\''`) + "'";
}
