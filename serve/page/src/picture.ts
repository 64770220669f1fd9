// SPDX-License-Identifier: Apache-2.0

// A picture paints tiles of values on a canvas. WebGL2 looks the colours up on the GPU;
// where there is none, the same colours are computed for a 2-D canvas.

import { State, type PlaneData } from "./api";
import { category, place, type Table } from "./colours";

/** absentValue marks a state byte whose value is NaN. */
const noNumber = 8;

/** Tile is a rectangle of decoded values. */
export interface Tile {
	key: string;
	/** The elements of the plane, y0, y1, x0, x1. */
	box: [number, number, number, number];
	height: number;
	width: number;
	values: Float32Array;
	states: Uint8Array;
	head: PlaneData["head"];
	/** When it was last drawn, in frames. */
	used: number;
}

/** tile makes a tile of what the server answered. */
export function tile(key: string, d: PlaneData): Tile {
	const { head, values, states } = d;
	for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) states[i] = (states[i] === State.value ? State.nan : states[i]) | noNumber;
	return { key, box: head.box, height: head.height, width: head.width, values, states, head, used: 0 };
}

/** difference makes a tile of the differences of two answers of the same box. */
export function difference(key: string, a: PlaneData, b: PlaneData): Tile {
	const values = a.values.slice();
	const states = a.states.slice();
	for (let i = 0; i < values.length; i++) {
		values[i] -= b.values[i];
		states[i] = Math.max(states[i], b.states[i]);
	}
	return tile(key, { head: { ...a.head, exact: a.head.exact && b.head.exact }, values, states });
}

/** Spot is where the edges of a tile lie on the canvas, in pixels of the device. */
export interface Spot {
	tile: Tile;
	left: number;
	right: number;
	top: number;
	bottom: number;
}

/** Look says how values become colours. */
export interface Look {
	table: Table;
	lo: number;
	hi: number;
	log: boolean;
	categories: boolean;
	/** Whether each state is drawn as a pattern rather than in the colour of its value. */
	marked: boolean[];
	dark: boolean;
	/** Pixels of the device for one of CSS. */
	ratio: number;
}

/** inks are the colours of the patterns: of their lines, and of what lies behind. */
export function inks(dark: boolean): [ink: number[], paper: number[]][] {
	const paper = dark ? [38, 42, 48] : [236, 234, 229];
	return [
		[[0, 0, 0], [0, 0, 0]],
		[dark ? [96, 104, 116] : [176, 172, 162], paper],
		[dark ? [150, 158, 170] : [120, 116, 108], dark ? [26, 29, 34] : [248, 247, 244]],
		[dark ? [84, 104, 140] : [150, 168, 200], dark ? [24, 30, 42] : [228, 234, 244]],
		[dark ? [120, 108, 84] : [190, 174, 140], dark ? [44, 40, 32] : [245, 238, 222]],
		[dark ? [52, 56, 62] : [222, 220, 215], paper],
		[dark ? [240, 112, 104] : [196, 44, 40], dark ? [64, 26, 26] : [255, 226, 222]],
	];
}

/** isInk reports whether a pixel of a pattern belongs to its lines. */
export function isInk(state: State, x: number, y: number): boolean {
	switch (state) {
		case State.fill: return (x + y) % 8 < 2;
		case State.nan: return x % 6 < 2 && y % 6 < 2;
		case State.absent: return (x + 8000000 - y) % 10 < 1;
		case State.missing: return y % 5 < 1;
		case State.unknown: return (((x >> 2) + (y >> 2)) & 1) === 1;
		default: return (x + y) % 8 < 1 || (x + 8000000 - y) % 8 < 1;
	}
}

export interface Picture {
	readonly kind: "webgl2" | "canvas";
	draw(spots: Spot[], look: Look): void;
	/** forget frees what is kept for a tile. */
	forget(t: Tile): void;
	/** settled is called when the picture is whole. */
	settled: () => void;
	end(): void;
}

/** paint returns a picture on the canvas. */
export function paint(canvas: HTMLCanvasElement, plain: boolean): Picture {
	if (!plain) {
		const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true, preserveDrawingBuffer: true });
		if (gl) return new Shaded(canvas, gl);
	}
	return new Computed(canvas);
}

const vertex = `#version 300 es
uniform vec4 place;
uniform vec2 size;
out vec2 at;
void main() {
	vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
	at = corner * size;
	gl_Position = vec4(mix(place.xy, place.zw, corner), 0.0, 1.0);
}`;

// The patterns are those of isInk, and the look-up is that of place and category.
const fragment = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
uniform sampler2D values;
uniform usampler2D states;
uniform sampler2D colours;
uniform vec2 size;
uniform vec2 range;
uniform bool isLog;
uniform bool categories;
uniform int marked;
uniform vec3 ink[7];
uniform vec3 paper[7];
uniform float ratio;
uniform float height;
in vec2 at;
out vec4 colour;

bool isInk(int state, int x, int y) {
	if (state == 1) return (x + y) % 8 < 2;
	if (state == 2) return x % 6 < 2 && y % 6 < 2;
	if (state == 3) return (x + 8000000 - y) % 10 < 1;
	if (state == 4) return y % 5 < 1;
	if (state == 5) return (((x >> 2) + (y >> 2)) & 1) == 1;
	return (x + y) % 8 < 1 || (x + 8000000 - y) % 8 < 1;
}

void main() {
	ivec2 p = ivec2(min(at, size - 1.0));
	int byte = int(texelFetch(states, p, 0).r);
	int state = byte & 7;
	if (byte >= 8 || (marked >> state & 1) == 1) {
		ivec2 q = ivec2(floor(vec2(gl_FragCoord.x, height - gl_FragCoord.y) / ratio));
		colour = vec4(isInk(state, q.x, q.y) ? ink[state] : paper[state], 1.0);
		return;
	}
	float v = texelFetch(values, p, 0).r;
	int i;
	if (categories) {
		i = int(v - 256.0 * floor(trunc(v) / 256.0));
	} else {
		float t = isLog ? (v > 0.0 ? (log(v) - log(range.x)) / (log(range.y) - log(range.x)) : 0.0) : (v - range.x) / (range.y - range.x);
		i = int(floor(clamp(t, 0.0, 1.0) * 255.0 + 0.5));
	}
	colour = texelFetch(colours, ivec2(clamp(i, 0, 255), 0), 0);
}`;

/** Shaded looks colours up with WebGL2. */
class Shaded implements Picture {
	readonly kind = "webgl2";
	settled = () => {};
	private places: Record<string, WebGLUniformLocation | null> = {};
	private textures = new Map<Tile, [WebGLTexture, WebGLTexture]>();
	private colours: WebGLTexture | null = null;
	private lost = false;
	private last: [Spot[], Look] | null = null;

	constructor(private canvas: HTMLCanvasElement, private gl: WebGL2RenderingContext) {
		this.begin();
		// A driver that restarts takes all textures with it.
		canvas.addEventListener("webglcontextlost", this.onLost);
		canvas.addEventListener("webglcontextrestored", this.onRestored);
	}

	private onLost = (e: Event) => {
		e.preventDefault();
		this.lost = true;
	};

	private onRestored = () => {
		this.lost = false;
		this.textures.clear();
		this.begin();
		if (this.last) this.draw(...this.last);
	};

	private begin(): void {
		const gl = this.gl;
		const program = gl.createProgram();
		for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
			const shader = gl.createShader(kind)!;
			gl.shaderSource(shader, text);
			gl.compileShader(shader);
			if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getShaderInfoLog(shader));
			gl.attachShader(program, shader);
		}
		gl.linkProgram(program);
		gl.useProgram(program);
		for (const name of ["place", "size", "values", "states", "colours", "range", "isLog", "categories", "marked", "ink", "paper", "ratio", "height"])
			this.places[name] = gl.getUniformLocation(program, name);
		gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
		this.colours = this.texture();
		gl.uniform1i(this.places.values, 0);
		gl.uniform1i(this.places.states, 1);
		gl.uniform1i(this.places.colours, 2);
	}

	private texture(): WebGLTexture {
		const gl = this.gl;
		const t = gl.createTexture();
		gl.bindTexture(gl.TEXTURE_2D, t);
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
		gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
		return t;
	}

	private bind(t: Tile): void {
		const gl = this.gl;
		let pair = this.textures.get(t);
		if (!pair) {
			gl.activeTexture(gl.TEXTURE0);
			const values = this.texture();
			gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, t.width, t.height, 0, gl.RED, gl.FLOAT, t.values);
			const states = this.texture();
			gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8UI, t.width, t.height, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, t.states);
			this.textures.set(t, (pair = [values, states]));
		}
		gl.activeTexture(gl.TEXTURE0);
		gl.bindTexture(gl.TEXTURE_2D, pair[0]);
		gl.activeTexture(gl.TEXTURE1);
		gl.bindTexture(gl.TEXTURE_2D, pair[1]);
	}

	draw(spots: Spot[], look: Look): void {
		this.last = [spots, look];
		if (this.lost) return;
		const gl = this.gl;
		const { width, height } = this.canvas;
		gl.viewport(0, 0, width, height);
		gl.clearColor(0, 0, 0, 0);
		gl.clear(gl.COLOR_BUFFER_BIT);
		gl.activeTexture(gl.TEXTURE2);
		gl.bindTexture(gl.TEXTURE_2D, this.colours);
		gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, look.table);
		gl.uniform2f(this.places.range, look.lo, look.hi);
		gl.uniform1i(this.places.isLog, Number(look.log));
		gl.uniform1i(this.places.categories, Number(look.categories));
		gl.uniform1i(this.places.marked, look.marked.reduce((bits, is, i) => bits | (Number(is) << i), 0));
		const pairs = inks(look.dark);
		gl.uniform3fv(this.places.ink, pairs.flatMap((p) => p[0].map((c) => c / 255)));
		gl.uniform3fv(this.places.paper, pairs.flatMap((p) => p[1].map((c) => c / 255)));
		gl.uniform1f(this.places.ratio, look.ratio);
		gl.uniform1f(this.places.height, height);
		for (const s of spots) {
			this.bind(s.tile);
			gl.uniform2f(this.places.size, s.tile.width, s.tile.height);
			gl.uniform4f(this.places.place, (2 * s.left) / width - 1, 1 - (2 * s.top) / height, (2 * s.right) / width - 1, 1 - (2 * s.bottom) / height);
			gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
		}
		this.settled();
	}

	forget(t: Tile): void {
		for (const texture of this.textures.get(t) ?? []) this.gl.deleteTexture(texture);
		this.textures.delete(t);
	}

	end(): void {
		this.canvas.removeEventListener("webglcontextlost", this.onLost);
		this.canvas.removeEventListener("webglcontextrestored", this.onRestored);
		for (const t of [...this.textures.keys()]) this.forget(t);
	}
}

/**
 * Computed computes the colours of all pixels. A frame first shows blocks of 4 × 4 pixels,
 * which takes a sixteenth of the time; stripes of the whole picture follow in further
 * frames, for 8 ms in each.
 */
class Computed implements Picture {
	readonly kind = "canvas";
	settled = () => {};
	private context: CanvasRenderingContext2D;
	private frame = 0;

	constructor(private canvas: HTMLCanvasElement) {
		this.context = canvas.getContext("2d")!;
	}

	draw(spots: Spot[], look: Look): void {
		cancelAnimationFrame(this.frame);
		const { width, height } = this.canvas;
		if (!width || !height) return;
		const image = this.context.createImageData(width, height);
		const pixels = new Uint32Array(image.data.buffer);
		this.fill(pixels, width, 0, height, 4, spots, look);
		this.context.putImageData(image, 0, 0);
		let y = 0;
		const go = () => {
			const start = performance.now();
			const first = y;
			for (; y < height && performance.now() - start < 8; y += 16) this.fill(pixels, width, y, Math.min(height, y + 16), 1, spots, look);
			this.context.putImageData(image, 0, 0, 0, first, width, y - first);
			if (y < height) this.frame = requestAnimationFrame(go);
			else this.settled();
		};
		this.frame = requestAnimationFrame(go);
	}

	private fill(pixels: Uint32Array, width: number, from: number, to: number, by: number, spots: Spot[], look: Look): void {
		const word = (c: ArrayLike<number>, i = 0) => (255 << 24) | (c[i + 2] << 16) | (c[i + 1] << 8) | c[i];
		const colours = Int32Array.from({ length: 256 }, (_, i) => word(look.table, 4 * i));
		const pairs = inks(look.dark).map((p) => [word(p[0]), word(p[1])]);
		if (by === 1) pixels.fill(0, from * width, to * width);
		for (const { tile: t, left, right, top, bottom } of spots) {
			const x0 = Math.max(0, Math.ceil(left - 0.5)), x1 = Math.min(width, Math.ceil(right - 0.5));
			const upper = Math.min(top, bottom), lower = Math.max(top, bottom);
			const y0 = Math.max(from, Math.ceil(upper - 0.5)), y1 = Math.min(to, Math.ceil(lower - 0.5));
			for (let y = y0; y < y1; y += by) {
				const row = Math.min(t.height - 1, Math.max(0, Math.floor(((y + 0.5 - top) / (bottom - top)) * t.height))) * t.width;
				for (let x = x0; x < x1; x += by) {
					const i = row + Math.min(t.width - 1, Math.max(0, Math.floor(((x + 0.5 - left) / (right - left)) * t.width)));
					const state = t.states[i] & 7;
					let c: number;
					if (t.states[i] >= noNumber || look.marked[state]) c = pairs[state][isInk(state, Math.floor(x / look.ratio), Math.floor(y / look.ratio)) ? 0 : 1];
					else c = colours[look.categories ? category(t.values[i]) : place(t.values[i], look.lo, look.hi, look.log)];
					if (by === 1) pixels[y * width + x] = c;
					else for (let j = y; j < Math.min(y1, y + by); j++) pixels.fill(c, j * width + x, j * width + Math.min(x1, x + by));
				}
			}
		}
	}

	forget(): void {}

	end(): void {
		cancelAnimationFrame(this.frame);
	}
}
