// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

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
