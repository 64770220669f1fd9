// SPDX-License-Identifier: Apache-2.0

// Downloads: the picture with its axes as PNG or SVG. Selected elements come from the
// server, by links.

import type { Stage } from "./stage";

const space = "http://www.w3.org/2000/svg";

/** drawing returns the stage as a document of SVG that stands alone. */
function drawing(stage: Stage, title: string): SVGSVGElement {
	const s = stage.sheet();
	const svg = document.createElementNS(space, "svg");
	const [w, h] = [s.left + s.width + 20, s.top + s.height + 44];
	const set = (e: Element, values: Record<string, string | number>) => Object.entries(values).forEach(([k, v]) => e.setAttribute(k, String(v)));
	set(svg, { xmlns: space, viewBox: `0 0 ${w} ${h}`, width: w, height: h, "font-family": "sans-serif", "font-size": 11 });
	const name = document.createElementNS(space, "title");
	name.textContent = title;
	const paper = document.createElementNS(space, "rect");
	set(paper, { width: w, height: h, fill: getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() || "#fff" });
	svg.append(name, paper);
	for (const canvas of [s.picture, s.over]) {
		const image = document.createElementNS(space, "image");
		set(image, { x: s.left, y: s.top, width: s.width, height: s.height, href: canvas.toDataURL("image/png") });
		svg.append(image);
	}
	const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim() || "#000";
	const axes = document.createElementNS(space, "g");
	set(axes, { fill: "none", stroke: ink });
	for (const child of s.axes.children) axes.append(child.cloneNode(true));
	for (const text of axes.querySelectorAll("text")) set(text, { fill: ink, stroke: "none" });
	for (const text of axes.querySelectorAll("text.bottom")) set(text, { "text-anchor": "middle" });
	for (const text of axes.querySelectorAll("text.left")) set(text, { "text-anchor": "end" });
	svg.append(axes);
	return svg;
}

/** fileName makes a name that every system takes. */
function fileName(title: string, extension: string): string {
	return (title.replace(/[^\w.-]+/g, "_").replace(/^[._]+/, "").slice(0, 80) || "picture") + "." + extension;
}

function save(blob: Blob, name: string): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function saveSVG(stage: Stage, title: string): void {
	const text = new XMLSerializer().serializeToString(drawing(stage, title));
	save(new Blob([text], { type: "image/svg+xml" }), fileName(title, "svg"));
}

export async function savePNG(stage: Stage, title: string): Promise<void> {
	const svg = drawing(stage, title);
	const image = new Image();
	image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(svg));
	await image.decode();
	const canvas = document.createElement("canvas");
	canvas.width = 2 * image.width;
	canvas.height = 2 * image.height;
	canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
	const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
	if (blob) save(blob, fileName(title, "png"));
}
