// SPDX-License-Identifier: Apache-2.0

// The panel at the right: what is known of the node, what should be done about it, and
// how it is opened elsewhere. Attributes are text, whatever they hold.

import { useEffect, useState } from "preact/hooks";
import { api, isAbort, type ArrayFacts, type Cost, type NodeFacts } from "./api";
import { Icon } from "./icons";
import { quote, view } from "./link";
import { resolve, said, selected, visible } from "./state";
import { bytes, count } from "./words";

export async function copy(text: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		// Without a secure context there is only the old way.
		const area = document.createElement("textarea");
		area.value = text;
		area.className = "offscreen";
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	said.value = "Copied";
}

/** Command is a line to copy. */
export function Command({ text }: { text: string }) {
	const [isDone, setDone] = useState(false);
	return (
		<div class="command">
			<pre tabIndex={0}>{text}</pre>
			<button title="Copy" aria-label="Copy" onClick={() => void copy(text).then(() => (setDone(true), setTimeout(() => setDone(false), 1500)))}>
				<Icon name={isDone ? "done" : "copy"} />
			</button>
		</div>
	);
}

const languages: Record<string, string> = { shell: "Shell", python: "Python", r: "R", go: "Go", javascript: "JavaScript" };

export function Facts({ n, a }: { n: NodeFacts; a: ArrayFacts | null }) {
	const open = n.open ?? [];
	const [language, setLanguage] = useState("");
	const shown = open.find((o) => o.language === language) ?? open[0];
	return (
		<div class="facts-body">
			{(n.findings?.length ?? 0) > 0 && (
				<section aria-label="Findings">
					<h2>Findings</h2>
					{n.findings!.map((f, i) => (
						<div class="finding" key={i}>
							<p>{f.text}</p>
							{f.command && <Command text={f.command} />}
						</div>
					))}
				</section>
			)}
			<section aria-label="Facts">
				<h2>Facts</h2>
				<dl>
					{(n.facts ?? []).map(([label, value], i) => (
						<div key={i}><dt>{label}</dt><dd>{value}</dd></div>
					))}
				</dl>
				{!n.facts?.length && <p class="hint">Nothing more is known.</p>}
			</section>
			{a && <CostOf a={a} />}
			{shown && (
				<section aria-label="Open it elsewhere">
					<h2>Open it elsewhere</h2>
					<div class="tabs small" role="tablist" aria-label="Language">
						{open.map((o) => (
							<button key={o.language} role="tab" aria-selected={o === shown} onClick={() => setLanguage(o.language)}>{languages[o.language] ?? o.language}</button>
						))}
					</div>
					<Command text={shown.code} />
				</section>
			)}
			<Attributes of={n.attributes} />
		</div>
	);
}

function Attributes({ of }: { of: NodeFacts["attributes"] }) {
	const list = Object.entries(of ?? {});
	if (!list.length) return null;
	return (
		<section aria-label="Attributes">
			<h2>Attributes</h2>
			<dl class="attributes">
				{list.map(([name, value]) => (
					<div key={name}><dt>{name}</dt><dd>{typeof value === "string" ? value : JSON.stringify(value, null, typeof value === "object" && JSON.stringify(value).length > 60 ? 1 : undefined)}</dd></div>
				))}
			</dl>
		</section>
	);
}

/** CostOf tells what reading the elements that are shown takes. */
function CostOf({ a }: { a: ArrayFacts }) {
	const v = view.value;
	const s = resolve(a, v);
	const select = selected(a, s, v, visible.value);
	const [cost, setCost] = useState<Cost | null>(null);
	const [problem, setProblem] = useState("");
	useEffect(() => {
		const abort = new AbortController();
		const timer = setTimeout(() => {
			api.cost(v.node, select, abort.signal).then(
				(c) => (setCost(c), setProblem("")),
				(error) => !isAbort(error) && setProblem(error.message),
			);
		}, 300);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [v.node, select, a.version]);
	return (
		<section aria-label="What is shown">
			<h2>What is shown</h2>
			{problem ? <p class="hint">{problem}</p> : !cost ? <p class="hint">…</p> : (
				<dl>
					<div><dt>elements</dt><dd>{count(cost.elements)}</dd></div>
					<div><dt>decoded</dt><dd>{bytes(cost.decoded_bytes)}</dd></div>
					<div><dt>to read</dt><dd>{bytes(cost.bytes)} in {count(cost.requests)} {cost.requests === 1 ? "request" : "requests"}</dd></div>
				</dl>
			)}
			<Command text={`varve cat ${quote(v.node)}${a.shape.length ? " --select " + quote(select) : ""}`} />
		</section>
	);
}
