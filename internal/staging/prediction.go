// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"slices"
	"sort"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

// Requests counts requests to a store for chunks, scratch objects and records.
type Requests struct {
	Get  int64 // reads of values, of ranges of them, and of the indexes of shards
	Head int64 // of versions
	Put  int64 // also deletions in place of chunks that turn out to have only the fill value
	Copy int64 // values that the store copies, links or assembles
	List int64 // pages of 1000 values, about
}

// Add adds o to r.
func (r *Requests) Add(o Requests) {
	r.Get += o.Get
	r.Head += o.Head
	r.Put += o.Put
	r.Copy += o.Copy
	r.List += o.List
}

// Prediction is what staging does, if nothing is written meanwhile.
type Prediction struct {
	Counts
	Requests Requests
	// BytesRead are those of encoded chunks and of scratch. Of shards and of chunks that
	// are not compressed, less may be read.
	BytesRead int64
	// BytesArranged are those of BytesCopied that are put together.
	BytesArranged int64
}

// Predictor predicts what a [Stager] with the same Job, From and To does.
type Predictor struct {
	*Job
	Sources *Table
	// Input is the scratch that chunks are decoded from, if any. It has a block for every
	// stored chunk of the source.
	Input  *Scratch
	Output *Scratch
	Prediction

	filled map[int64]bool      // blocks of From, by number
	shares map[int64]*division // of source chunks that several chunks take units from
}

// division is what is left of a source chunk for the chunks that take units from it.
type division struct{ bytes, chunks int64 }

// share returns the bytes that one chunk takes from a source chunk of that size. How many
// units each of them takes is not known before the index of the source is read, so they
// take equal shares.
func (p *Predictor) share(source []int64, size int64) int64 {
	if !p.Source.Engine.Chain.Divided() {
		return size
	}
	n := p.number(source)
	d := p.shares[n]
	if d == nil {
		d = &division{bytes: size}
		for box := range p.targetBoxes(source) {
			k, _ := box.Len()
			d.chunks += k
		}
		if d.chunks <= 1 {
			return size
		}
		if p.shares == nil {
			p.shares = map[int64]*division{}
		}
		p.shares[n] = d
	}
	part := d.bytes / d.chunks
	d.bytes, d.chunks = d.bytes-part, d.chunks-1
	if d.chunks == 0 {
		delete(p.shares, n)
	}
	return part
}

// Task adds one call of [Stager.Stage].
func (p *Predictor) Task(box grid.Box) error {
	task, err := p.part(box)
	if err != nil {
		return err
	}
	looked := map[int64]bool{}
	p.Requests.Put++ // the records
	return p.split(task, func(of part, copies bool) error {
		if copies {
			p.addCopies(of, looked)
			return nil
		}
		return p.addDecoding(of)
	})
}

// addCopies adds a part whose chunks are copied. looked has the numbers of the source
// chunks that the task has looked for.
func (p *Predictor) addCopies(of part, looked map[int64]bool) {
	from := make([]int64, len(of.box))
	for at := range of.box.IndicesInto(make([]int64, len(of.box))) {
		bytes, any := int64(0), false
		clone := p.cloneOf(of, at, from)
		for source := range p.sources(of, at, p.Sources) {
			e := p.Sources.find(source)
			if e != nil {
				any = true
				bytes += p.share(source, max(0, e.size))
			}
		}
		if !any {
			continue
		}
		p.Requests.Copy++
		p.BytesCopied += bytes
		if clone {
			p.Cloned++
			continue
		}
		p.Arranged++
		p.BytesArranged += bytes
		p.Requests.Head++ // of the new version
		for source := range p.sources(of, at, p.Sources) {
			if n := p.number(source); !looked[n] {
				looked[n] = true
				p.addLookup()
			}
		}
	}
}

// addLookup adds the request for the index of a shard, or for the version of a chunk.
func (p *Predictor) addLookup() {
	if p.Source.Engine.Chain.Divided() {
		p.Requests.Get++
	} else {
		p.Requests.Head++
	}
}

// addDecoding adds a part whose chunks are decoded.
func (p *Predictor) addDecoding(of part) error {
	region, bytes := make(grid.Box, len(of.box)), int64(p.Target.Engine.Size)
	for i, cells := range of.cells {
		region[i] = grid.Interval{Start: cells[0].start, Stop: cells[len(cells)-1].stop}
		bytes *= region[i].Len()
	}
	read, stored := int64(0), int64(0)
	for source := range p.sourcesOf(of) {
		if e := p.Sources.find(source); e != nil {
			stored++
			read += max(0, e.size)
		}
	}
	// A task without stored sources makes no request, and leaves its chunks missing.
	if stored == 0 && !p.fills && !of.takesGiven() {
		return nil
	}
	if p.Input != nil {
		if err := p.addFetches(region); err != nil {
			return err
		}
	} else {
		p.Requests.Get += stored
		p.BytesRead += read
		p.BytesDecoded += bytes
	}
	if p.Output != nil {
		p.Scratch++
		p.BytesScratch += bytes
		p.Requests.Put++
		return nil
	}
	p.BytesEncoded += bytes
	// A chunk that turns out to have only fill values is deleted, which is a request,
	// too.
	for at := range of.box.IndicesInto(make([]int64, len(of.box))) {
		p.Requests.Put++
		if p.takes(of, at) {
			p.Encoded++
			p.Requests.Head++
		}
	}
	return nil
}

// takes reports whether a chunk of the target has elements of a stored chunk.
func (p *Predictor) takes(of part, at []int64) bool {
	for source := range p.sources(of, at, p.Sources) {
		if p.Sources.Contains(source) {
			return true
		}
	}
	return p.fills || p.takesGiven(of, at)
}

// sourcesOf yields every chunk of the source that a part takes elements from, once.
func (p *Predictor) sourcesOf(of part) func(yield func([]int64) bool) {
	lists := make([][]grid.Interval, len(of.box))
	for i, cells := range of.cells {
		for _, c := range cells {
			lists[i] = append(lists[i], c.sources...)
		}
		sort.Slice(lists[i], func(a, b int) bool { return lists[i][a].Start < lists[i][b].Start })
		lists[i] = unite(lists[i])
	}
	return func(yield func([]int64) bool) {
		products(lists, 0, make(grid.Box, len(lists)), func(box grid.Box) bool {
			for k := range p.Sources.within(box, make([]int64, len(box))) {
				if !yield(k) {
					return false
				}
			}
			return true
		})
	}
}

// unite joins intervals that overlap or touch. They are in the order of their starts.
func unite(list []grid.Interval) []grid.Interval {
	var out []grid.Interval
	for _, in := range list {
		if n := len(out); n > 0 && in.Start <= out[n-1].Stop {
			out[n-1].Stop = max(out[n-1].Stop, in.Stop)
			continue
		}
		out = append(out, in)
	}
	return out
}

// addFetches adds the pieces of scratch that a region is read from.
func (p *Predictor) addFetches(region grid.Box) error {
	if p.filled == nil {
		wanted, err := p.Input.Wanted(p.Sources)
		if err != nil {
			return err
		}
		p.filled = make(map[int64]bool, len(wanted))
		for _, n := range wanted {
			p.filled[n] = true
		}
	}
	readers, err := p.Input.readers.Touched(region)
	if err != nil {
		return err
	}
	cells, size := p.Input.Target.Grid.Cells(), int64(p.Target.Engine.Size)
	for reader := range readers.IndicesInto(make([]int64, len(readers))) {
		pieces, err := blocks.Sources(p.Input.Target.Grid, p.Input.readers, reader)
		if err != nil {
			return err
		}
		for piece := range pieces {
			if overlap(piece.Box, region) && p.filled[numberIn(cells, piece.Block)] {
				n, _ := piece.Box.Len()
				p.Requests.Get++
				p.BytesRead += n * size
			}
		}
	}
	return nil
}

// overlap reports whether two boxes have an element in common.
func overlap(a, b grid.Box) bool {
	for i := range a {
		if a[i].Intersect(b[i]).Len() <= 0 {
			return false
		}
	}
	return true
}

// Unused returns the number of stored chunks of the source of which the target takes
// nothing, and their bytes, if the listing knows their sizes.
func (j *Job) Unused(sources *Table) (chunks, bytes int64) {
	if !slices.ContainsFunc(j.axes, func(a axis) bool { return a.moved }) {
		return 0, 0
	}
	for source := range sources.All() {
		taken := false
		for range j.targetBoxes(source) {
			taken = true
			break
		}
		if !taken {
			chunks++
			bytes += max(0, sources.find(source).size)
		}
	}
	return chunks, bytes
}
