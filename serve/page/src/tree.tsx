// SPDX-License-Identifier: Apache-2.0

// The hierarchy: groups open when they are asked for, and only the rows on the screen are
// elements of the page, so that 100,000 nodes cost no more than 30.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api, isAbort, type Member } from "./api";
import { open, view } from "./link";
import { kinds, nodes } from "./state";
import { count, last, shape } from "./words";
import { Icon } from "./icons";

const rowHeight = 30;

interface Branch {
	members: Member[];
	next: string;
	state: "loading" | "ready" | "failed";
	problem?: string;
}

interface Row {
	node: string;
	depth: number;
	member: Member;
	/** A row that loads the rest of a group, or says why there is none. */
	note?: string;
	more?: string;
}

const branches = signal<ReadonlyMap<string, Branch>>(new Map());
const opened = signal<ReadonlySet<string>>(new Set());
const wanted = signal("");
const found = signal<{ members: Member[]; complete: boolean } | null>(null);
const active = signal("");

function set(node: string, branch: Branch): void {
	branches.value = new Map(branches.peek()).set(node, branch);
}

async function load(node: string, after = ""): Promise<void> {
	const before = branches.peek().get(node);
	if (before?.state === "loading" || (before?.state === "ready" && !after)) return;
	set(node, { members: before?.members ?? [], next: "", state: "loading" });
	try {
		const a = await api.members(node, after);
		for (const m of a.members) if (!m.problem) kinds.set(`${node}/${m.name}`, m.kind);
		set(node, { members: [...(before?.members ?? []), ...a.members], next: a.next, state: "ready" });
	} catch (error) {
		set(node, { members: before?.members ?? [], next: "", state: "failed", problem: error instanceof Error ? error.message : String(error) });
	}
}

function toggle(node: string, isOpen: boolean): void {
	const s = new Set(opened.peek());
	if (isOpen) s.add(node);
	else s.delete(node);
	opened.value = s;
	if (isOpen) void load(node);
}

// The way to the node that is shown is open.
effect(() => {
	const node = view.value.node;
	if (!node) return;
	active.value = node;
	const parts = node.split("/");
	for (let i = 1; i < parts.length; i++) {
		const parent = parts.slice(0, i).join("/");
		if (!opened.peek().has(parent)) toggle(parent, true);
	}
	if (parts.length === 1 && nodes.value?.find((n) => n.name === node)?.kind === "group" && !opened.peek().has(node)) toggle(node, true);
});

const rows = computed<Row[]>(() => {
	const list: Row[] = [];
	const results = found.value;
	if (wanted.value && results) {
		for (const m of results.members) list.push({ node: m.path, depth: 0, member: { ...m, name: m.path } });
		return list;
	}
	const walk = (node: string, member: Member, depth: number) => {
		list.push({ node, depth, member });
		if (member.kind !== "group" || !opened.value.has(node)) return;
		const b = branches.value.get(node);
		for (const m of b?.members ?? []) walk(`${node}/${m.name}`, m, depth + 1);
		const note = (text: string, more = "") => list.push({ node: `${node}/${text}`, depth: depth + 1, member, note: text, more });
		if (!b || b.state === "loading") note("loading …");
		else if (b.state === "failed") note(b.problem ?? "cannot be listed");
		else if (b.next) note("show more", b.next);
		else if (!b.members.length) note("empty");
	};
	for (const n of nodes.value ?? []) walk(n.name, n, 0);
	return list;
});

function icon(m: Member): string {
	if (m.problem) return "warning";
	if (m.kind === "group") return "group";
	const rank = m.shape?.length ?? 0;
	return rank === 0 ? "scalar" : rank === 1 ? "line" : "plane";
}

function act(r: Row): void {
	if (r.more) void load(r.node.slice(0, r.node.lastIndexOf("/")), r.more);
	else if (!r.note) open(r.node);
}

function press(e: KeyboardEvent): void {
	const list = rows.peek();
	const i = Math.max(0, list.findIndex((r) => r.node === active.peek()));
	const r = list[i];
	if (!r) return;
	const go = (k: number) => (active.value = list[Math.max(0, Math.min(list.length - 1, k))].node);
	const isGroup = r.member.kind === "group" && !r.note;
	switch (e.key) {
		case "ArrowDown": go(i + 1); break;
		case "ArrowUp": go(i - 1); break;
		case "PageDown": go(i + 15); break;
		case "PageUp": go(i - 15); break;
		case "Home": go(0); break;
		case "End": go(list.length - 1); break;
		case "ArrowRight":
			if (isGroup && !opened.peek().has(r.node)) toggle(r.node, true);
			else go(i + 1);
			break;
		case "ArrowLeft":
			if (isGroup && opened.peek().has(r.node)) toggle(r.node, false);
			else active.value = r.node.slice(0, Math.max(0, r.node.lastIndexOf("/"))) || r.node;
			break;
		case "Enter":
		case " ": act(r); break;
		default: return;
	}
	e.preventDefault();
}

const from = signal(0);
const tall = signal(600);
const id = (node: string) => "node-" + node.replace(/[^\w-]/g, (c) => "_" + c.charCodeAt(0).toString(16));

export function Tree() {
	const box = useRef<HTMLDivElement>(null);
	useEffect(() => {
		const sees = new ResizeObserver(() => (tall.value = box.current?.clientHeight || 600));
		if (box.current) sees.observe(box.current);
		return () => sees.disconnect();
	}, []);
	const list = rows.value;
	const at = list.findIndex((r) => r.node === active.value);
	useEffect(() => {
		const b = box.current;
		if (!b || at < 0) return;
		if (at * rowHeight < b.scrollTop) b.scrollTop = at * rowHeight;
		else if ((at + 1) * rowHeight > b.scrollTop + b.clientHeight) b.scrollTop = (at + 1) * rowHeight - b.clientHeight;
	}, [active.value, at]);
	const first = Math.max(0, Math.floor(from.value / rowHeight) - 5);
	const shown = list.slice(first, first + Math.ceil(tall.value / rowHeight) + 10);
	return (
		<nav class="tree" aria-label="Hierarchy">
			<Search />
			<div class="rows" ref={box} role="tree" aria-label="Nodes" tabIndex={0} onKeyDown={press} onScroll={(e) => (from.value = e.currentTarget.scrollTop)}
				aria-activedescendant={at >= first && at < first + shown.length ? id(list[at].node) : undefined}>
				<div class="room" style={{ height: list.length * rowHeight + "px" }}>
					{shown.map((r, i) => (
						<Line key={r.node} row={r} top={(first + i) * rowHeight} />
					))}
				</div>
				{wanted.value && found.value && !list.length && <p class="hint">Nothing of this name.</p>}
			</div>
			{wanted.value && found.value && !found.value.complete && <p class="hint">There may be more: the search was cut off.</p>}
		</nav>
	);
}

function Line({ row: r, top }: { row: Row; top: number }) {
	const isGroup = r.member.kind === "group" && !r.note;
	const isOpen = isGroup && opened.value.has(r.node);
	const isShown = r.node === view.value.node;
	return (
		<div id={id(r.node)} class={"row" + (isShown ? " shown" : "") + (r.node === active.value ? " active" : "") + (r.note && !r.more ? " note" : "")}
			role="treeitem" aria-level={r.depth + 1} aria-selected={isShown} aria-expanded={isGroup && !wanted.value ? isOpen : undefined}
			title={r.member.problem || (r.note ? r.note : r.node)} style={{ top: top + "px", paddingLeft: 8 + r.depth * 14 + "px" }}
			onClick={() => {
				active.value = r.node;
				if (isGroup && isShown) toggle(r.node, !isOpen);
				else if (isGroup && !isOpen) toggle(r.node, true);
				act(r);
			}}>
			<span class={"twist" + (isOpen ? " down" : "")} onClick={(e) => {
				if (!isGroup) return;
				e.stopPropagation();
				toggle(r.node, !isOpen);
			}}>{isGroup && !wanted.value && <Icon name="chevron" />}</span>
			{!r.note && <Icon name={icon(r.member)} />}
			<span class="name">{r.note ?? (wanted.value ? r.member.name : last(r.member.name))}</span>
			{!r.note && r.member.kind === "array" && r.member.shape && <span class="shape">{shape(r.member.shape)}</span>}
		</div>
	);
}

let searching: AbortController | null = null;
let timer = 0;

function search(text: string): void {
	wanted.value = text.trim();
	searching?.abort();
	clearTimeout(timer);
	if (!wanted.peek()) {
		found.value = null;
		return;
	}
	timer = window.setTimeout(async () => {
		const abort = (searching = new AbortController());
		try {
			const all = await Promise.all((nodes.peek() ?? []).map(async (n) => {
				if (n.kind === "array") return { members: n.name.toLowerCase().includes(text.toLowerCase()) ? [{ ...n, path: n.name }] : [], complete: true };
				const a = await api.find(n.name, wanted.peek(), abort.signal);
				return { ...a, members: a.members.map((m) => ({ ...m, path: whole(n.name, m.path) })) };
			}));
			found.value = { members: all.flatMap((a) => a.members), complete: all.every((a) => a.complete) };
		} catch (error) {
			if (!isAbort(error)) found.value = { members: [], complete: false };
		}
	}, 200);
}

/** whole makes the path of a member begin with the name of its node. */
function whole(node: string, path: string): string {
	return path === node || path.startsWith(node + "/") ? path : `${node}/${path.replace(/^\//, "")}`;
}

function Search() {
	return (
		<div class="search">
			<Icon name="search" />
			<input type="search" id="search" placeholder="Search nodes" aria-label="Search nodes" autocomplete="off" spellcheck={false} value={wanted.value}
				onInput={(e) => search(e.currentTarget.value)}
				onKeyDown={(e) => {
					if (e.key === "ArrowDown") document.querySelector<HTMLElement>(".tree .rows")?.focus();
				}} />
			{found.value && <span class="found" role="status">{count(found.value.members.length)}</span>}
		</div>
	);
}
