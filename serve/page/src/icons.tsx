// SPDX-License-Identifier: Apache-2.0

// Icons of 16 × 16, drawn with lines of the colour of the text.

const paths: Record<string, string> = {
	chevron: "M6 4l4 4-4 4",
	group: "M2 4.5h4l1.5 1.5H14v7H2z",
	plane: "M2.5 2.5h11v11h-11zM2.5 6h11M7 2.5v11M10 2.5v11",
	line: "M2 11l3-5 3 3.5L11 4l3 4",
	scalar: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
	warning: "M8 2.5l6 11H2zM8 7v3M8 11.6v.2",
	search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5",
	copy: "M5.5 5.5h8v8h-8zM3 10.5V2.5h8",
	done: "M3 8.5l3.5 3.5L13 4.5",
	link: "M6.5 9.5l3-3M7 4.5l1.2-1.2a3 3 0 0 1 4.3 4.3L11.3 8.8M9 11.5l-1.2 1.2a3 3 0 0 1-4.3-4.3L4.7 7.2",
	sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1",
	moon: "M13 9.6A5.5 5.5 0 0 1 6.4 3 5.5 5.5 0 1 0 13 9.6z",
	menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
	facts: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.2v4M8 4.8v.3",
	plus: "M8 3.5v9M3.5 8h9",
	minus: "M3.5 8h9",
	fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
	close: "M4 4l8 8M12 4l-8 8",
	swap: "M4.5 2.5v11M4.5 13.5L2 11M4.5 13.5L7 11M11.5 13.5v-11M11.5 2.5L9 5M11.5 2.5L14 5",
	down: "M8 2.5v8M8 10.5L4.5 7M8 10.5L11.5 7M3 13.5h10",
	keys: "M1.5 4h13v8h-13zM4 6.5h.5M7 6.5h.5M10 6.5h.5M4.5 9.5h7",
	play: "M5 3.5l7 4.5-7 4.5z",
	pause: "M5.5 3.5v9M10.5 3.5v9",
};

export function Icon({ name }: { name: string }) {
	return (
		<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
			<path d={paths[name] ?? ""} />
		</svg>
	);
}

/** The mark of Varve: layers of unequal thickness. */
export function Mark() {
	return (
		<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" focusable="false">
			{[[2, 5], [8.5, 2.5], [12.5, 4.5], [18.5, 3.5]].map(([y, h], i) => (
				<rect key={i} class={"layer" + (i % 2)} x="2" y={y} width="20" height={h} rx="1" />
			))}
		</svg>
	);
}
