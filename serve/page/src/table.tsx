// SPDX-License-Identifier: Apache-2.0

// Rows of a table, of texts, of structs or of a ragged set, page by page.

import { useEffect, useState } from "preact/hooks";
import { api, isAbort, type Rows } from "./api";
import { change, view } from "./link";
import { count } from "./words";

const page = 100;

/** isRight reports whether values of a data type stand at the right of their column. */
const isRight = (type: string) => /^(u?int|float|complex|bool)/.test(type);

export function Table({ node, version }: { node: string; version?: string }) {
	const [rows, setRows] = useState<Rows | null>(null);
	const [problem, setProblem] = useState("");
	const from = view.value.from;
	useEffect(() => {
		const abort = new AbortController();
		api.rows(node, from, page, abort.signal).then(
			(r) => {
				setRows(r);
				setProblem("");
			},
			(error) => !isAbort(error) && setProblem(error.message),
		);
		return () => abort.abort();
	}, [node, from, version]);
	const total = rows?.total ?? 0;
	const go = (to: number) => change({ from: Math.max(0, Math.min(Math.max(0, total - 1), Math.trunc(to))) });
	const press = (e: KeyboardEvent) => {
		if (e.key === "PageDown" && from + page < total) go(from + page);
		else if (e.key === "PageUp" && from > 0) go(from - page);
		else return;
		e.preventDefault();
	};
	if (problem) return <div class="notice whole" role="alert"><p>{problem}</p></div>;
	return (
		<div class="table" onKeyDown={press}>
			<div class="sheet" tabIndex={0} role="region" aria-label={`Rows of ${node}`}>
				<table>
					<thead>
						<tr>
							<th scope="col" class="nth">row</th>
							{rows?.columns.map((c) => <th key={c.name} scope="col" class={isRight(c.data_type) ? "right" : ""}>{c.name}<small>{c.data_type}</small></th>)}
						</tr>
					</thead>
					<tbody>
						{rows?.rows.map((r, i) => (
							<tr key={rows.from + i}>
								<th scope="row" class="nth">{count(rows.from + i)}</th>
								{r.map((cell, k) => <td key={k} class={isRight(rows.columns[k]?.data_type ?? "") ? "right" : ""} title={cell.length > 40 ? cell : undefined}>{cell}</td>)}
							</tr>
						))}
					</tbody>
				</table>
				{rows && !rows.rows.length && <p class="hint">No rows.</p>}
			</div>
			<div class="strip">
				<span class="grow">{rows ? `Rows ${count(rows.from)} to ${count(rows.from + rows.rows.length - 1)} of ${count(total)}` : "loading …"}</span>
				<label>Row <input type="number" min={0} max={Math.max(0, total - 1)} value={from} onChange={(e) => go(Number(e.currentTarget.value))} /></label>
				<button disabled={from === 0} onClick={() => go(from - page)}>Previous</button>
				<button disabled={from + page >= total} onClick={() => go(from + page)}>Next</button>
			</div>
		</div>
	);
}
