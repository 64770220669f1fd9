// SPDX-License-Identifier: Apache-2.0

// Numbers, times and names as people read them.

/** count writes a whole number with its thousands. */
export function count(n: number): string {
	return Number.isFinite(n) ? n.toLocaleString("en-US", { maximumFractionDigits: 0 }) : "–";
}

/** bytes writes a size in binary units. */
export function bytes(n: number): string {
	if (!Number.isFinite(n)) return "–";
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;
	for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
	return (i === 0 || n >= 100 ? n.toFixed(0) : n.toPrecision(3)) + " " + units[i];
}

/** number writes a value with as many digits as a reader can use. */
export function number(v: number, digits = 6): string {
	if (!Number.isFinite(v)) return Number.isNaN(v) ? "NaN" : v > 0 ? "∞" : "−∞";
	if (Number.isInteger(v) && Math.abs(v) < 1e9) return String(v).replace("-", "−");
	const size = Math.abs(v);
	const text = size >= 1e6 || (size < 1e-4 && size > 0) ? v.toExponential(3) : String(Number(v.toPrecision(digits)));
	return text.replace("-", "−");
}

/** moment shortens a time of ISO 8601: midnight and zero seconds say nothing. */
export function moment(text: string): string {
	return text.replace(/Z$/, "").replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace(/^(.*T\d\d:\d\d):00$/, "$1").replace(/T00:00$/, "").replace("T", " ");
}

/** coordinate writes the value of a coordinate. */
export function coordinate(v: number | string | null | undefined, units = ""): string {
	if (v === null || v === undefined) return "–";
	if (typeof v === "string") return moment(v);
	return number(v, 7) + (units ? " " + unit(units) : "");
}

/** unit writes CF units in their usual short form. */
export function unit(text: string): string {
	const short: Record<string, string> = { degrees_north: "°N", degrees_east: "°E", degrees: "°", degC: "°C", celsius: "°C", kelvin: "K", percent: "%", "1": "" };
	return short[text] ?? text;
}

/** shape writes the lengths of axes. */
export function shape(lengths: number[]): string {
	return lengths.length ? lengths.map(count).join(" × ") : "a single value";
}

/** last returns the last part of a path. */
export function last(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

/** plural writes a number of things. */
export function plural(n: number, one: string, many = one + "s"): string {
	return count(n) + " " + (n === 1 ? one : many);
}
