// SPDX-License-Identifier: Apache-2.0

// Colour maps: tables of 256 colours, and the numbers that the first and the last of them
// stand for.

import {
	interpolateBrBG, interpolateCividis, interpolateGreys, interpolateInferno, interpolateMagma, interpolatePlasma,
	interpolatePuOr, interpolateRdBu, interpolateTurbo, interpolateViridis, schemeTableau10,
} from "d3-scale-chromatic";
import type { ArrayFacts } from "./api";

export type Table = Uint8Array<ArrayBuffer>;

export interface ColourMap {
	name: string;
	kind: "sequential" | "diverging" | "categories";
	at?: (t: number) => string;
}

export const maps: ColourMap[] = [
	{ name: "viridis", kind: "sequential", at: interpolateViridis },
	{ name: "cividis", kind: "sequential", at: interpolateCividis },
	{ name: "inferno", kind: "sequential", at: interpolateInferno },
	{ name: "magma", kind: "sequential", at: interpolateMagma },
	{ name: "plasma", kind: "sequential", at: interpolatePlasma },
	{ name: "turbo", kind: "sequential", at: interpolateTurbo },
	{ name: "grey", kind: "sequential", at: (t) => interpolateGreys(1 - t) },
	{ name: "RdBu", kind: "diverging", at: (t) => interpolateRdBu(1 - t) },
	{ name: "BrBG", kind: "diverging", at: interpolateBrBG },
	{ name: "PuOr", kind: "diverging", at: interpolatePuOr },
	{ name: "categories", kind: "categories" },
];

/** rgb reads a colour as d3 writes it: #rrggbb or rgb(r, g, b). */
export function rgb(text: string): [number, number, number] {
	if (/^#[0-9a-f]{6}$/i.test(text)) return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)) as [number, number, number];
	const [r, g, b] = text.match(/[\d.]+/g)?.map(Number) ?? [];
	return [r ?? 128, g ?? 128, b ?? 128];
}

/** find returns the colour map of the name, or viridis. */
export function find(name: string): ColourMap {
	return maps.find((m) => m.name === name) ?? maps[0];
}

/** proposed returns the name of the colour map that suits an array. */
export function proposed(a: ArrayFacts, difference: boolean): string {
	if (difference) return "RdBu";
	return a.kind === "bool" || a.kind === "enum" || a.flags?.length ? "categories" : "viridis";
}

/** table makes the 256 colours of a map, as RGBA. Flags may bring colours of their own. */
export function table(map: ColourMap, reverse: boolean, flags?: ArrayFacts["flags"]): Table {
	const t: Table = new Uint8Array(4 * 256);
	for (let i = 0; i < 256; i++) {
		const text = map.at ? map.at(reverse ? 1 - i / 255 : i / 255) : schemeTableau10[i % 10];
		t.set([...rgb(text), 255], 4 * i);
	}
	if (map.kind === "categories")
		for (const f of flags ?? []) if (f.color && /^#[0-9a-f]{6}$/i.test(f.color)) t.set([...rgb(f.color), 255], 4 * category(f.value));
	return t;
}

/** category is the index in a table of the colour of a value that is a name. */
export function category(value: number): number {
	return ((Math.trunc(value) % 256) + 256) % 256;
}

/** place is the index in a table of a value between lo and hi. */
export function place(value: number, lo: number, hi: number, log: boolean): number {
	let t: number;
	if (log) t = value > 0 ? (Math.log(value) - Math.log(lo)) / (Math.log(hi) - Math.log(lo)) : 0;
	else t = (value - lo) / (hi - lo);
	if (!(t > 0)) return 0;
	return t >= 1 ? 255 : Math.floor(t * 255 + 0.5);
}

/** css is a colour of a table for a style. */
export function css(t: Table, i: number): string {
	return `rgb(${t[4 * i]},${t[4 * i + 1]},${t[4 * i + 2]})`;
}

/**
 * range returns the numbers of the first and the last colour, where sorted are finite
 * values of the plane. A diverging map has its middle at zero if the values have both
 * signs.
 */
export function range(text: string, sorted: Float32Array, known: [number, number] | null, map: ColourMap, log: boolean): [number, number] {
	let lo = 0, hi = 1;
	const at = (p: number) => sorted[Math.min(sorted.length - 1, Math.max(0, Math.round((p / 100) * (sorted.length - 1))))];
	const percentiles = /^p([\d.]+):([\d.]+)$/.exec(text);
	const fixed = text === "auto" || percentiles ? null : text.split(":").map(Number);
	if (fixed) return fixed[0] === fixed[1] ? [fixed[0], fixed[0] + 1] : [fixed[0], fixed[1]];
	if (percentiles && sorted.length) [lo, hi] = [at(Number(percentiles[1])), at(Number(percentiles[2]))];
	else if (known) [lo, hi] = known;
	else if (sorted.length) [lo, hi] = [sorted[0], sorted[sorted.length - 1]];
	if (map.kind === "diverging" && lo < 0 && hi > 0) {
		hi = Math.max(-lo, hi);
		lo = -hi;
	}
	if (log && lo <= 0) {
		const positive = sorted.find((v) => v > 0);
		lo = positive ?? 1e-3;
		if (hi <= lo) hi = lo * 10;
	}
	if (lo === hi) hi = lo + (Math.abs(lo) || 1);
	return [lo, hi];
}
