// SPDX-License-Identifier: Apache-2.0

// The page of varve view: the hierarchy at the left, the node in the middle, the facts at
// the right.

import { render } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { valuesAddress, unreachable, type ArrayFacts, type GroupFacts } from "./api";
import { Controls, Slider } from "./controls";
import { savePNG, saveSVG } from "./download";
import { Command, copy, Facts } from "./facts";
import { Grid } from "./grid";
import { Icon, Mark } from "./icons";
import { Lines } from "./lines";
import { change, follow, open, quote, view, write } from "./link";
import { Pane, stages } from "./pane";
import { array, begin, connected, dark, group, kinds, news, nodes, problem, program, reload, lineAxis, resolve, said, second, selected, toggleTheme, visible, isPicture } from "./state";
import { Table } from "./table";
import { Tree } from "./tree";
import { api, type ValueFacts } from "./api";
import { count, last, plural, shape } from "./words";
import "./app.css";

/** sheet is the panel that covers the picture on a narrow screen. */
const sheet = signal<"" | "tree" | "facts">("");
const factsHidden = signal(false);
const help = signal(false);

function Page() {
	const wide = () => matchMedia("(min-width: 1100px)").matches;
	useEffect(() => {
		const press = (e: KeyboardEvent) => {
			const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.target instanceof HTMLTextAreaElement;
			if (e.key === "Escape") help.value = false, (sheet.value = "");
			if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
			if (e.key === "/") (e.preventDefault(), (sheet.value = wide() ? "" : "tree"), document.getElementById("search")?.focus());
			else if (e.key === "?") help.value = !help.peek();
			else if (e.key === "[" || e.key === "]") step(e.key === "]" ? 1 : -1);
			else if (e.key === "b") change({ borders: !view.peek().borders });
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	return (
		<div class={"frame" + (sheet.value ? " sheet-" + sheet.value : "") + (factsHidden.value ? " no-facts" : "")}>
			<a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>Skip to the picture</a>
			<header>
				<button class="icon-button narrow" aria-label="Hierarchy" aria-expanded={sheet.value === "tree"} onClick={() => (sheet.value = sheet.value === "tree" ? "" : "tree")}><Icon name="menu" /></button>
				<span class="brand" title={program.value}><Mark /><span>Varve</span></span>
				<Path />
				<span class="grow" />
				<CopyLink />
				<button class="icon-button" title={dark.value ? "Light" : "Dark"} aria-label={dark.value ? "Light colours" : "Dark colours"} onClick={toggleTheme}><Icon name={dark.value ? "sun" : "moon"} /></button>
				<button class="icon-button wide-only" title="Keys (?)" aria-label="Keys" onClick={() => (help.value = true)}><Icon name="keys" /></button>
				<button class="icon-button" title="Facts" aria-label="Facts" aria-expanded={wide() ? !factsHidden.value : sheet.value === "facts"}
					onClick={() => (wide() ? (factsHidden.value = !factsHidden.value) : (sheet.value = sheet.value === "facts" ? "" : "facts"))}><Icon name="facts" /></button>
			</header>
			<aside class="left"><Tree /></aside>
			<main id="main" tabIndex={-1}><Node /></main>
			<aside class="right" aria-label="Facts">
				{array.value ? <Facts n={array.value} a={array.value.problem ? null : array.value} /> : group.value ? <Facts n={group.value} a={null} /> : null}
			</aside>
			{sheet.value && <button class="veil" aria-label="Close" onClick={() => (sheet.value = "")} />}
			{help.value && <Keys />}
			<div class="offscreen" aria-live="polite" role="status">{said.value}</div>
		</div>
	);
}

/** step moves along the first axis that has a slider. */
function step(by: number): void {
	const a = array.peek();
	if (!a) return;
	const s = resolve(a, view.peek());
	const axis = a.axes.findIndex((x, i) => i !== s.y && i !== s.x && x.length > 1);
	if (axis < 0) return;
	const at = [...s.at];
	at[axis] = Math.max(0, Math.min(a.shape[axis] - 1, at[axis] + by));
	change({ at });
}

function Path() {
	const parts = view.value.node.split("/");
	return (
		<nav class="path" aria-label="Path">
			{view.value.node && parts.map((p, i) => (
				<span key={i}>
					{i > 0 && <i aria-hidden="true">/</i>}
					{i < parts.length - 1 ? <a href={write({ ...view.value, node: parts.slice(0, i + 1).join("/") }).split("?")[0]} onClick={(e) => (e.preventDefault(), open(parts.slice(0, i + 1).join("/")))}>{p}</a> : <b aria-current="page">{p}</b>}
				</span>
			))}
		</nav>
	);
}

function CopyLink() {
	const [isDone, setDone] = useState(false);
	return (
		<button class="icon-button" title="Copy a link to this view" aria-label="Copy a link to this view"
			onClick={() => void copy(location.href.split("#")[0] + write(view.peek())).then(() => (setDone(true), setTimeout(() => setDone(false), 1500)))}>
			<Icon name={isDone ? "done" : "link"} />
		</button>
	);
}

function Node() {
	const p = problem.value;
	const a = array.value, g = group.value;
	return (
		<>
			{!connected.value && <div class="banner bad" role="alert"><Icon name="warning" /><span class="grow">The server does not answer. It may have been stopped; the page tries again by itself.</span><button onClick={reload}>Try again</button></div>}
			{news.value && (
				<div class="banner" role="status">
					<span class="pulse" aria-hidden="true" />
					<span class="grow"><b>{last(view.value.node)}</b> {news.value.text}</span>
					{news.value.newest && a && <button onClick={() => {
						const at = a.axes.map((_, i) => view.peek().at[i] ?? 0);
						at[news.value!.newest![0]] = news.value!.newest![1];
						change({ at });
					}}>Show the newest</button>}
					<button class="icon-button" aria-label="Close" onClick={() => (news.value = null)}><Icon name="close" /></button>
				</div>
			)}
			{p && !a && !g ? <Trouble /> : a ? <ArrayView a={a} /> : g ? <GroupView g={g} /> : nodes.value && !nodes.value.length ? <Empty text="Nothing is served." /> : <div class="waiting" role="progressbar" aria-label="Loading"><span /></div>}
		</>
	);
}

function Empty({ text, command }: { text: string; command?: string }) {
	return <div class="empty"><Mark /><p>{text}</p>{command && <Command text={command} />}</div>;
}

/** Trouble says why there is nothing to see, and what can be done. */
function Trouble() {
	const p = problem.value!;
	const advice = p.status === unreachable ? "Start varve view again, and the page goes on."
		: p.status === 401 || p.status === 403 ? "The server does not let you read this. Open the link with the token that it printed, or ask for access to the store."
		: p.status === 404 ? "It may have been removed or renamed. Choose another node at the left."
		: p.kind === "unsupported" || p.status === 406 ? "The rest of the node can be read all the same: choose another one at the left."
		: "";
	return (
		<div class="empty" role="alert">
			<Icon name="warning" />
			<h1>{p.title}</h1>
			{p.detail && p.detail !== p.title && <p>{p.detail}</p>}
			{p.key && <p><code>{p.key}</code></p>}
			{advice && <p class="hint">{advice}</p>}
			<button onClick={reload}>Try again</button>
		</div>
	);
}

function GroupView({ g }: { g: GroupFacts }) {
	const v = view.value;
	return (
		<div class="node">
			<div class="title"><h1>{g.title || last(v.node)}</h1><p class="soft">group{g.members >= 0 ? ` with ${plural(g.members, "member")}` : ""}</p></div>
			{g.problem && <div class="banner bad" role="alert"><Icon name="warning" /><span>{g.problem}</span></div>}
			{g.table ? <Table node={v.node} version={g.version} /> : g.members === 0 ? <Empty text="This group is empty." command={`varve create ${quote(v.node)}/NAME --shape 100,100 --chunks 10,10 --dtype float32`} /> : <Members node={v.node} />}
		</div>
	);
}

/** sizes writes the lengths of axes with their names, where they have some. */
function sizes(names: string[], lengths: number[]): string {
	return names.some(Boolean) ? lengths.map((n, i) => `${names[i] || i} ${count(n)}`).join(" × ") : shape(lengths);
}

function Members({ node }: { node: string }) {
	const [list, setList] = useState<import("./api").Member[] | null>(null);
	useEffect(() => {
		const abort = new AbortController();
		api.members(node, "", abort.signal).then((a) => {
			for (const m of a.members) if (!m.problem) kinds.set(`${node}/${m.name}`, m.kind);
			setList(a.members);
		}, () => {});
		return () => abort.abort();
	}, [node]);
	return (
		<ul class="members">
			{list?.map((m) => (
				<li key={m.name}>
					<button onClick={() => open(`${node}/${m.name}`)}>
						<Icon name={m.problem ? "warning" : m.kind === "group" ? "group" : (m.shape?.length ?? 0) > 1 ? "plane" : "line"} />
						<b>{m.name}</b>
						<span class="soft">{m.title && m.title !== m.name ? m.title : ""}</span>
						<span class="shape">{m.problem || (m.kind === "array" ? `${sizes(m.dimensions ?? [], m.shape ?? [])} · ${m.data_type ?? ""}` : "group")}</span>
					</button>
				</li>
			))}
		</ul>
	);
}

const tabNames = { picture: "Picture", line: "Line", table: "Table", chunks: "Chunks" } as const;

function ArrayView({ a }: { a: ArrayFacts }) {
	const v = view.value;
	const s = resolve(a, v);
	const rank = a.shape.length;
	const isNumber = !["text", "bytes", "struct"].includes(a.kind);
	const tabs = ([isPicture(a) && "picture", rank > 0 && isNumber && "line", rank === 1 && "table", "chunks"] as const).filter((t): t is keyof typeof tabNames => !!t);
	const other = v.second && second.value && second.value.shape.length === rank ? second.value : null;
	return (
		<div class="node">
			<div class="title">
				<div class="grow">
				<h1>{a.long_name || last(v.node)}</h1>
				<p class="soft">{sizes(a.dimensions ?? [], a.shape)} · {a.data_type}{a.units ? " · " + a.units : ""}</p>
				</div>
				<div class="tabs" role="tablist" aria-label="View">
					{tabs.map((t) => <button key={t} role="tab" aria-selected={s.show === t} onClick={() => change({ show: t, from: 0, to: 0 }, true)}>{tabNames[t]}</button>)}
				</div>
				<Save a={a} />
			</div>
			{a.problem ? (
				<div class="empty" role="alert"><Icon name="warning" /><h1>The elements cannot be decoded</h1><p>{a.problem}</p><p class="hint">What its document says is at the right.</p></div>
			) : rank === 0 ? <Value a={a} /> : s.show === "picture" ? (
				<>
					<Controls a={a} />
					<div class={"panes" + (other && v.beside === "side" ? " two" : "")}>
						<Pane key={v.node} a={a} node={v.node} role="first" minus={other && v.beside === "difference" ? v.second : undefined} />
						{other && v.beside === "side" && <Pane key={v.second} a={other} node={v.second} role="second" />}
					</div>
					{v.pin && <Profile a={a} />}
				</>
			) : s.show === "line" ? <Line a={a} /> : s.show === "table" ? <Table node={v.node} version={a.version} /> : <Grid a={a} node={v.node} />}
		</div>
	);
}

/** Line shows an array along one axis, with a slider for each of the others. */
function Line({ a }: { a: ArrayFacts }) {
	const v = view.value;
	const s = resolve(a, v);
	const axis = lineAxis(a, v);
	return (
		<>
			{a.shape.length > 1 && (
				<div class="controls">
					<label class="field"><span>Along</span><select value={axis} onChange={(e) => change({ along: Number(e.currentTarget.value), from: 0, to: 0 })}>{a.axes.map((x, i) => <option key={i} value={i}>{x.name || "axis " + i}</option>)}</select></label>
					{a.axes.map((x, i) => i !== axis && x.length > 1 && <Slider key={v.node + i} a={a} axis={i} at={s.at} />)}
				</div>
			)}
			<Lines key={v.node + axis} a={a} node={v.node} axis={axis} at={s.at} from={v.from} to={v.to} onRange={(from, to) => change({ from, to })} />
		</>
	);
}

/** Profile is the line through the pinned element. */
function Profile({ a }: { a: ArrayFacts }) {
	const v = view.value;
	const s = resolve(a, v);
	const free = a.axes.findIndex((x, i) => i !== s.y && i !== s.x && x.length > 1 && x.role === "time");
	const any = a.axes.findIndex((x, i) => i !== s.y && i !== s.x && x.length > 1);
	const axis = v.along >= 0 && v.along < a.shape.length ? v.along : free >= 0 ? free : any >= 0 ? any : s.x;
	const at = [...s.at];
	at[s.y] = Math.min(v.pin![0], a.shape[s.y] - 1);
	at[s.x] = Math.min(v.pin![1], a.shape[s.x] - 1);
	return (
		<section class="profile" aria-label="Profile">
			<div class="strip">
				<h2>Profile</h2>
				<label class="field"><span>along</span><select value={axis} onChange={(e) => change({ along: Number(e.currentTarget.value), from: 0, to: 0 })}>{a.axes.map((x, i) => <option key={i} value={i}>{x.name || "axis " + i}</option>)}</select></label>
				<span class="grow" />
				<button class="icon-button" aria-label="Close the profile" title="Close (Escape)" onClick={() => change({ pin: null })}><Icon name="close" /></button>
			</div>
			<Lines key={v.node + axis} a={a} node={v.node} axis={axis} at={at} from={v.from} to={v.to} onRange={(from, to) => change({ from, to })} />
		</section>
	);
}

function Value({ a }: { a: ArrayFacts }) {
	const [value, setValue] = useState<ValueFacts | null>(null);
	const [trouble, setTrouble] = useState("");
	const node = view.value.node;
	useEffect(() => {
		const abort = new AbortController();
		api.value(node, [], abort.signal).then(setValue, (e) => !abort.signal.aborted && setTrouble(e.message));
		return () => abort.abort();
	}, [node, a.version]);
	return <div class="empty single">{trouble ? <p class="bad">{trouble}</p> : <p class="large">{value?.text ?? "…"} <small>{a.units}</small></p>}</div>;
}

/** Save offers the picture and the selected elements as files. */
function Save({ a }: { a: ArrayFacts }) {
	const [isOpen, setOpen] = useState(false);
	const box = useRef<HTMLDivElement>(null);
	const v = view.value;
	const s = resolve(a, v);
	useEffect(() => {
		if (!isOpen) return;
		const close = (e: Event) => {
			if (e instanceof KeyboardEvent ? e.key === "Escape" : !box.current?.contains(e.target as globalThis.Node)) setOpen(false);
		};
		addEventListener("pointerdown", close);
		addEventListener("keydown", close);
		return () => (removeEventListener("pointerdown", close), removeEventListener("keydown", close));
	}, [isOpen]);
	const isPlane = s.show === "picture";
	const select = selected(a, s, v, visible.value);
	const title = v.node + (a.shape.length ? " " + select : "");
	const stage = stages.value[0];
	return (
		<div class="save" ref={box}>
			<button aria-haspopup="true" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}><Icon name="down" />Save</button>
			{isOpen && (
				<div class="menu" role="menu">
					{isPlane && stage && <button role="menuitem" onClick={() => void savePNG(stage, title)}>Picture as PNG</button>}
					{isPlane && stage && <button role="menuitem" onClick={() => saveSVG(stage, title)}>Picture as SVG</button>}
					{(["csv", "npy", "json"] as const).map((f) => <a key={f} role="menuitem" href={valuesAddress(v.node, select, f) + (f === "csv" ? "&header=1" : "")} download={last(v.node) + "." + f}>{isPlane ? "What is shown" : "Elements"} as {f === "npy" ? ".npy (NumPy)" : f.toUpperCase()}</a>)}
					<p class="hint">The command that does the same:</p>
					<Command text={`varve export ${quote(v.node)}${a.shape.length ? " --select " + quote(select) : ""} -o ${quote(last(v.node) + ".npy")}`} />
				</div>
			)}
		</div>
	);
}

function Keys() {
	const box = useRef<HTMLDialogElement>(null);
	useEffect(() => box.current?.showModal(), []);
	const list: [string, string][] = [["/", "search the hierarchy"], ["[  ]", "one step along the slider"], ["arrows", "pan; with shift: move the cursor"], ["+  −", "zoom"], ["0", "show all"], ["Enter", "profile at the cursor"], ["b", "chunk borders"], ["Escape", "close"], ["?", "this list"]];
	return (
		<dialog ref={box} class="keys" aria-label="Keys" onClose={() => (help.value = false)} onClick={(e) => e.target === box.current && (help.value = false)}>
			<h2>Keys</h2>
			<dl>{list.map(([k, what]) => <div key={k}><dt><kbd>{k}</kbd></dt><dd>{what}</dd></div>)}</dl>
			<button onClick={() => (help.value = false)}>Close</button>
		</dialog>
	);
}

follow();
void begin();
render(<Page />, document.getElementById("page")!);
