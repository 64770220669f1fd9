// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// first is the number of bytes of a region that are checked in later rounds.
const first = 1024

// work is a row that is ready to run.
type work struct {
	*bench
	row
	data  set
	dir   string    // of the store
	far   *far      // nil if the store is a folder
	boxes [][]int64 // the input of the checksum
	found []byte    // instead of boxes: the values of points, or the sum of a group
	bytes int64     // of all elements
	ideal float64
}

// prepare makes the data set and the files of a row.
func (b *bench) prepare(ctx context.Context, r row) (w *work, err error) {
	w = &work{bench: b, row: r, data: b.sets[r.set]}
	if w.dir, err = w.data.make(ctx, b.data); err != nil {
		return nil, err
	}
	w.request.Store, w.request.Rank = w.dir, len(w.data.spec.Shape)
	w.bytes = 1
	for _, n := range append(w.data.spec.Shape, int64(w.data.spec.Type.Size())) {
		w.bytes *= n
	}
	if err := w.places(); err != nil {
		return nil, err
	}
	if r.link != nil {
		if err := b.bucket.upload(ctx, w.dir); err != nil {
			return nil, err
		}
		w.request.Store, w.request.Files = location(filepath.Base(w.dir)), w.dir
		if w.far, err = b.bucket.through(*r.link); err != nil {
			return nil, err
		}
	}
	if r.remote {
		if w.far, err = serve(b.data, latency, bandwidth); err != nil {
			return nil, err
		}
		w.request.Store = w.far.url + filepath.Base(w.dir)
		if n := r.request.Concurrency; n > 0 && (r.request.Work == protocol.ReadAll || r.regions == "chunks") {
			w.ideal, err = ideal(w.dir, n, latency, bandwidth)
		}
	}
	return w, err
}

// places writes the regions or points of the work to a file, and keeps the expected
// values.
func (w *work) places() (err error) {
	name := filepath.Join(w.scratch, "places")
	shape := w.data.spec.Shape
	switch {
	case w.data.group != nil:
		// Array i has shape (i, 10). The answer is the sum of all extents.
		w.found = binary.LittleEndian.AppendUint64(nil, uint64(w.size.arrays*(w.size.arrays-1)/2+10*w.size.arrays))
	case w.points > 0:
		points := randomPoints(shape, w.points)
		for _, p := range points {
			w.found = append(w.found, w.data.elements(p, after(p))...)
		}
		w.request.Points = name
		return protocol.WriteNumbers(name, points)
	case w.regions != "":
		if w.boxes, err = w.regionsOf(); err != nil {
			return err
		}
		w.request.Regions = name
		return protocol.WriteNumbers(name, w.boxes)
	case w.target != nil:
		if err := protocol.WriteNumbers(name+allAtOnce, [][]int64{w.data.whole()}); err != nil {
			return err
		}
		w.boxes = blocksOf(w.data.spec, *w.target, w.request.Rechunking.Memory/4)
		w.request.Regions = name
		return protocol.WriteNumbers(name, w.boxes)
	case w.request.Work == protocol.Open:
		last := make([]int64, len(shape))
		for k, n := range shape {
			last[k] = n - 1
		}
		w.boxes = [][]int64{append(last, shape...)}
	default:
		w.boxes = [][]int64{w.data.whole()}
	}
	return nil
}

func (w *work) regionsOf() ([][]int64, error) {
	switch w.regions {
	case "planes":
		return planes(w.data.spec.Shape, w.size.planes), nil
	case "some-inner":
		all, err := w.data.boxes(true)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		return all[:min(len(all), w.size.inner)], err
	}
	return w.data.boxes(w.regions == "inner")
}

// planes returns planes across every axis, spread evenly.
func planes(shape []int64, n int64) (boxes [][]int64) {
	for k := range shape {
		for i := range n {
			begin, end := make([]int64, len(shape)), append([]int64(nil), shape...)
			begin[k] = (2*i + 1) * shape[k] / (2 * n)
			end[k] = begin[k] + 1
			boxes = append(boxes, append(begin, end...))
		}
	}
	return boxes
}

// randomPoints returns the same elements every time.
func randomPoints(shape []int64, n int) [][]int64 {
	random := rand.New(rand.NewPCG(3, 4))
	points := make([][]int64, n)
	for i := range points {
		for _, extent := range shape {
			points[i] = append(points[i], random.Int64N(extent))
		}
	}
	return points
}

func after(p []int64) []int64 {
	end := append([]int64(nil), p...)
	for k := range end {
		end[k]++
	}
	return end
}

// fresh returns the request of the next run, with a new target.
func (w *work) fresh(ctx context.Context, check bool, c candidate) (q protocol.Request, err error) {
	q = w.request
	if q.Work == protocol.ReadRegions && !check {
		q.Check = first
	}
	if q.Work != protocol.Copy && q.Work != protocol.Append && q.Work != protocol.Rechunk {
		return q, nil
	}
	if w.link != nil {
		q.Target, err = w.bucket.target(ctx, filepath.Base(w.dir), w.seeded)
		return q, err
	}
	q.Target = filepath.Join(w.scratch, "target.zarr")
	if err := os.RemoveAll(q.Target); err != nil {
		return q, err
	}
	switch {
	case c.inPlace:
		return q, linkTree(q.Target, w.dir)
	case w.target != nil:
		_, err := zarr.CreateArray(ctx, q.Target, *w.target, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
		return q, err
	case w.seeded:
		return q, os.CopyFS(q.Target, os.DirFS(w.dir))
	}
	document, err := os.ReadFile(filepath.Join(w.dir, "zarr.json"))
	if err != nil {
		return q, err
	}
	if err := os.Mkdir(q.Target, 0o777); err != nil {
		return q, err
	}
	return q, os.WriteFile(filepath.Join(q.Target, "zarr.json"), document, 0o666)
}

// want returns the expected checksum of a request.
func (w *work) want(q protocol.Request) string {
	if w.found != nil {
		var sum protocol.Sum
		sum.Add(0, w.found)
		return sum.String()
	}
	key := fmt.Sprint(w.set, " ", w.regions, " ", q.Work, " ", q.Check)
	if w.expected[key] == "" {
		w.expected[key] = w.data.expected(w.boxes, q.Check)
	}
	return w.expected[key]
}

// verify compares an answer with the expected one, and reads with Varve what was written.
func (w *work) verify(ctx context.Context, q protocol.Request, a protocol.Answer) error {
	if q.Target != "" {
		return w.verifyWritten(ctx, q)
	}
	if want := w.want(q); a.Checksum != want {
		return fmt.Errorf("wrong: the checksum is %s, not %s", a.Checksum, want)
	}
	return nil
}

// written selects what to check: in an array that was empty, its last chunk and the
// planes after it.
func (w *work) written(shape []int64) selection.Selection {
	if !w.data.empty {
		return nil
	}
	var box selection.Box
	for _, n := range shape {
		box = append(box, [2]int64{0, n})
	}
	box[0][0] = max(0, w.data.spec.Shape[0]-1)
	return box
}

func (w *work) verifyWritten(ctx context.Context, q protocol.Request) error {
	a, err := zarr.OpenArray(ctx, q.Target, nil)
	if err != nil {
		return fmt.Errorf("wrong: %w", err)
	}
	shape := append([]int64(nil), w.data.spec.Shape...)
	shape[0] += int64(q.Count)
	if fmt.Sprint(a.Shape()) != fmt.Sprint(shape) {
		return fmt.Errorf("wrong: the shape is %v, not %v", a.Shape(), shape)
	}
	if w.target != nil {
		g, err := grid.New(w.target.Shape, w.target.Chunks...)
		if err != nil {
			return err
		}
		if !a.Grid().SameCells(g, grid.BoxOf(g.Chunks())) {
			return fmt.Errorf("wrong: the chunk grid is %v", a.Grid())
		}
	}
	slabs, err := a.Slabs(w.written(shape), 256<<20)
	if err != nil {
		return err
	}
	for slab := range slabs {
		begin, end, err := corners(a, slab)
		if err != nil {
			return err
		}
		want := w.data.elements(begin, end)
		got := make([]byte, len(want))
		if err := a.ReadBytes(ctx, slab, got); err != nil {
			return fmt.Errorf("wrong: %w", err)
		}
		if string(got) != string(want) {
			return fmt.Errorf("wrong: elements from %v to before %v", begin, end)
		}
	}
	return nil
}

// row is one row of the tables: work that every candidate does on one store.
type row struct {
	id, title string
	set       string
	request   protocol.Request
	regions   string     // "" or the boxes of the work: chunks, inner, some-inner, planes
	points    int        // that are read
	seeded    bool       // the target begins as a copy of the set instead of empty
	remote    bool       // the store is a web server with latency
	target    *zarr.Spec // of a rechunk
	link      *link      // the way to the store in a bucket, if it is in one
}

// rowsOf makes rows.
type rowsOf struct {
	size size
	all  []row
}

// brief are the rows of the small size, which takes minutes. The full size has all rows.
var brief = []string{
	"1/*/all", "1/*/chunks-4", "1/shard/inner-4", "2/raw-uneven/all", "2/zstd-*/all", "2/zstd-strong/chunks-4", "2/shard-uneven/all",
	"2/shard-uneven/inner-4", "3/*/all", "4", "5/blosc/all", "6/raw/points", "6/shard", "6/zstd/planes", "7/*/not-synced",
	"7/days-listed/synced", "8/open-*", "8/group*", "9", "10/*/not-synced", "10/raw/synced", "10/shard/synced",
}

// allRows returns the rows of all groups.
func allRows(z size) []row {
	r := rowsOf{size: z}
	for _, name := range []string{"raw", "zstd", "shard"} {
		r.whole("1", name)
	}
	for _, name := range []string{"raw", "zstd", "shard"} {
		r.chunks("1", name, "chunks", z.flying...)
	}
	r.chunks("1", "shard", "inner", z.flying...)
	r.whole("1", "shard-small")
	r.chunks("1", "shard-small", "inner", 8)
	for _, name := range []string{"raw-uneven", "zstd-uneven", "raw-strong", "zstd-strong", "shard-uneven"} {
		r.whole("2", name)
		r.chunks("2", name, "chunks", 4)
	}
	r.chunks("2", "shard-uneven", "inner", 4)
	for _, name := range []string{"cells-raw", "cells-zstd"} {
		r.whole("3", name)
		r.chunks("3", name, "chunks", 4)
	}
	r.whole("4", "tiny")
	r.chunks("4", "tiny", "some-inner", 4)
	r.whole("5", "blosc")
	r.chunks("5", "blosc", "chunks", 4)
	r.places()
	for _, name := range []string{"days-regular", "days-listed"} {
		r.appends(name, false)
		r.appends(name, true)
	}
	r.opens()
	r.requests()
	for _, name := range []string{"raw", "zstd", "shard", "zstd-uneven", "cells-raw"} {
		r.copies(name, false)
		r.copies(name, true)
	}
	return r.all
}

// places returns rows of random elements and of planes.
func (r *rowsOf) places() {
	for _, name := range []string{"raw", "zstd", "shard", "zstd-uneven"} {
		r.add(row{
			id: "6/" + name + "/points", title: fmt.Sprintf("read %d random elements of %s", r.size.points, name), set: name,
			points: r.size.points, request: protocol.Request{Work: protocol.ReadPoints},
		})
		r.add(row{
			id: "6/" + name + "/planes", title: fmt.Sprintf("read %d planes along every axis of %s, one by one", r.size.planes, name),
			set: name, regions: "planes", request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
		})
	}
}

func (r *rowsOf) add(x row) { r.all = append(r.all, x) }

func (r *rowsOf) whole(group, name string) {
	r.add(row{id: group + "/" + name + "/all", title: "read all of " + name, set: name, request: protocol.Request{Work: protocol.ReadAll}})
}

func (r *rowsOf) chunks(group, name, regions string, flying ...int) {
	for _, n := range flying {
		r.add(row{
			id: fmt.Sprintf("%s/%s/%s-%d", group, name, regions, n), title: fmt.Sprintf("read %s by %s, %d at a time", name, regions, n),
			set: name, regions: regions, request: protocol.Request{Work: protocol.ReadRegions, Concurrency: n},
		})
	}
}

func (r *rowsOf) appends(name string, sync bool) {
	r.add(row{
		id: "7/" + name + durable(sync), title: fmt.Sprintf("append %d days one by one to %s, %s", r.size.days, name, words(sync)),
		set: name, seeded: true, request: protocol.Request{Work: protocol.Append, Count: r.size.days, Sync: sync},
	})
}

func durable(sync bool) string {
	if sync {
		return "/synced"
	}
	return "/not-synced"
}

// words describes the row in a sentence.
func words(sync bool) string { return strings.ReplaceAll(durable(sync)[1:], "-", " ") }

func (r *rowsOf) opens() {
	for _, name := range []string{"open-run", "open-edges", "raw"} {
		r.add(row{id: "8/" + name, title: "open " + name + " and read its last element", set: name, request: protocol.Request{Work: protocol.Open}})
	}
	for _, name := range []string{"group", "group-consolidated"} {
		r.add(row{id: "8/" + name, title: "open all arrays of " + name, set: name, request: protocol.Request{Work: protocol.Members}})
	}
}

func (r *rowsOf) requests() {
	for _, name := range []string{"zstd", "shard"} {
		for _, n := range r.size.requests {
			r.add(row{
				id: fmt.Sprintf("9/%s/all-%d", name, n), title: fmt.Sprintf("read all of %s from afar, %d requests at a time", name, n),
				set: name, remote: true, request: protocol.Request{Work: protocol.ReadAll, Concurrency: n},
			})
		}
	}
	r.add(row{
		id: "9/shard/planes", title: "read planes of shard from afar, one by one", set: "shard", remote: true, regions: "planes",
		request: protocol.Request{Work: protocol.ReadRegions, Concurrency: 1},
	})
}

func (r *rowsOf) copies(name string, sync bool) {
	r.add(row{
		id: "10/" + name + durable(sync), title: "read " + name + " by chunks and write it anew, 4 at a time, " + words(sync), set: name,
		regions: "chunks", request: protocol.Request{Work: protocol.Copy, Concurrency: 4, Sync: sync},
	})
}

// chosen returns the rows that the patterns match, or without patterns those of the size.
func chosen(z size, patterns []string) []row {
	all := allRows(z)
	if len(patterns) == 0 {
		if z.name == "full" {
			return all
		}
		patterns = brief
	}
	return slices.DeleteFunc(all, func(r row) bool { return !named(r.id, patterns) })
}

// named reports whether a pattern equals the name, matches it, or is a prefix of it.
func named(id string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		match, _ := path.Match(p, id)
		return match || strings.HasPrefix(id+"/", p+"/")
	})
}

// unit is the unit of the numbers of an axis. It determines their format and the ticks.
type unit string

const (
	counted unit = "number"
	doubled unit = "number that doubles" // ticks are at powers of two, like those of sized
	sized   unit = "bytes"
	timed   unit = "seconds"
	rated   unit = "GB/s"
)

// axis is one of the two logarithmic axes of a chart.
type axis struct {
	Title string
	Unit  unit
}

// spell formats a number with its unit.
func (u unit) spell(v float64) string {
	switch u {
	case timed:
		return duration(v)
	case sized:
		return bytesOf(int64(v))
	case rated:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return grouped(int64(v))
}

// grouped writes a number with a comma between each three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesOf formats a number of bytes, in whole units if possible.
func bytesOf(n int64) string {
	for i, name := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(one), name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// mostTicks bounds the ticks at powers of two.
const mostTicks = 8

// scale is an axis between its first and its last tick.
type scale struct {
	low, high float64
	ticks     []float64 // labelled ones
}

// fit returns a scale for values. It returns none if no value is positive.
func (u unit) fit(values []float64) (s scale) {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) })
	if len(values) == 0 {
		return scale{}
	}
	low, high := slices.Min(values), slices.Max(values)
	if u == sized || u == doubled {
		return twos(low, high)
	}
	return tens(low, high)
}

// twos has its ticks at powers of two.
func twos(low, high float64) (s scale) {
	first, last := int(math.Floor(math.Log2(low))), int(math.Ceil(math.Log2(high)))
	last = max(last, first+1)
	step := (last - first + mostTicks) / mostTicks
	for e := first; e <= last; e += step {
		s.ticks = append(s.ticks, math.Ldexp(1, e))
	}
	s.low, s.high = math.Ldexp(1, first), math.Ldexp(1, last)
	return s
}

// tens begins and ends at 1, 2 or 5 times a power of ten. A short scale has its ticks
// there, a long one at powers of ten only.
func tens(low, high float64) (s scale) {
	var steps []float64
	for e := int(math.Floor(math.Log10(low))); math.Pow10(e) <= 10*high; e++ {
		for _, m := range []float64{1, 2, 5} {
			// Parse numbers from text, so that each is the float64 nearest to
			// its decimal form.
			v, _ := strconv.ParseFloat(fmt.Sprintf("%ge%d", m, e), 64)
			steps = append(steps, v)
		}
	}
	first := 0
	for steps[first+1] <= low {
		first++
	}
	last := first + 1
	for steps[last] < high {
		last++
	}
	s.low, s.high = steps[first], steps[last]
	for _, v := range steps[first : last+1] {
		if s.high < 100*s.low || isPower(v) {
			s.ticks = append(s.ticks, v)
		}
	}
	return s
}

// isPower reports whether a number is a power of ten.
func isPower(v float64) bool {
	l := math.Log10(v)
	return math.Abs(l-math.Round(l)) < 1e-9
}

// at returns the position of a value on the scale, from 0 to 1.
func (s scale) at(v float64) float64 {
	return (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
}

// size is the size of the data sets. Everything else is the same in all sizes.
type size struct {
	name     string
	cube     int64    // elements along an axis of the cubes
	cells    [2]int64 // small chunks along the axes
	tiny     int64    // inner chunks of 4³ along an axis of one shard
	points   int
	planes   int64 // along every axis
	inner    int   // number of random inner chunks of the tiny ones
	days     int   // that are appended
	edges    int64 // that are listed
	run      int64 // chunks of one run
	arrays   int   // of a group
	flying   []int // concurrent regions
	slow     time.Duration
	requests []int // concurrent requests to a far store
}

var sizes = []size{
	{
		name: "small", cube: 512, cells: [2]int64{100, 100}, tiny: 32, points: 1000, planes: 4, inner: 1000, days: 30, edges: 100_000,
		run: 1_000_000, arrays: 1000, flying: []int{1, 2, 4, 8}, slow: 3 * time.Second, requests: []int{8, 32},
	},
	{
		name: "full", cube: 1024, cells: [2]int64{250, 400}, tiny: 64, points: 10_000, planes: 8, inner: 10_000, days: 365,
		edges: 1_000_000, run: 10_000_000, arrays: 5000, flying: []int{1, 2, 4, 8}, slow: 2 * time.Minute, requests: []int{8, 32, 128},
	},
}

func sizeOf(name string) (size, error) {
	for _, s := range sizes {
		if s.name == name {
			return s, nil
		}
	}
	return size{}, fmt.Errorf("no size %q; use small or full", name)
}

// chunk is the edge of the chunks of a cube, and inner that of its inner chunks.
func (s size) chunk() int64  { return s.cube / 4 }
func (s size) inside() int64 { return s.cube / 16 }

// scaled scales edges of an axis of 1024 elements to the cube.
func (s size) scaled(edges ...int64) []int64 {
	for i := range edges {
		edges[i] = edges[i] * s.cube / 1024
	}
	return edges
}
