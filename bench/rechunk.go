// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// rechunking is a case of rechunking: a row with candidates and a goal of its own.
type rechunking struct {
	row
	data       set
	candidates []candidate
	goal       goal
}

// goal is what Varve should reach in a case.
type goal struct {
	beside string  // the candidate to compare with, or "" for the fastest other library
	most   float64 // Varve's time divided by that of the candidate
	memory int64   // the most bytes of memory, or 0
}

// allAtOnce ends the name of a file with the whole array as its only region.
const allAtOnce = "-all"

// beyond is the memory that a program needs besides the budget of a rechunk.
const beyond = 32 * mib

// extent is the extent of the cases of a size.
type extent struct {
	day    [2]int64 // inner chunks of a daily shard along two axes
	thin   int64    // chunks of a day along two axes, which are compacted by decoding
	packed int64    // small chunks along each of two axes
	shard  int64    // of which so many become a shard, along each axis
	linked int64    // chunks that are linked
	planes int64    // and elements along each of their axes
	matrix int64    // elements along each axis of a matrix
	memory int64    // bytes that may be held
	sizes  []int64  // elements along each axis of matrices that bound the memory
}

// extents has the extent of each size. An inner chunk and a small chunk have 10 KiB.
var extents = map[string]extent{
	"tiny": {
		day: [2]int64{3, 2}, thin: 2, packed: 32, shard: 8, linked: 1000, planes: 128, matrix: 2000, memory: 64 * mib, sizes: []int64{1600},
	},
	"small": {
		day: [2]int64{16, 17}, thin: 8, packed: 316, shard: 79, linked: 100_000, planes: 640, matrix: 16_000, memory: 256 * mib,
		sizes: []int64{1600, 5000, 16_000},
	},
	"full": {
		day: [2]int64{64, 42}, thin: 25, packed: 1000, shard: 100, linked: 1_000_000, planes: 1366, matrix: 50_000, memory: 256 * mib,
		sizes: []int64{1600, 5000, 16_000, 50_000},
	},
}

// allRechunks returns all cases. Those of one data set are adjacent.
func allRechunks(z extent, cache string) []rechunking {
	all := []rechunking{z.days(true), z.days(false), z.links(), z.thinned(), z.pack(true), z.pack(false)}
	all = append(all, z.rechunks(cache)...)
	for _, n := range z.sizes {
		all = append(all, z.bounded(n))
	}
	for i := range all {
		r := &all[i]
		r.set = r.data.name
		r.request.Work = protocol.Rechunk
		for k, c := range r.candidates {
			if len(c.program) == 0 {
				r.candidates[k].program = programOf(cache, c)
			}
		}
	}
	return all
}

// programOf returns the program of a candidate of this file.
func programOf(cache string, c candidate) []string {
	if c.bound {
		return []string{filepath.Join(cache, "bin", "limit")}
	}
	return []string{filepath.Join(cache, "bin", "varve-peer")}
}

// inPlace is Varve itself.
var inPlace = candidate{name: "varve", varve: true, inPlace: true}

// limitOf is a program that does other work without Zarr.
func limitOf(name, work string, count int) candidate {
	return candidate{name: name, bound: true, adjust: func(q *protocol.Request) { q.Work, q.Count = work, count }}
}

// floats is an array of float32 in the given chunks.
func floats(name string, shape []int64, chunks, inner []grid.Cut, codecs []metadata.Extension) set {
	return set{name: name, values: fields, spec: zarr.Spec{
		Shape: shape, Type: dtype.Float32, Chunks: chunks, InnerChunks: inner, Codecs: codecs,
	}}
}

// days compacts 365 daily shards into a year, without decoding anything.
func (z extent) days(sync bool) rechunking {
	y, x := 40*z.day[0], 64*z.day[1]
	data := floats("daily-shards", []int64{365, y, x}, every(1, y, x), every(1, 40, 64), raw())
	target := data.spec
	target.Chunks = every(365, y, x)
	return rechunking{
		row: row{
			id: "compact/shards" + durable(sync), title: "compact 365 daily shards into one of a year, " + words(sync), target: &target,
			request: protocol.Request{Sync: sync, Rechunking: &protocol.Rechunking{UpTo: 365}},
		},
		data: data, candidates: []candidate{inPlace, limitOf("cp", protocol.Files, 0)}, goal: goal{beside: "cp", most: 1.25},
	}
}

// links compacts the last two of many chunks. The others are linked.
func (z extent) links() rechunking {
	data := floats("linked", []int64{2560 * (z.linked + 1)}, []grid.Cut{grid.Runs(grid.Run{Length: 2560, Count: z.linked}, grid.Run{Length: 1280, Count: 2})}, nil, raw())
	target := data.spec
	target.Chunks = every(2560)
	return rechunking{
		row: row{
			id: "compact/links", title: fmt.Sprintf("compact the last two of %s chunks of 10 KiB; the others are linked", grouped(z.linked)), target: &target,
			request: protocol.Request{Sync: true, Rechunking: &protocol.Rechunking{UpTo: 2560}},
		},
		data: data, candidates: []candidate{inPlace, limitOf("cp --link", protocol.Link, 0), limitOf("cp", protocol.Files, 0)}, goal: goal{beside: "cp", most: 1},
	}
}

// thinned compacts chunks of one day into chunks of a year, which are encoded anew.
func (z extent) thinned() rechunking {
	y, x := 80*z.thin, 136*z.thin
	data := floats("daily-chunks", []int64{365, y, x}, every(1, 80, 136), nil, packed())
	target := data.spec
	target.Chunks = every(365, 80, 136)
	again := candidate{name: "read and write", varve: true, adjust: func(q *protocol.Request) {
		q.Work, q.Concurrency = protocol.Copy, 1
		q.Regions += allAtOnce
	}}
	return rechunking{
		row: row{
			id: "compact/decode", title: "compact chunks of a day into chunks of a year, zstd, by decoding them", target: &target,
			request: protocol.Request{Rechunking: &protocol.Rechunking{UpTo: 365}},
		},
		data: data, candidates: []candidate{inPlace, again}, goal: goal{beside: again.name, most: 1.3},
	}
}

// pack packs small chunks into shards.
func (z extent) pack(sync bool) rechunking {
	shape := []int64{40 * z.packed, 64 * z.packed}
	data := floats("small-chunks", shape, every(40, 64), nil, raw())
	target := data.spec
	target.Chunks, target.InnerChunks = every(40*z.shard, 64*z.shard), every(40, 64)
	shards := int((z.packed + z.shard - 1) / z.shard)
	return rechunking{
		row: row{
			id:    "pack/chunks" + durable(sync),
			title: fmt.Sprintf("pack %s chunks of 10 KiB into %d shards, %s", grouped(z.packed*z.packed), shards*shards, words(sync)), target: &target,
			request: protocol.Request{Sync: sync, Rechunking: &protocol.Rechunking{Chunks: []int64{40 * z.shard, 64 * z.shard}, Inner: []int64{40, 64}}},
		},
		data: data, candidates: []candidate{inPlace, limitOf("read and write bytes", protocol.Pack, shards*shards)},
		goal: goal{beside: "read and write bytes", most: 1.5},
	}
}

// rechunks cuts arrays in other ways, within a budget.
func (z extent) rechunks(cache string) []rechunking {
	n, m := z.planes, z.matrix
	var all []rechunking
	for _, c := range []struct {
		name   string
		codecs []metadata.Extension
	}{{"raw", raw()}, {"zstd", packed()}} {
		planes := floats("planes-"+c.name, []int64{n, n, n}, every(1, n, n), nil, c.codecs)
		matrix := floats("matrix-"+c.name, []int64{m, m}, every(1000, 1000), nil, c.codecs)
		all = append(all, z.rechunk("rechunk/space-"+c.name, planes, cache, n, 16, 16), z.rechunk("rechunk/999-"+c.name, matrix, cache, 999, 999))
	}
	return all
}

func (z extent) rechunk(id string, data set, cache string, chunks ...int64) rechunking {
	target := data.spec
	target.Chunks = every(chunks...)
	r := rechunking{
		row: row{
			id: id, target: &target, title: fmt.Sprintf("%s: %v in chunks of %v to chunks of %v, within %s", data.name, data.spec.Shape, edgesOf(data.spec), edgesOf(target), memory(z.memory)),
			request: protocol.Request{Rechunking: &protocol.Rechunking{Chunks: chunks, Memory: z.memory}},
		},
		data: data, candidates: []candidate{inPlace}, goal: goal{most: 1 / 1.5, memory: z.memory + beyond},
	}
	r.candidates = append(r.candidates, rechunkers(cache)...)
	return r
}

// bounded shows that the memory does not grow with the array.
func (z extent) bounded(n int64) rechunking {
	r := z.rechunk(fmt.Sprint("memory/", n), floats(fmt.Sprint("matrix-", n), []int64{n, n}, every(1000, 1000), nil, packed()), "", 999, 999)
	r.candidates, r.goal = []candidate{inPlace}, goal{memory: 64*mib + beyond}
	r.request.Rechunking.Memory = 64 * mib
	r.title = fmt.Sprintf("memory for %s of elements, within %s", memory(4*n*n), memory(64*mib))
	return r
}

// edgesOf returns the edges of the first chunk.
func edgesOf(s zarr.Spec) (edges []int64) {
	g, err := grid.New(s.Shape, s.Chunks...)
	if err != nil {
		return nil
	}
	c, _ := g.Chunk(make([]int64, len(s.Shape)))
	return c.Logical
}

// rechunkers are the other programs that can rechunk. Those that know no budget copy
// blocks of target chunks that hold a quarter of it, two at a time.
func rechunkers(cache string) []candidate {
	blocks := func(q *protocol.Request) { q.Work, q.Concurrency = protocol.Copy, 2 }
	var all []candidate
	for _, c := range allCandidates(cache) {
		switch c.name {
		case "zarrs", "tensorstore", "zarr-python":
			c.adjust = blocks
			all = append(all, c)
		}
	}
	python := filepath.Join(cache, "cubed", "bin", "python")
	return append(all,
		candidate{name: "cubed", program: []string{python, filepath.Join(cache, "python", "cubed_peer.py")}},
		candidate{name: "zarrs_reencode", program: []string{filepath.Join(cache, "zarrs-tools", "bin", "zarrs_reencode")}, command: reencode},
	)
}

// reencode returns the arguments of zarrs_reencode. It changes the chunks only where it
// makes shards, so each chunk is a shard with one inner chunk.
func reencode(_ row, q protocol.Request) []string {
	chunks := ""
	for i, n := range q.Rechunking.Chunks {
		if i > 0 {
			chunks += ","
		}
		chunks += fmt.Sprint(n)
	}
	return []string{"--chunk-shape", chunks, "--shard-shape", chunks, "--concurrent-chunks", "2", "--cache-size", fmt.Sprint(q.Rechunking.Memory / 2), q.Store, q.Target}
}

// blocksOf returns boxes of target chunks of at most limit bytes, or single chunks. They
// grow where they cover the chunks of the source least.
func blocksOf(source, target zarr.Spec, limit int64) (boxes [][]int64) {
	block, from, size := edgesOf(target), edgesOf(source), int64(target.Type.Size())
	for _, n := range block {
		size *= n
	}
	for {
		least := -1
		for k := range block {
			cover := func(k int) float64 { return float64(block[k]) / float64(from[k]) }
			if block[k] < source.Shape[k] && (least < 0 || cover(k) < cover(least)) {
				least = k
			}
		}
		if least < 0 || 2*size > limit {
			break
		}
		block[least] *= 2
		size *= 2
	}
	g, err := grid.New(source.Shape, every(block...)...)
	if err != nil {
		return nil
	}
	for c := range g.All() {
		box := slices.Clone(c.Start)
		for k := range c.Start {
			box = append(box, c.Start[k]+c.Logical[k])
		}
		boxes = append(boxes, box)
	}
	return boxes
}

// enough is the time after which the rest of the small sizes is measured only once.
const enough = 6 * time.Minute

// rechunkAll measures the cases of rechunking.
func rechunkAll(ctx context.Context, s settings) error {
	all := allRechunks(extents[s.size.name], s.cache)
	if len(s.rows) > 0 {
		all = slices.DeleteFunc(all, func(r rechunking) bool { return !named(r.id, s.rows) })
	}
	missing := presentOf(all, s.candidates)
	title := func(r rechunking) (string, string) { return r.id, r.title }
	if run, err := offer(s, all, title, []candidate{inPlace}, missing); !run {
		return err
	}
	report := &rechunked{Machine: describe(s, missing)}
	b, err := newBench(s)
	if err != nil {
		return err
	}
	b.data += "-rechunk"
	defer os.RemoveAll(b.scratch)
	defer os.RemoveAll(b.data)
	begin := time.Now()
	for i, r := range all {
		// A busy machine shall not make it endless.
		if s.size.name != "full" && time.Since(begin) > enough {
			b.rounds = 1
		}
		// Data sets are large.
		if i > 0 && all[i-1].set != r.set {
			if err := os.RemoveAll(b.data); err != nil {
				return err
			}
		}
		b.sets[r.set] = r.data
		m, err := b.measure(ctx, r.row, r.candidates)
		if err != nil {
			return fmt.Errorf("case %s: %w", r.id, err)
		}
		report.Cases = append(report.Cases, compared{m, r.goal.beside, r.goal.most, r.goal.memory})
		fmt.Fprintln(os.Stderr, line(m))
	}
	return save(s.out, report)
}

// presentOf drops candidates that are not installed or not wanted, and returns the names
// of the former.
func presentOf(all []rechunking, wanted []string) (missing []string) {
	for i := range all {
		all[i].candidates = slices.DeleteFunc(all[i].candidates, func(c candidate) bool {
			if !c.available() && !slices.Contains(missing, c.name) {
				missing = append(missing, c.name)
			}
			return !c.available() || len(wanted) > 0 && !slices.Contains(wanted, c.name)
		})
	}
	return missing
}

// linkTree makes a copy of a store whose chunks are hard links: nobody changes a chunk in
// place.
func linkTree(target, from string) error {
	return filepath.WalkDir(from, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(target, below)
		switch {
		case e.IsDir():
			return os.Mkdir(to, 0o777)
		case e.Name() == "zarr.json":
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(to, data, 0o666)
		}
		return os.Link(name, to)
	})
}

// rechunked is the results of all cases of rechunking.
type rechunked struct {
	Machine machine
	Cases   []compared
}

// compared is the results of a case with its goal.
type compared struct {
	measured
	Beside string  `json:",omitempty"`
	Most   float64 `json:",omitempty"`
	Memory int64   `json:",omitempty"`
}

const rechunkExplanation = `
The programs take turns on the same stores. Each figure is the median of all rounds; ± is half of the difference between the slowest and
the fastest round. Ratios are those of the runs of one round, with the lowest and the highest one. A ratio without
a spread is that of a single run, for long work the one that was checked: take it as a hint. Read, written and calls are those of the
system, also from its cache. "Encoded" are bytes that were copied without being decoded, "linked" those that the old and the new chunks
share. Varve works in place and keeps the old chunks; the others write to an empty folder. The first run of every program, which
otherwise does not count, was checked in full. Chunks are of float32; those with zstd shrink to about a third.
`

func (r *rechunked) markdown(w io.Writer) {
	fmt.Fprint(w, "# Rechunking\n\n")
	r.Machine.markdown(w)
	fmt.Fprint(w, rechunkExplanation)
	fmt.Fprint(w, "\n## Overview\n\n| case | varve | beside | time | ratio | goal | memory | goal |\n|---|--:|---|--:|--:|--:|--:|--:|\n")
	for _, c := range r.Cases {
		c.overview(w)
	}
	for _, c := range r.Cases {
		c.table(w)
	}
}

// own returns the results of Varve.
func (c compared) own() (r result) {
	if i := slices.IndexFunc(c.Results, func(r result) bool { return r.Candidate == "varve" }); i >= 0 {
		r = c.Results[i]
	}
	return r
}

// other returns the results to compare with.
func (c compared) other() (r result) {
	least := fastest(c.Results, took, peer)
	for _, o := range c.Results {
		if o.Why == "" && o.Median > 0 && (o.Candidate == c.Beside || c.Beside == "" && o.Median == least) {
			r = o
		}
	}
	return r
}

func (c compared) overview(w io.Writer) {
	own, other := c.own(), c.other()
	if own.Why != "" || own.Median == 0 { // nothing was reached
		fmt.Fprintf(w, "| %s | no figure ✗ | – | – | – | – | – | – |\n", c.ID)
		return
	}
	fmt.Fprintf(w, "| %s | %s |", c.ID, duration(own.Median))
	if other.Candidate == "" {
		fmt.Fprint(w, " – | – | – | – |")
	} else {
		fmt.Fprintf(w, " %s | %s | %s | %.2f%s |", other.Candidate, duration(other.Median), ratios(own, other), c.Most, reached(ratio(own, other) <= c.Most))
	}
	fmt.Fprintf(w, " %s |", memory(own.Peak))
	if c.Memory == 0 {
		fmt.Fprintln(w, " – |")
		return
	}
	fmt.Fprintf(w, " %s%s |\n", memory(c.Memory), reached(own.Peak <= c.Memory))
}

func reached(is bool) string {
	if is {
		return " ✓"
	}
	return " ✗"
}

// ratiosOf returns the ratios of the rounds, in order of size.
func ratiosOf(a, b result) (all []float64) {
	for i := range min(len(a.Seconds), len(b.Seconds)) {
		all = append(all, a.Seconds[i]/b.Seconds[i])
	}
	slices.Sort(all)
	return all
}

func ratio(a, b result) float64 { return protocol.Median(ratiosOf(a, b)) }

func ratios(a, b result) string {
	all := ratiosOf(a, b)
	if len(all) < 2 {
		return fmt.Sprintf("%.2f", protocol.Median(all))
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", protocol.Median(all), all[0], all[len(all)-1])
}

func (c compared) table(w io.Writer) {
	fmt.Fprintf(w, "\n### %s: %s\n\n| | time | ± | GB/s | CPU | memory | read | written | calls | encoded | linked | decoded |\n|---|%s\n",
		c.ID, c.Title, strings.Repeat("--:|", 11))
	var notes []string
	for _, r := range c.Results {
		if r.Why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", r.Candidate, strings.TrimSuffix(r.Why, ".")))
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %.0f %% | %s | %s | %s | %s | %s | %s |", r.Candidate, duration(r.Median), 100*r.spread(), rate(r.figures),
			duration(r.CPU), memory(r.Peak), memory(r.Moved.Read), memory(r.Moved.Written), grouped(r.Moved.Calls))
		if r.Candidate == "varve" {
			fmt.Fprintf(w, " %s | %s | %s |\n", memory(r.Encoded), memory(r.Linked), memory(r.Decoded))
		} else {
			fmt.Fprintln(w, " | | |")
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\nWithout figures: %s\n", strings.Join(notes, " "))
	}
}
