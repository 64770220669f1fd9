// SPDX-License-Identifier: Apache-2.0

// The stage of a plane: picture, axes, and what is drawn over them. It keeps the
// transform between elements and pixels, and never waits for the server: it paints what
// it has, and asks for the rest.

import { axisBottom, axisLeft, type Axis } from "d3-axis";
import { scaleLinear, type NumberValue } from "d3-scale";
import { select, type Selection } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { State, type Chunks } from "./api";
import { borders, type Along, type Tick } from "./along";
import { inks, paint, type Look, type Picture, type Spot, type Tile } from "./picture";
import { pixel, Tiles, type Subject } from "./tiles";
import type { Heat } from "./link";
import { bytes, count, number } from "./words";

/** Plan is what the stage shows. */
export interface Scene {
	/** Changes with all that changes the values. */
	key: string;
	subject: Subject;
	y: Along;
	x: Along;
	flip: boolean;
	stretch: boolean;
	borders: boolean;
	heat: Heat;
	/** Bytes of an element in memory, for ratios. */
	itemSize: number;
}

export interface Point {
	y: number;
	x: number;
}

/** The style sheet has the same numbers. */
const margin = { left: 72, bottom: 44, top: 20, right: 20 };
const narrow = { left: 56, bottom: 44, top: 20, right: 12 };

export class Stage {
	private picture: Picture;
	private tiles: Tiles | null = null;
	private old: Tiles | null = null;
	private scene: Scene | null = null;
	private transform: ZoomTransform = zoomIdentity;
	private behavior: ZoomBehavior<HTMLElement, unknown>;
	private surface: Selection<HTMLElement, unknown, null, undefined>;
	private margin = margin;
	private width = 0;
	private height = 0;
	private frame = 0;
	private asking = 0;
	private sees: ResizeObserver;
	private look: Look | null = null;
	private wantedBox: number[] | null = null;
	private colours = new Map<string, string>();
	/** The chunks of the heat map. */
	chunks: Chunks | null = null;
	cursor: Point | null = null;
	pin: Point | null = null;

	/** What the page does when something happens on the stage. */
	onPoint = (_: Point | null) => {};
	onClick = (_: Point) => {};
	/** Called with the visible box, and whether the user has changed it. */
	onBox = (_: number[], _byUser: boolean) => {};
	onTiles = () => {};
	lookOf: () => Look | null = () => null;

	constructor(private root: HTMLElement, plain: boolean) {
		this.picture = paint(root.querySelector<HTMLCanvasElement>("canvas.picture")!, plain);
		root.dataset.paints = this.picture.kind;
		this.picture.settled = () => {
			root.dataset.settled = String(!!this.tiles?.isWhole);
		};
		const glass = root.querySelector<HTMLElement>(".glass")!;
		this.surface = select(glass);
		this.behavior = zoom<HTMLElement, unknown>()
			.filter((e: MouseEvent) => !e.button && (!e.ctrlKey || e.type === "wheel"))
			.clickDistance(4)
			.on("zoom", (e) => {
				this.transform = e.transform;
				this.draw();
				this.askSoon();
				if (e.sourceEvent) this.onBox(this.box(), true);
			});
		this.surface.call(this.behavior).on("dblclick.zoom", null);
		glass.addEventListener("pointermove", (e) => this.point(this.elementAt(e)));
		glass.addEventListener("pointerleave", () => this.point(null));
		glass.addEventListener("click", (e) => {
			const p = this.elementAt(e);
			if (p) this.onClick(p);
		});
		this.sees = new ResizeObserver(() => this.resize());
		this.sees.observe(root);
	}

	get kind(): string {
		return this.picture.kind;
	}

	/** show shows a scene. The old picture stays until the new one is there. */
	show(scene: Scene, box: number[] | null): void {
		const before = this.scene;
		this.scene = scene;
		if (!before || before.key !== scene.key) {
			const same = before?.subject.height === scene.subject.height && before.subject.width === scene.subject.width;
			this.release();
			if (this.tiles) {
				this.tiles.end();
				if (same && !this.tiles.isEmpty) this.old = this.tiles;
				else this.tiles.all().forEach((t) => this.picture.forget(t));
			}
			this.tiles = new Tiles(scene.subject, () => this.arrived(), (t) => this.picture.forget(t));
			this.chunks = null;
		}
		const moved = !before || before.y.name !== scene.y.name || before.x.name !== scene.x.name || before.flip !== scene.flip || before.stretch !== scene.stretch ||
			before.subject.query.node !== scene.subject.query.node;
		const given = JSON.stringify(box) !== JSON.stringify(this.wantedBox);
		this.wantedBox = box;
		if (moved || (given && JSON.stringify(box) !== JSON.stringify(this.box()))) this.reach(box);
		this.limit();
		this.draw();
		this.ask();
	}

	private release(): void {
		this.old?.all().forEach((t) => this.picture.forget(t));
		this.old = null;
	}

	private arrived(): void {
		if (this.old && this.tiles?.isWhole) this.release();
		this.draw();
		this.onTiles();
	}

	/** The pixels of an element at the scale 1, and where the first one begins. */
	private base(): { by: number; bx: number; oy: number; ox: number } {
		const { height: ny, width: nx } = this.scene!.subject;
		let by = this.height / Math.max(1, ny), bx = this.width / Math.max(1, nx);
		if (!this.scene!.stretch) by = bx = Math.min(by, bx);
		return { by, bx, oy: (this.height - by * ny) / 2, ox: (this.width - bx * nx) / 2 };
	}

	private screenY(row: number): number {
		const { by, oy } = this.base();
		const up = this.scene!.flip ? this.scene!.subject.height - row : row;
		return this.transform.applyY(oy + by * up);
	}

	private screenX(column: number): number {
		const { bx, ox } = this.base();
		return this.transform.applyX(ox + bx * column);
	}

	private rowAt(y: number): number {
		const { by, oy } = this.base();
		const up = (this.transform.invertY(y) - oy) / by;
		return this.scene!.flip ? this.scene!.subject.height - up : up;
	}

	private columnAt(x: number): number {
		const { bx, ox } = this.base();
		return (this.transform.invertX(x) - ox) / bx;
	}

	private elementAt(e: { offsetX: number; offsetY: number }): Point | null {
		if (!this.scene || !this.width) return null;
		const y = Math.floor(this.rowAt(e.offsetY)), x = Math.floor(this.columnAt(e.offsetX));
		return y >= 0 && x >= 0 && y < this.scene.subject.height && x < this.scene.subject.width ? { y, x } : null;
	}

	/** box returns the visible elements, y0, y1, x0, x1. */
	box(): number[] {
		if (!this.scene || !this.width) return [0, 0, 0, 0];
		const { height: ny, width: nx } = this.scene.subject;
		const rows = [this.rowAt(0), this.rowAt(this.height)].sort((a, b) => a - b);
		const clip = (v: number, n: number) => Math.min(n, Math.max(0, v));
		return [Math.floor(clip(rows[0] + 1e-6, ny)), Math.ceil(clip(rows[1] - 1e-6, ny)), Math.floor(clip(this.columnAt(0) + 1e-6, nx)), Math.ceil(clip(this.columnAt(this.width) - 1e-6, nx))];
	}

	/** The step along each axis of a pixel of the screen, in elements. */
	private perPixel(): [number, number] {
		const { by, bx } = this.base();
		const ratio = Math.min(2, window.devicePixelRatio || 1);
		return [1 / (by * this.transform.k * ratio), 1 / (bx * this.transform.k * ratio)];
	}

	private limit(): void {
		if (!this.scene || !this.width) return;
		const { by, bx } = this.base();
		this.behavior.scaleExtent([0.5, Math.max(1, 80 / Math.min(by, bx))]).extent([[0, 0], [this.width, this.height]])
			.translateExtent([[-this.width / 2, -this.height / 2], [1.5 * this.width, 1.5 * this.height]]);
	}

	/** reach moves so that a box fills the stage, or the whole plane. */
	reach(box: number[] | null): void {
		this.wantedBox = box;
		if (!this.scene || !this.width) return;
		this.limit();
		let t = zoomIdentity;
		if (box) {
			const { by, bx, oy, ox } = this.base();
			const ny = this.scene.subject.height;
			const [y0, y1] = this.scene.flip ? [ny - box[1], ny - box[0]] : [box[0], box[1]];
			const k = Math.min(this.height / (by * (y1 - y0)), this.width / (bx * (box[3] - box[2])));
			const my = oy + (by * (y0 + y1)) / 2, mx = ox + (bx * (box[2] + box[3])) / 2;
			t = zoomIdentity.translate(this.width / 2 - k * mx, this.height / 2 - k * my).scale(k);
		}
		this.surface.call(this.behavior.transform, t);
	}

	/** zoomBy and panBy serve the keyboard and the buttons. */
	zoomBy(factor: number): void {
		this.surface.call(this.behavior.scaleBy, factor);
		this.onBox(this.box(), true);
	}

	panBy(dx: number, dy: number): void {
		this.surface.call(this.behavior.translateBy, (dx * this.width) / this.transform.k, (dy * this.height) / this.transform.k);
		this.onBox(this.box(), true);
	}

	fit(): void {
		this.reach(null);
		this.onBox(this.box(), true);
	}

	/** isFitted reports whether the whole plane is shown. */
	get isFitted(): boolean {
		return this.transform.k === 1 && this.transform.x === 0 && this.transform.y === 0;
	}

	point(p: Point | null): void {
		if (p?.y === this.cursor?.y && p?.x === this.cursor?.x) return;
		this.cursor = p;
		this.draw();
		this.onPoint(p);
	}

	private resize(): void {
		const { clientWidth, clientHeight } = this.root;
		this.margin = matchMedia("(max-width: 767px)").matches ? narrow : margin;
		const width = Math.max(1, clientWidth - this.margin.left - this.margin.right), height = Math.max(1, clientHeight - this.margin.top - this.margin.bottom);
		const isFirst = !this.width;
		const box = this.isFitted ? null : this.box();
		this.width = width;
		this.height = height;
		const ratio = Math.min(2, window.devicePixelRatio || 1);
		for (const canvas of this.root.querySelectorAll("canvas")) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		if (this.scene) this.reach(isFirst ? this.wantedBox : box);
		this.draw();
		this.ask();
	}

	// Requests while the user pans are sent at most ten times in a second.
	private askSoon(): void {
		if (this.asking) return;
		this.asking = window.setTimeout(() => {
			this.asking = 0;
			this.ask();
		}, 100);
	}

	private ask(): void {
		if (!this.scene || !this.width) return;
		const [y0, y1, x0, x1] = this.box();
		this.root.dataset.settled = "false";
		this.tiles?.want(this.perPixel(), y0, y1, x0, x1);
		this.scene.y.ask(y0, y1);
		this.scene.x.ask(x0, x1);
		if (!this.wantedBox && this.isFitted) this.onBox([y0, y1, x0, x1], false);
		this.onTiles();
		this.draw();
	}

	retry(): void {
		this.tiles?.retry();
		this.old?.end();
		this.onTiles();
	}

	get state(): Tiles | null {
		return this.tiles;
	}

	/** valueAt returns what is painted at an element, to the precision of the picture. */
	valueAt(p: Point): { value: number; state: State; exact: boolean } | null {
		const t = this.tiles?.show(p.y, p.y + 1, p.x, p.x + 1).at(-1);
		if (!t) return null;
		const i = pixel(t, p.y, p.x);
		return { value: t.values[i], state: t.states[i] & 7, exact: t.head.exact && t.head.step[0] === 1 && t.head.step[1] === 1 };
	}

	/** visible calls visit with values that are on the screen, 200,000 at most. */
	visible(visit: (value: number, state: State) => void): void {
		const [y0, y1, x0, x1] = this.box();
		const tiles = this.tiles?.show(y0, y1, x0, x1) ?? [];
		const best = tiles.at(-1)?.key.split(",", 2).join();
		const shown = tiles.filter((t) => t.key.split(",", 2).join() === best);
		const stride = Math.max(1, Math.floor(Math.sqrt(shown.reduce((n, t) => n + t.values.length, 0) / 2e5)));
		for (const t of shown) {
			const [sy, sx] = [(t.box[1] - t.box[0]) / t.height, (t.box[3] - t.box[2]) / t.width];
			for (let r = 0; r < t.height; r += stride) {
				const y = t.box[0] + r * sy;
				if (y < y0 || y >= y1) continue;
				for (let c = 0; c < t.width; c += stride) {
					const x = t.box[2] + c * sx;
					if (x >= x0 && x < x1) visit(t.values[r * t.width + c], t.states[r * t.width + c] & 7);
				}
			}
		}
	}

	/** draw paints in the next frame. */
	draw(): void {
		if (!this.frame) this.frame = requestAnimationFrame(() => this.paint());
	}

	private paint(): void {
		this.frame = 0;
		this.colours.clear();
		this.look = this.lookOf();
		if (!this.scene || !this.width || !this.look) return;
		const ratio = this.look.ratio;
		const [y0, y1, x0, x1] = this.box();
		const tiles = [...(this.old?.show(y0, y1, x0, x1) ?? []), ...(this.tiles?.show(y0, y1, x0, x1) ?? [])];
		const spots: Spot[] = tiles.map((t: Tile) => ({
			tile: t,
			left: this.screenX(t.box[2]) * ratio,
			right: this.screenX(t.box[3]) * ratio,
			top: this.screenY(t.box[0]) * ratio,
			bottom: this.screenY(t.box[1]) * ratio,
		}));
		this.root.dataset.settled = "false";
		this.picture.draw(spots, this.look);
		this.paintOver([y0, y1, x0, x1], ratio);
		this.paintAxes([y0, y1, x0, x1]);
	}

	private paintOver(box: number[], ratio: number): void {
		const canvas = this.root.querySelector<HTMLCanvasElement>("canvas.over")!;
		const c = canvas.getContext("2d")!;
		c.setTransform(1, 0, 0, 1, 0, 0);
		c.clearRect(0, 0, canvas.width, canvas.height);
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (this.scene!.heat) this.paintHeat(c);
		if (this.scene!.borders) this.paintBorders(c, box);
		this.paintNumbers(c, box);
		for (const [p, colour] of [[this.pin, this.ink("--accent")], [this.cursor, this.ink("--ink")]] as const) if (p) this.paintCross(c, p, colour);
	}

	/** ink is a colour of the style sheet. It is looked up once in a frame. */
	private ink(name: string): string {
		let colour = this.colours.get(name);
		if (!colour) this.colours.set(name, (colour = getComputedStyle(this.root).getPropertyValue(name).trim() || "#888"));
		return colour;
	}

	private paintCross(c: CanvasRenderingContext2D, p: Point, colour: string): void {
		const [l, r] = [this.screenX(p.x), this.screenX(p.x + 1)];
		const [t, b] = [this.screenY(p.y), this.screenY(p.y + 1)].sort((m, n) => m - n);
		const [mx, my] = [(l + r) / 2, (t + b) / 2];
		for (const [width, style] of [[3, this.ink("--paper")], [1, colour]] as const) {
			c.lineWidth = width;
			c.strokeStyle = style;
			c.beginPath();
			c.moveTo(mx, 0);
			c.lineTo(mx, my - 8);
			c.moveTo(mx, my + 8);
			c.lineTo(mx, this.height);
			c.moveTo(0, my);
			c.lineTo(mx - 8, my);
			c.moveTo(mx + 8, my);
			c.lineTo(this.width, my);
			if (r - l > 6 || b - t > 6) c.rect(l, t, r - l, b - t);
			c.stroke();
		}
	}

	/** edges returns the borders of an axis on the screen, null if they are too close. */
	private edges(along: Along, inner: boolean, lo: number, hi: number, pixels: number): number[] | null {
		const runs = inner ? along.axis.inner : along.axis.edges;
		return runs?.length ? borders(runs, lo, hi, pixels / 4) : null;
	}

	private paintBorders(c: CanvasRenderingContext2D, [y0, y1, x0, x1]: number[]): void {
		const s = this.scene!;
		const top = Math.min(this.screenY(0), this.screenY(s.subject.height)), bottom = Math.max(this.screenY(0), this.screenY(s.subject.height));
		const left = this.screenX(0), right = this.screenX(s.subject.width);
		for (const inner of [true, false]) {
			const rows = this.edges(s.y, inner, y0, y1, this.height), columns = this.edges(s.x, inner, x0, x1, this.width);
			for (const [width, style] of [[inner ? 2 : 3.5, this.ink("--paper")], [inner ? 0.75 : 1.5, this.ink(inner ? "--faint" : "--ink")]] as const) {
				c.globalAlpha = style === this.ink("--paper") ? 0.55 : 1;
				c.lineWidth = width;
				c.strokeStyle = style;
				c.setLineDash(inner && width < 1 ? [3, 3] : []);
				c.beginPath();
				for (const row of rows ?? []) {
					c.moveTo(Math.max(0, left), this.screenY(row));
					c.lineTo(Math.min(this.width, right), this.screenY(row));
				}
				for (const column of columns ?? []) {
					c.moveTo(this.screenX(column), Math.max(0, top));
					c.lineTo(this.screenX(column), Math.min(this.height, bottom));
				}
				c.stroke();
			}
			c.globalAlpha = 1;
			c.setLineDash([]);
			if (inner) continue;
			this.paintLengths(c, columns ?? [], rows ?? [], Math.max(0, top), Math.max(0, left));
		}
	}

	/** paintLengths writes how long chunks are, along the upper and the left edge. */
	private paintLengths(c: CanvasRenderingContext2D, columns: number[], rows: number[], top: number, left: number): void {
		c.font = "600 11px system-ui, sans-serif";
		c.textAlign = "center";
		c.textBaseline = "middle";
		const write = (text: string, x: number, y: number) => {
			const w = c.measureText(text).width + 8;
			c.fillStyle = this.ink("--paper");
			c.globalAlpha = 0.85;
			c.fillRect(x - w / 2, y - 8, w, 16);
			c.globalAlpha = 1;
			c.fillStyle = this.ink("--ink");
			c.fillText(text, x, y + 0.5);
		};
		for (let i = 1; i < columns.length; i++) {
			const text = count(columns[i] - columns[i - 1]);
			const [a, b] = [Math.max(0, this.screenX(columns[i - 1])), Math.min(this.width, this.screenX(columns[i]))];
			if (b - a > c.measureText(text).width + 12) write(text, (a + b) / 2, top + 9);
		}
		for (let i = 1; i < rows.length; i++) {
			const text = count(rows[i] - rows[i - 1]);
			const ends = [this.screenY(rows[i - 1]), this.screenY(rows[i])].sort((m, n) => m - n);
			const [a, b] = [Math.max(0, ends[0]), Math.min(this.height, ends[1])];
			if (b - a > 20 && (a + b) / 2 > top + 18) write(text, left + c.measureText(text).width / 2 + 6, (a + b) / 2);
		}
	}

	/** amountOf is what a heat map shows of a chunk; null: it is not stored. */
	amountOf(k: number): number | null {
		const h = this.chunks!;
		const i = Math.floor(k / (h.x.length - 1)), j = k % (h.x.length - 1);
		if (!h.stored[k]) return null;
		switch (this.scene!.heat) {
			case "bytes": return h.bytes[k];
			case "age": return h.modified[k];
			case "ratio": return ((h.y[i + 1] - h.y[i]) * (h.x[j + 1] - h.x[j]) * this.scene!.itemSize) / Math.max(1, h.bytes[k]);
			default: return h.stored[k];
		}
	}

	/** ends are the least and the greatest amount of the heat map. */
	heatEnds(): [number, number] {
		let [lo, hi] = [Infinity, -Infinity];
		for (let k = 0; k < (this.chunks?.stored.length ?? 0); k++) {
			const v = this.amountOf(k);
			if (v !== null) [lo, hi] = [Math.min(lo, v), Math.max(hi, v)];
		}
		return lo <= hi ? [lo, hi] : [0, 1];
	}

	private paintHeat(c: CanvasRenderingContext2D): void {
		const h = this.chunks;
		if (!h || !this.look) return;
		const [lo, hi] = this.heatEnds();
		const pairs = inks(this.look.dark);
		const [left, right, upper, lower] = [h.x[0], h.x[h.x.length - 1], h.y[0], h.y[h.y.length - 1]];
		c.fillStyle = this.ink("--paper");
		c.fillRect(this.screenX(left), this.screenY(upper), this.screenX(right) - this.screenX(left), this.screenY(lower) - this.screenY(upper));
		for (let i = 0, k = 0; i < h.y.length - 1; i++)
			for (let j = 0; j < h.x.length - 1; j++, k++) {
				const [l, r] = [this.screenX(h.x[j]), this.screenX(h.x[j + 1])];
				const [t, b] = [this.screenY(h.y[i]), this.screenY(h.y[i + 1])].sort((m, n) => m - n);
				if (r < 0 || b < 0 || l > this.width || t > this.height) continue;
				const v = this.amountOf(k);
				c.fillStyle = v === null ? `rgb(${pairs[State.absent][1]})` : heatColour(hi > lo ? (v - lo) / (hi - lo) : 1, this.look.dark);
				const gap = r - l > 4 && b - t > 4 ? 0.5 : 0;
				c.fillRect(l + gap, t + gap, r - l - 2 * gap, b - t - 2 * gap);
				if (v === null && r - l > 8 && b - t > 8) {
					c.strokeStyle = `rgb(${pairs[State.absent][0]})`;
					c.lineWidth = 1;
					c.beginPath();
					c.moveTo(l + 2, t + 2);
					c.lineTo(r - 2, b - 2);
					c.stroke();
				}
				if (r - l > 56 && b - t > 18) this.paintAmount(c, v, (l + r) / 2, (t + b) / 2, hi > lo && v !== null ? (v - lo) / (hi - lo) : 1);
			}
	}

	private paintAmount(c: CanvasRenderingContext2D, v: number | null, x: number, y: number, t: number): void {
		const heat = this.scene!.heat;
		let text = "not stored";
		if (v !== null) text = heat === "bytes" ? bytes(v) : heat === "ratio" ? number(v, 3) + " : 1" : heat === "age" ? new Date(v * 1000).toISOString().slice(0, 10) : v < 1 ? Math.round(v * 100) + " %" : "stored";
		c.font = "11px system-ui, sans-serif";
		c.textAlign = "center";
		c.textBaseline = "middle";
		const light = (t > 0.4) === this.look!.dark;
		c.fillStyle = v === null ? this.ink("--ink") : light ? "#10141a" : "#fff";
		c.fillText(text, x, y);
	}

	/** paintNumbers writes values into elements that are large enough for them. */
	private paintNumbers(c: CanvasRenderingContext2D, [y0, y1, x0, x1]: number[]): void {
		const wide = this.screenX(1) - this.screenX(0), high = Math.abs(this.screenY(1) - this.screenY(0));
		if (wide < 40 || high < 18 || this.scene!.heat || (y1 - y0) * (x1 - x0) > 1500) return;
		const look = this.look!;
		c.font = "11px system-ui, sans-serif";
		c.textAlign = "center";
		c.textBaseline = "middle";
		for (let y = y0; y < y1; y++)
			for (let x = x0; x < x1; x++) {
				const v = this.valueAt({ y, x });
				if (!v || v.state > State.fill || !v.exact) continue;
				const t = (v.value - look.lo) / (look.hi - look.lo);
				const i = 4 * Math.round(255 * Math.min(1, Math.max(0, look.categories ? 0.5 : t)));
				const light = 0.299 * look.table[i] + 0.587 * look.table[i + 1] + 0.114 * look.table[i + 2] > 140;
				c.fillStyle = light ? "#10141a" : "#fff";
				c.fillText(number(v.value, 4), (this.screenX(x) + this.screenX(x + 1)) / 2, (this.screenY(y) + this.screenY(y + 1)) / 2, wide - 4);
			}
	}

	private paintAxes([y0, y1, x0, x1]: number[]): void {
		const s = this.scene!;
		const svg = select(this.root).select<SVGSVGElement>("svg.axes");
		const xTicks = s.x.ticks(x0, x1, this.screenX(x1) - this.screenX(x0), s.x.isTime ? 90 : 70);
		const yTicks = s.y.ticks(y0, y1, Math.abs(this.screenY(y1) - this.screenY(y0)), 44);
		const foot = Math.min(this.height, Math.max(this.screenY(0), this.screenY(s.subject.height)));
		const edge = Math.max(0, this.screenX(0));
		// The lines of the axes end where the picture ends.
		const clipX = (v: number) => Math.max(0, Math.min(this.width, v)), clipY = (v: number) => Math.max(0, Math.min(this.height, v));
		const ends = [clipX(this.screenX(x0)), clipX(this.screenX(x1))], sides = [clipY(this.screenY(y0)), clipY(this.screenY(y1))];
		const xScale = scaleLinear().domain(ends.map((v) => this.columnAt(v))).range(ends);
		const yScale = scaleLinear().domain(sides.map((v) => this.rowAt(v))).range(sides);
		const inside = (ticks: Tick[], scale: typeof xScale) => ticks.filter((t) => scale(t.at) >= Math.min(...scale.range()) - 0.5 && scale(t.at) <= Math.max(...scale.range()) + 0.5);
		const draw = (name: string, axis: Axis<NumberValue>, ticks: Tick[], transform: string) => {
			const labels = new Map(ticks.map((t) => [t.at, brief(t.label, 16)]));
			axis.tickValues([...labels.keys()]).tickFormat((v) => labels.get(Number(v)) ?? "").tickSizeOuter(0).tickPadding(5);
			svg.select<SVGGElement>("g." + name).attr("transform", transform).call(axis);
		};
		draw("bottom", axisBottom(xScale), inside(xTicks, xScale), `translate(${this.margin.left},${this.margin.top + foot})`);
		draw("left", axisLeft(yScale), inside(yTicks, yScale), `translate(${this.margin.left + edge},${this.margin.top})`);
		const title = (a: Along) => brief(a.name + (a.units ? ` (${a.units})` : ""), 36);
		svg.select("text.bottom").attr("x", this.margin.left + (xScale.range()[0] + xScale.range()[1]) / 2).attr("y", this.margin.top + foot + 38).text(title(s.x));
		svg.select("text.left").attr("x", this.margin.left + edge - 8).attr("y", Math.max(12, this.margin.top + Math.min(...yScale.range()) - 8)).text(title(s.y));
	}

	/** sheet returns all that is drawn, for a download. */
	sheet(): { picture: HTMLCanvasElement; over: HTMLCanvasElement; axes: SVGSVGElement; width: number; height: number; left: number; top: number } {
		this.paint();
		return {
			picture: this.root.querySelector<HTMLCanvasElement>("canvas.picture")!,
			over: this.root.querySelector<HTMLCanvasElement>("canvas.over")!,
			axes: this.root.querySelector<SVGSVGElement>("svg.axes")!,
			width: this.width,
			height: this.height,
			left: this.margin.left,
			top: this.margin.top,
		};
	}

	end(): void {
		cancelAnimationFrame(this.frame);
		clearTimeout(this.asking);
		this.sees.disconnect();
		this.tiles?.end();
		this.old?.end();
		this.picture.end();
	}
}

const brief = (text: string, most: number) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

/** heatColour is that of a share of the range of a heat map, of one hue. */
export function heatColour(t: number, dark: boolean): string {
	const [from, to] = dark ? [[30, 58, 62], [142, 232, 214]] : [[214, 236, 231], [6, 84, 78]];
	return `rgb(${from.map((v, i) => Math.round(v + t * (to[i] - v))).join()})`;
}
