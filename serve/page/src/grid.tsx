// SPDX-License-Identifier: Apache-2.0

// The grid of an array: how each axis is cut, where nothing is stored, and what a rechunk
// would change.

import { useEffect, useState } from "preact/hooks";
import { api, isAbort, Problem, type ArrayFacts, type Gap, type Plan, type Runs } from "./api";
import { borders, describe, total } from "./along";
import { change, view } from "./link";
import { Command } from "./facts";
import { bytes, coordinate, count, plural } from "./words";

/** Bands draws the chunks along an axis as bands of their lengths. */
function Bands({ runs, inner, label }: { runs: Runs; inner?: Runs | null; label: string }) {
	const n = total(runs);
	if (!n) return <p class="hint">no elements</p>;
	const outer = borders(runs, 0, n, 400);
	const within = inner ? borders(inner, 0, n, 400) : null;
	const x = (at: number) => (1000 * Math.min(at, n)) / n;
	return (
		<svg class="bands" viewBox="0 0 1000 34" preserveAspectRatio="none" role="img" aria-label={label}>
			{outer ? outer.slice(1).map((end, i) => <rect key={i} class={"band" + (i % 2)} x={x(outer[i])} y="1" width={Math.max(0.5, x(end) - x(outer[i]))} height="32" />) : <rect class="band-many" x="0" y="1" width="1000" height="32" />}
			{within?.slice(1, -1).map((at, i) => <line key={i} class="cut" x1={x(at)} x2={x(at)} y1="20" y2="33" />)}
		</svg>
	);
}

const chunkCount = (runs: Runs) => runs.reduce((n, [, times]) => n + times, 0);

function regularity(runs: Runs): string {
	if (runs.length <= 1) return "regular";
	// The last chunk of a regular grid may reach beyond the array. It counts as shorter.
	if (runs.length === 2 && runs[1][1] === 1 && runs[1][0] < runs[0][0]) return "regular";
	return "rectilinear: chunks of unequal lengths";
}

export function Grid({ a, node }: { a: ArrayFacts; node: string }) {
	return (
		<div class="grid-view">
			<section>
				<h2>How it is cut</h2>
				<p class="hint">Each band is {a.axes.some((x) => x.inner) ? "a shard; short lines are the inner chunks in it" : "a chunk"}, as long as it is along its axis. A chunk of the array is one band of each axis.</p>
				{a.axes.map((x, i) => (
					<div class="axis-row" key={i}>
						<div class="axis-head"><b>{x.name || "axis " + i}</b> <span>{count(x.length)}</span></div>
						{x.edges ? <Bands runs={x.edges} inner={x.inner} label={`Chunks along ${x.name || i}: ${describe(x.edges)}`} /> : <p class="hint">too many lengths to draw</p>}
						{x.edges && <p class="lengths">{plural(chunkCount(x.edges), x.inner ? "shard" : "chunk")} of {describe(x.edges)} <span class="soft">{regularity(x.edges)}</span>{x.inner && <> · {plural(chunkCount(x.inner), "inner chunk")} of {describe(x.inner)}</>}</p>}
					</div>
				))}
				{!a.axes.length && <p>A single value, in one chunk.</p>}
			</section>
			<Gaps a={a} node={node} />
			<Rechunk a={a} node={node} />
		</div>
	);
}

function Gaps({ a, node }: { a: ArrayFacts; node: string }) {
	const proposed = a.axes.findIndex((x) => x.role === "time");
	const [axis, setAxis] = useState(Math.max(0, proposed));
	const [gaps, setGaps] = useState<Gap[] | null>(null);
	const [problem, setProblem] = useState("");
	useEffect(() => {
		if (!a.axes.length) return;
		const abort = new AbortController();
		setGaps(null);
		api.missing(node, axis, abort.signal).then(
			(g) => (setGaps(Array.isArray(g) ? g : (g.missing ?? [])), setProblem("")),
			(error) => !isAbort(error) && setProblem(error.message),
		);
		return () => abort.abort();
	}, [node, axis, a.version]);
	if (!a.axes.length) return null;
	const s = a.stored;
	return (
		<section>
			<h2>What is not stored</h2>
			{s && <p>{count(s.chunks)} of {plural(s.cells, "chunk")} {s.chunks === 1 ? "is" : "are"} stored, in {bytes(s.bytes)}{s.complete ? "." : ", as far as was listed."}</p>}
			<label class="field">Along <select value={axis} onChange={(e) => setAxis(Number(e.currentTarget.value))}>{a.axes.map((x, i) => <option key={i} value={i}>{x.name || "axis " + i}</option>)}</select></label>
			{problem ? <p class="bad">{problem}</p> : !gaps ? <p class="hint">loading …</p> : !gaps.length ? <p>No part of this axis is without any stored chunk.</p> : (
				<ul class="gaps">
					{gaps.map((g) => (
						<li key={g.from}>
							<b>{g.first !== null && g.first !== undefined ? `${coordinate(g.first)} to ${coordinate(g.last)}` : `${count(g.from)} to ${count(g.to - 1)}`}</b>{" "}
							<span class="soft">{plural(g.to - g.from, "element")}, [{count(g.from)}:{count(g.to)}]</span>
						</li>
					))}
				</ul>
			)}
		</section>
	);
}

function Rechunk({ a, node }: { a: ArrayFacts; node: string }) {
	const to = view.value.plan;
	const [plan, setPlan] = useState<Plan | null>(null);
	const [problem, setProblem] = useState("");
	const [lengths, setLengths] = useState("");
	useEffect(() => {
		setPlan(null);
		setProblem("");
		if (!to) return;
		const abort = new AbortController();
		api.plan(node, to, abort.signal).then(setPlan, (error) => !isAbort(error) && setProblem(error instanceof Problem ? error.message : String(error)));
		return () => abort.abort();
	}, [node, to, a.version]);
	if (!a.axes.length) return null;
	return (
		<section>
			<h2>Try another grid</h2>
			<p class="hint">Nothing is changed here: the command does it.</p>
			<div class="choices">
				<button aria-pressed={to === "compact"} onClick={() => change({ plan: to === "compact" ? "" : "compact" })}>Merge small chunks</button>
				<button aria-pressed={to === "regularize"} onClick={() => change({ plan: to === "regularize" ? "" : "regularize" })}>Make it regular</button>
				<form onSubmit={(e) => {
					e.preventDefault();
					const list = lengths.split(/[^\d]+/).filter(Boolean).map(Number);
					if (list.length === a.axes.length) change({ plan: JSON.stringify(list) });
					else setProblem(`Give ${a.axes.length} lengths, such as ${a.axes.map((x) => Math.max(1, Math.min(100, x.length))).join(", ")}`);
				}}>
					<label>Chunks of <input value={lengths} placeholder={a.axes.map((x) => x.edges?.[0]?.[0] ?? 1).join(", ")} onInput={(e) => setLengths(e.currentTarget.value)} /></label>
					<button>Preview</button>
				</form>
			</div>
			{problem && <p class="bad" role="alert">{problem}</p>}
			{to && !plan && !problem && <p class="hint">planning …</p>}
			{plan && (
				<>
					<div class="beside">
						{([["Before", plan.before], ["After", plan.after]] as const).map(([title, runs]) => (
							<div key={title}>
								<h3>{title}</h3>
								{runs.map((r, i) => (
									<div class="axis-row" key={i}>
										<div class="axis-head"><b>{a.axes[i]?.name || "axis " + i}</b> <span>{plural(chunkCount(r), "chunk")}</span></div>
										<Bands runs={r} label={`${title}: ${describe(r)}`} />
										<p class="lengths">{describe(r)}</p>
									</div>
								))}
							</div>
						))}
					</div>
					<p>{plural(plan.kept, "chunk")} stay as they are, {count(plan.rewritten)} are written. It reads {bytes(plan.bytes_read)} and writes {bytes(plan.bytes_written)} in {plural(plan.requests, "request")}.</p>
					{plan.command && <Command text={plan.command} />}
				</>
			)}
		</section>
	);
}
