// SPDX-License-Identifier: Apache-2.0

// Positions along an axis: coordinates of elements, ticks, and the borders of chunks.

import { scaleLinear, scaleUtc } from "d3-scale";
import { api, isAbort, type AxisFacts, type Runs } from "./api";
import { coordinate, count, moment, number, unit } from "./words";

export interface Tick {
	/** The position in elements. The middle of element i is i + 0.5. */
	at: number;
	label: string;
}

/** milliseconds reads a time of the proleptic Gregorian calendar; NaN for others. */
function milliseconds(v: number | string | null): number {
	if (typeof v === "number") return v;
	if (typeof v !== "string") return NaN;
	return Date.parse(/T.*[^Z]$/.test(v) && !/[+-]\d\d:\d\d$/.test(v) ? v + "Z" : v);
}

/** Along knows the coordinates of an axis as far as they were read. */
export class Along {
	private indices: number[] = [];
	private values: (number | string | null)[] = [];
	private numbers: number[] = [];
	/** Whether the numbers ascend or descend strictly, so that they have an inverse. */
	monotonic = false;
	private asked = "";
	private abort = new AbortController();
	/** changed is called when more coordinates are known. */
	changed = () => {};

	constructor(private node: string, readonly index: number, readonly axis: AxisFacts) {
		const c = axis.coordinate;
		if (!c) return;
		if (c.kind !== "text" && c.even && axis.length > 1) this.set([0, axis.length - 1], [c.first, c.last]);
		if (!c.even || c.kind === "time" || !this.monotonic) this.ask(0, axis.length);
	}

	private set(indices: number[], values: (number | string | null)[]): void {
		this.indices = indices;
		this.values = values;
		this.numbers = values.map(milliseconds);
		const up = this.numbers[1] > this.numbers[0];
		this.monotonic = this.numbers.length > 1 && this.numbers.every((v, i) => i === 0 || (up ? v > this.numbers[i - 1] : v < this.numbers[i - 1]));
	}

	/** ask reads the coordinates of a range if they were not read before. */
	ask(from: number, to: number): void {
		const c = this.axis.coordinate;
		from = Math.max(0, Math.floor(from));
		to = Math.min(this.axis.length, Math.ceil(to));
		const dense = this.indices.length > 1 && this.indices[1] - this.indices[0] === 1;
		const within = from >= this.indices[0] && to <= (this.indices.at(-1) ?? 0) + 1;
		const wanted = `${from}:${to}`;
		if (!c || from >= to || wanted === this.asked || (within && dense)) return;
		if (c.even && c.kind === "number") return;
		this.asked = wanted;
		api.coordinate(this.node, this.index, from, to, this.abort.signal).then(
			(a) => {
				this.set(a.values.map((_, i) => a.from + i * a.step), a.values);
				this.changed();
			},
			(error) => {
				if (!isAbort(error)) this.asked = "";
			},
		);
	}

	end(): void {
		this.abort.abort();
	}

	get isTime(): boolean {
		return this.axis.coordinate?.kind === "time";
	}

	/** The name for people: that of the dimension, or its number. */
	get name(): string {
		return this.axis.name || "axis " + this.index;
	}

	get units(): string {
		return this.axis.coordinate && !this.isTime ? unit(this.axis.coordinate.units ?? "") : "";
	}

	/** amount returns the coordinate at a position as a number, interpolated. */
	amount(at: number): number {
		const n = this.numbers;
		if (n.length < 2) return n[0] ?? NaN;
		let i = this.indices.findLastIndex((k) => k <= at);
		i = Math.min(Math.max(i, 0), n.length - 2);
		const t = (at - this.indices[i]) / (this.indices[i + 1] - this.indices[i]);
		return n[i] + t * (n[i + 1] - n[i]);
	}

	/** position is the inverse of amount. */
	position(amount: number): number {
		const n = this.numbers;
		const up = n[1] > n[0];
		let i = n.findLastIndex((v) => (up ? v <= amount : v >= amount));
		i = Math.min(Math.max(i, 0), n.length - 2);
		return this.indices[i] + ((amount - n[i]) / (n[i + 1] - n[i])) * (this.indices[i + 1] - this.indices[i]);
	}

	/** label is the coordinate of element i, or its index where there is none. */
	label(i: number): string {
		const c = this.axis.coordinate;
		if (!c) return count(i);
		const k = this.indices.indexOf(i);
		if (k >= 0) return coordinate(this.values[k], c.units);
		if (c.kind === "text" || c.kind === "index" || !this.monotonic) return count(i);
		const v = this.amount(i);
		if (c.kind === "time") return Number.isFinite(v) ? (c.even ? "" : "≈ ") + moment(new Date(v).toISOString()) : count(i);
		return coordinate(v, c.units);
	}

	/** ticks returns marks between two positions, about one in each 70 pixels. */
	ticks(lo: number, hi: number, pixels: number, apart = 70): Tick[] {
		const wanted = Math.max(2, Math.floor(pixels / apart));
		lo = Math.max(0, lo);
		hi = Math.min(this.axis.length, hi);
		if (this.monotonic && hi - lo > 2) {
			const ends = [this.amount(lo - 0.5), this.amount(hi - 0.5)];
			const up = ends[1] >= ends[0];
			if (!up) ends.reverse();
			let found: Tick[];
			if (this.isTime) {
				const s = scaleUtc().domain(ends.map((v) => new Date(v)));
				const format = s.tickFormat();
				found = s.ticks(wanted).map((d) => ({ at: this.position(+d) + 0.5, label: format(d) }));
			} else {
				const s = scaleLinear().domain(ends);
				found = s.ticks(wanted).map((v) => ({ at: this.position(v) + 0.5, label: number(v) }));
			}
			found = found.filter((t) => t.at >= lo && t.at <= hi);
			if (found.length) return found;
		}
		const step = Math.max(1, scaleLinear().domain([0, hi - lo]).ticks(wanted)[1] ?? 1);
		const found: Tick[] = [];
		for (let i = Math.ceil(lo / step) * step; i < hi && found.length < 200; i += step) found.push({ at: i + 0.5, label: this.label(Math.floor(i)) });
		return found;
	}
}

/** total is the sum of the lengths of runs. */
export function total(runs: Runs): number {
	return runs.reduce((n, [length, times]) => n + length * times, 0);
}

/**
 * borders returns where chunks begin between two positions, and the end of the last one.
 * It returns null if there are more than limit.
 */
export function borders(runs: Runs, lo: number, hi: number, limit: number): number[] | null {
	const found: number[] = [];
	let start = 0;
	for (const [length, times] of runs) {
		const end = start + length * times;
		if (length > 0 && end >= lo && start <= hi) {
			const first = Math.max(0, Math.floor((lo - start) / length));
			const last = Math.min(times, Math.ceil((hi - start) / length));
			if (last - first + found.length > limit) return null;
			for (let k = first; k < last; k++) found.push(start + k * length);
		}
		start = end;
	}
	if (start >= lo) found.push(start);
	return found;
}

/** describe writes runs in words: 12 chunks of 31, 28 … */
export function describe(runs: Runs): string {
	const parts = runs.slice(0, 6).map(([length, times]) => (times === 1 ? count(length) : `${count(times)} × ${count(length)}`));
	return parts.join(", ") + (runs.length > 6 ? ", …" : "");
}
