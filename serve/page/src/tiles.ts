// SPDX-License-Identifier: Apache-2.0

// Tiles of a plane are read as they become visible, coarse ones first. Each has at most
// 512 × 512 pixels, and stands for a power of two of elements along each axis.

import { api, isAbort, Problem, type PlaneQuery } from "./api";
import { difference, tile, type Tile } from "./picture";

const side = 512;
/** As many tiles stay in memory: 64 of at most 1.3 MB. */
const most = 64;
/** Requests at a time. */
const wide = 4;

/** Subject is a plane of an array, or of the difference of two arrays. */
export interface Subject {
	query: PlaneQuery;
	minus?: PlaneQuery;
	height: number;
	width: number;
}

interface Wish {
	key: string;
	box: [number, number, number, number];
	pixels: [number, number];
	far: number;
}

export class Tiles {
	private held = new Map<string, Tile>();
	private flying = new Map<string, AbortController>();
	private failed = new Map<string, Problem>();
	private wishes: Wish[] = [];
	private frame = 0;
	private wanted: [number, number] = [1, 1];
	private isEnded = false;
	/** The finite values of the coarsest tile, sorted, of which ranges are made. */
	sorted = new Float32Array(0);

	constructor(readonly subject: Subject, private changed: () => void, private dropped: (t: Tile) => void) {}

	/** whole is the step along an axis at which the whole of it fits into one tile. */
	private static whole(length: number): number {
		return 2 ** Math.max(0, Math.ceil(Math.log2(length / side)));
	}

	/** want asks for the tiles of a box, at so many elements per pixel. */
	want(perPixel: [number, number], y0: number, y1: number, x0: number, x1: number): void {
		const { height, width } = this.subject;
		if (!height || !width || this.isEnded) return;
		const top = [Tiles.whole(height), Tiles.whole(width)];
		const step = perPixel.map((n, i) => Math.min(top[i], 2 ** Math.max(0, Math.floor(Math.log2(n) + 0.25)))) as [number, number];
		this.wanted = step;
		const wishes = [this.wish(top[0], top[1], 0, 0, -1)];
		const [h, w] = [side * step[0], side * step[1]];
		for (let i = Math.floor(Math.max(0, y0) / h); i * h < Math.min(height, y1); i++)
			for (let j = Math.floor(Math.max(0, x0) / w); j * w < Math.min(width, x1); j++)
				wishes.push(this.wish(step[0], step[1], i, j, Math.hypot(((i + 0.5) * h - (y0 + y1) / 2) / h, ((j + 0.5) * w - (x0 + x1) / 2) / w)));
		this.wishes = wishes.sort((a, b) => a.far - b.far);
		const keys = new Set(wishes.map((w) => w.key));
		for (const [key, abort] of this.flying) if (!keys.has(key)) abort.abort();
		this.go();
	}

	private wish(sy: number, sx: number, i: number, j: number, far: number): Wish {
		const { height, width } = this.subject;
		const box: Wish["box"] = [i * side * sy, Math.min(height, (i + 1) * side * sy), j * side * sx, Math.min(width, (j + 1) * side * sx)];
		return { key: `${sy},${sx},${i},${j}`, box, pixels: [Math.ceil((box[1] - box[0]) / sy), Math.ceil((box[3] - box[2]) / sx)], far };
	}

	private go(): void {
		for (const w of this.wishes) {
			if (this.flying.size >= wide) return;
			if (!this.held.has(w.key) && !this.flying.has(w.key) && !this.failed.has(w.key)) void this.read(w);
		}
	}

	private async read(w: Wish): Promise<void> {
		const abort = new AbortController();
		this.flying.set(w.key, abort);
		const { query, minus } = this.subject;
		try {
			const [a, b] = await Promise.all([query, minus].map((q) => (q ? api.plane(q, w.box, w.pixels[0], w.pixels[1], abort.signal) : null)));
			if (this.isEnded || abort.signal.aborted) return;
			const t = b ? difference(w.key, a!, b) : tile(w.key, a!);
			t.used = this.frame;
			this.held.set(w.key, t);
			if (w.far < 0 || !this.sorted.length) this.learn(t);
			this.drop();
			this.changed();
		} catch (error) {
			if (isAbort(error) || this.isEnded) return;
			this.failed.set(w.key, error instanceof Problem ? error : new Problem(500, "The picture cannot be made", String(error)));
			this.changed();
		} finally {
			this.flying.delete(w.key);
			if (!this.isEnded) this.go();
		}
	}

	private learn(t: Tile): void {
		const found: number[] = [];
		for (let i = 0; i < t.values.length; i++) if (t.states[i] === 0 && Number.isFinite(t.values[i])) found.push(t.values[i]);
		this.sorted = Float32Array.from(found).sort();
	}

	private drop(): void {
		const old = [...this.held.values()].filter((t) => t.used < this.frame).sort((a, b) => a.used - b.used);
		while (this.held.size > most && old.length) {
			const t = old.shift()!;
			this.held.delete(t.key);
			this.dropped(t);
		}
	}

	/**
	 * show returns the tiles that meet a box, in the order in which they are painted:
	 * coarser ones, finer ones, and those of the wanted resolution last.
	 */
	show(y0: number, y1: number, x0: number, x1: number): Tile[] {
		this.frame++;
		const rank = (t: Tile) => {
			const [sy, sx] = t.key.split(",").map(Number);
			const [wy, wx] = this.wanted;
			if (sy === wy && sx === wx) return Infinity;
			return sy >= wy && sx >= wx ? -(sy * sx) : 1 - 1 / (sy * sx + 1);
		};
		const found = [...this.held.values()].filter((t) => t.box[0] < y1 && t.box[1] > y0 && t.box[2] < x1 && t.box[3] > x0);
		for (const t of found) t.used = this.frame;
		return found.sort((a, b) => rank(a) - rank(b));
	}

	/** isLoading reports whether wanted tiles are still under way. */
	get isLoading(): boolean {
		return this.wishes.some((w) => !this.held.has(w.key) && !this.failed.has(w.key));
	}

	/** isWhole reports whether all wanted tiles have been read. */
	get isWhole(): boolean {
		return this.wishes.length > 0 && this.wishes.every((w) => this.held.has(w.key));
	}

	get isEmpty(): boolean {
		return this.held.size === 0;
	}

	get problem(): Problem | null {
		return this.failed.values().next().value ?? null;
	}

	/** retry asks again for what failed. */
	retry(): void {
		this.failed.clear();
		this.go();
	}

	all(): Tile[] {
		return [...this.held.values()];
	}

	end(): void {
		this.isEnded = true;
		for (const abort of this.flying.values()) abort.abort();
	}
}

/** pixel returns the index of the pixel of a tile that has an element. */
export function pixel(t: Tile, y: number, x: number): number {
	const row = Math.min(t.height - 1, Math.floor(((y - t.box[0]) / (t.box[1] - t.box[0])) * t.height));
	return row * t.width + Math.min(t.width - 1, Math.floor(((x - t.box[2]) / (t.box[3] - t.box[2])) * t.width));
}
