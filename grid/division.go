// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// divided is [Grid.Divided] for one axis.
func (a Axis) divided(inner Cut) (Axis, error) {
	step, err := a.innerStep(inner)
	if err != nil {
		return Axis{}, err
	}
	if step > 0 {
		// If the step divides all edges, shards make no difference to the boundaries.
		_, _, off := Axis{step: a.step, edges: a.edges}.firstStored(func(edge int64) bool { return edge%step != 0 })
		if !off {
			return NewAxis(a.extent, Every(step))
		}
	}
	return a.listed(inner, step)
}

// innerStep checks that the cut fits all shards. It returns the length that all inner
// chunks share, or 0 if they differ.
func (a Axis) innerStep(inner Cut) (int64, error) {
	switch {
	case inner.err != nil:
		return 0, inner.err
	case inner.encoded != nil:
		return 0, invalid("inner chunks have no encoded lengths")
	case inner.edges != nil:
		return a.listedStep(inner.edges)
	case inner.step < 1:
		return 0, invalid("inner chunk length must be at least 1, got %d", inner.step)
	}
	step := inner.step
	// No inner chunk is longer than its shard.
	if inner.trimmed && a.stored == nil && a.step > 0 {
		step = min(step, a.step)
	}
	err := a.MultipleOf(step)
	// Shards that are no multiple of the step end with a clipped inner chunk.
	if err != nil && inner.trimmed {
		return 0, nil
	}
	return step, err
}

// listedStep is innerStep for a list of inner chunks.
func (a Axis) listedStep(e *edges) (int64, error) {
	if cell, length, found := a.firstStored(func(length int64) bool { return length != e.sum }); found {
		return 0, invalid("inner chunks sum to %d and have to fill every shard exactly, shard %d is stored with %s", e.sum, cell, quantity.Count(length, "elements"))
	}
	// A list of equal lengths is the same as a step.
	length := e.stretches[0].run(0).Length
	if _, _, differs := e.first(func(n int64) bool { return n != length }); differs {
		return 0, nil
	}
	return length, nil
}

// Divided returns the grid of inner chunks for a grid whose chunks are shards, with one
// cut per axis. Each shard is cut from its own first element on. Each inner chunk lies in
// exactly one chunk of g: the one that holds its first element. The shape stays the same
// and clips the inner chunks, as in any grid. zarr-python calls their lengths
// read_chunk_sizes.
//
//   - [Every] must divide the encoded length of each shard ([Axis.MultipleOf]). If it
//     divides the edges too, the axis is regular.
//   - [EveryTrimmed] clips the last inner chunk of each shard at the end of the shard.
//     Shards of 10 with inner chunks of 8 give 8, 2, 8, 2. This is an experiment
//     (zarr-specs pull request 370).
//   - [Edges] and [Runs] list the inner chunks of one shard. They must sum to the encoded
//     length of every shard. This is an experiment, too.
//
// If shards are stored longer than their edges ([Cut.EncodedAs]), the inner chunks cover
// all that is stored. An inner chunk that reaches beyond the edge is clipped on the axis
// but stored whole. One that begins beyond the edge has no place on the axis and is left
// out.
//
// Memory is proportional to the number of runs of equal shards, not to that of shards.
// The result may have more runs than fit into memory ([Axis.NumRuns]). Operations that
// need all of them return an error that wraps [ErrUnsupported].
//
// The result is regular if one step runs through all shards along every axis, otherwise
// rectilinear. To get the inner chunks of a single shard, divide a grid of the shard's
// shape that has one chunk.
//
// Divided returns an error that wraps [ErrInvalid] if inner does not fit the shards,
// and names the axis, and [ErrOverflow] if the last shard ends beyond the largest
// int64. It returns an error that wraps [ErrUnsupported] if a long list cuts many
// shards of different lengths, or if the shards themselves have too many runs and inner
// is not a step that divides every edge.
func (g *Grid) Divided(inner ...Cut) (*Grid, error) {
	if len(inner) != len(g.axes) {
		return nil, invalid("the inner chunks have %s, the shards have %d", quantity.Count(len(inner), "axes"), len(g.axes))
	}
	axes, err := eachAxis(len(inner), func(i int) (Axis, error) { return g.axes[i].divided(inner[i]) })
	if err != nil {
		return nil, err
	}
	return (&Grid{name: regularName}).recut(axes)
}

// listed lists the inner chunks of all shards. A step above 0 is the length that all
// inner chunks are stored with.
func (a Axis) listed(inner Cut, step int64) (Axis, error) {
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	d := newDivider(a, inner, a.IsEncoded() && step == 0)
	for s, count := range a.shards() {
		if err := d.add(s, count); err != nil {
			return Axis{}, err
		}
	}
	e, err := d.edges.done()
	if err != nil {
		return Axis{}, err
	}
	b, err := boundAxis(a.extent, e)
	// Encoded lengths differ from the edges only if a shard's edge clips an inner chunk.
	if err != nil || !d.clips {
		return b, err
	}
	if step > 0 {
		b.stored = &stored{step: step}
		return b, nil
	}
	e, err = d.stored.done()
	b.stored = &stored{edges: e}
	return b, err
}

// shards yields the shards with the number of equal neighbours. An axis without chunks
// yields one shard, because a list needs at least one edge.
func (a Axis) shards() iter.Seq2[shard, int64] {
	return func(yield func(shard, int64) bool) {
		// An axis needs an edge even if it has no elements.
		if a.chunks == 0 && a.edges == nil {
			a = Axis{extent: 1, step: a.step, chunks: 1, stored: a.stored.untrimmed()}
		}
		if a.stored == nil {
			for r := range a.Edges() {
				if !yield(shard{r.Length, r.Length}, r.Count) {
					return
				}
			}
			return
		}
		// Walk the edges and the encoded lengths side by side, up to the end of the
		// shorter run.
		next, stop := iter.Pull(a.Encoded())
		defer stop()
		var s Run
		for r := range a.Edges() {
			// One run of edges may span several runs of encoded lengths, and the other
			// way round.
			for r.Count > 0 {
				if s.Count == 0 {
					s, _ = next()
				}
				n := min(r.Count, s.Count)
				// A trimmed last chunk is stored shorter than the step.
				if r.Count, s.Count = r.Count-n, s.Count-n; !yield(shard{min(r.Length, s.Length), s.Length}, n) {
					return
				}
			}
		}
	}
}

// divider cuts shards into inner chunks and collects their lengths.
type divider struct {
	inner         Cut
	edges, stored lister
	encodes       bool  // encoded lengths are listed, too
	clips         bool  // an inner chunk is stored longer than its edge
	left          int64 // runs of inner chunks that may still be made

	list            []Run  // inner chunks of every shard, if they are listed
	room            [2]Run // holds the result of cutShard
	pieces, encoded []Run  // inner chunks of one shard: their edges, their encoded lengths
}

func newDivider(a Axis, inner Cut, encodes bool) *divider {
	// The budget only stops lists. A step makes at most two runs per shard that add is
	// given, and add is called at most twice per run of shards.
	d := &divider{inner: inner, encodes: encodes, left: mostRuns + 4*a.NumRuns()}
	if inner.edges != nil {
		d.list = slices.Collect(Axis{edges: inner.edges}.Edges())
		d.left += int64(len(d.list))
		return d
	}
	if a.edges != nil && !a.edges.isDivided {
		d.edges.open = make([]Run, 0, 2*a.NumRuns())
	}
	return d
}

// add appends the inner chunks of count equal shards.
func (d *divider) add(s shard, count int64) error {
	d.pieces, d.encoded = d.pieces[:0], d.encoded[:0]
	left := s.edge
	for _, r := range d.cutShard(s.stored) {
		if d.left--; d.left < 0 {
			return tooManyRuns()
		}
		// The edge of the shard clips the first inner chunk that reaches beyond it. Those
		// after it begin beyond the edge and are left out.
		full := min(r.Count, left/r.Length)
		left -= full * r.Length
		if full > 0 {
			d.pieces, d.encoded = appendRun(d.pieces, Run{r.Length, full}), appendRun(d.encoded, Run{r.Length, full})
		}
		if full < r.Count && left > 0 {
			d.pieces, d.encoded = appendRun(d.pieces, Run{left, 1}), appendRun(d.encoded, Run{r.Length, 1})
			left, d.clips = 0, true
		}
		if left == 0 {
			break
		}
	}
	if err := d.edges.add(d.pieces, count); err != nil || !d.encodes {
		return err
	}
	return d.stored.add(d.encoded, count)
}

// cutShard returns the inner chunks of a shard with the given encoded length.
func (d *divider) cutShard(length int64) []Run {
	if d.list != nil {
		return d.list
	}
	n := d.inner.step
	d.room = [2]Run{{n, length / n}, {length % n, 1}}
	switch {
	case length < n:
		return d.room[1:]
	case length%n == 0:
		return d.room[:1]
	}
	return d.room[:]
}

// fewRuns is the number of runs up to which a repeated list is written out. That takes
// less memory than a stretch of its own.
const fewRuns = 16

// lister joins lists that repeat, without expanding the repetitions.
type lister struct {
	open []Run // runs that are not yet in a stretch
	list edges
	sum  int64
}

// add appends a list count times. The list itself does not overflow int64.
func (l *lister) add(once []Run, count int64) error {
	span := int64(0) // length of one shard
	for _, r := range once {
		span += r.Length * r.Count
	}
	span, ok := checked.Mul(span, count)
	if ok {
		l.sum, ok = checked.Add(l.sum, span)
	}
	switch {
	case !ok:
		return ErrOverflow
	// Equal inner chunks are a run, however many shards have them.
	case len(once) == 1:
		l.open = appendRun(l.open, Run{once[0].Length, once[0].Count * count})
	// A few runs are cheaper than a stretch.
	case count == 1 || count <= int64(fewRuns/len(once)):
		for range count {
			for _, r := range once {
				l.open = appendRun(l.open, r)
			}
		}
	// A longer list becomes a stretch that repeats once per shard.
	default:
		l.close()
		m, _ := measured(ofRuns(once))
		l.list.append(newTable(m, ofRuns(once)), count)
	}
	return nil
}

// close turns the open runs into stretches.
func (l *lister) close() {
	if len(l.open) == 0 {
		return
	}
	e, _ := newEdges(ofRuns(l.open)) // the sum was checked by add
	for _, p := range e.stretches {
		l.list.append(p.table, p.repeats)
	}
	l.open = l.open[:0]
}

// done returns the joined list.
func (l *lister) done() (*edges, error) {
	if len(l.list.stretches) == 0 {
		return newEdges(ofRuns(l.open))
	}
	l.close()
	// The counts of shards are arbitrary, so iterating over the list may take too long.
	l.list.isDivided = true
	return &l.list, nil
}

// shard is a cell to be divided: its edge and its encoded length, in elements.
type shard struct{ edge, stored int64 }

const (
	// mostDivisors is the number of lengths that an error suggests.
	mostDivisors = 5
	// mostTrials bounds the search for divisors. It finds all divisors of numbers up to
	// its square.
	mostTrials = 1 << 16
)

// MultipleOf returns nil if the encoded length of every cell is a multiple of n elements.
// The sharding codec requires this of shards with inner chunks of n. Cells beyond the
// extent count, and so does the step of a regular axis without cells. An axis without
// edges ([Edges]) only fits inner chunks of 1. The time it takes depends on the number of
// lengths in memory, not on how often they repeat.
//
// Otherwise MultipleOf returns an error that wraps [ErrInvalid]. It names the first cell
// at fault and suggests lengths that fit. The error also wraps [ErrInvalid] if n is below
// 1.
//
// Sources: zarr-specs v3, sharding_indexed; zarr-python 3.4.1 for cells beyond the
// extent.
func (a Axis) MultipleOf(n int64) error {
	if n < 1 {
		return invalid("inner chunk length must be at least 1, got %d", n)
	}
	// Other programs see the placeholder, which is no multiple of n.
	if n > 1 && a.edges != nil && a.edges.cells == 0 {
		return invalid("an axis of shards without elements needs an edge: declare one that is a multiple of %d", n)
	}
	cell, length, found := a.firstStored(func(length int64) bool { return length%n != 0 })
	if !found {
		return nil
	}
	// divisor becomes the greatest common divisor of the lengths. Its divisors fit all
	// shards.
	var divisor int64
	a.firstStored(func(length int64) bool { divisor = gcd(divisor, length); return divisor == 1 })
	return invalid("shard %d is stored with %s, which inner chunks of %d do not divide: shards of %s would do, or inner chunks of %s, "+
		"which divide all shards; inner chunks that are clipped at the end of a shard are an experiment",
		cell, quantity.Count(length, "elements"), n, alternatives(neighbours(length, n)), alternatives(divisors(divisor, n)))
}

// firstStored returns the first cell whose encoded length is wanted. It calls wanted once
// for every entry in memory, however often that repeats.
func (a Axis) firstStored(wanted func(length int64) bool) (cell, length int64, found bool) {
	s := a.stored
	switch {
	case s != nil && s.edges != nil:
		return s.edges.first(wanted)
	case a.edges != nil && s == nil:
		return a.edges.first(wanted)
	case s != nil && !s.trimmed:
		return 0, s.step, wanted(s.step)
	case wanted(a.step):
		return 0, a.step, true
	}
	// Only the last chunk of a trimmed axis has another length than the step.
	rest := a.extent % a.step
	return a.chunks - 1, rest, a.IsTrimmed() && rest > 0 && wanted(rest)
}

// first returns the first cell whose length is wanted.
func (e *edges) first(wanted func(length int64) bool) (cell, length int64, found bool) {
	for i := range e.stretches {
		p := &e.stretches[i]
		for r := range p.entries() {
			if n := p.run(r).Length; wanted(n) {
				cell = int64(r)
				if p.table.first != nil {
					cell = p.table.first[r]
				}
				return p.index + cell, n, true
			}
		}
	}
	return 0, 0, false
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// neighbours returns the multiples of n next to length, which must not be one itself.
func neighbours(length, n int64) []int64 {
	var near []int64
	if below := length - length%n; below > 0 {
		near = append(near, below)
	}
	if above, ok := checked.Add(length, n-length%n); ok {
		near = append(near, above)
	}
	return near
}

// divisors returns the divisors of number that are nearest to n, in ascending order.
func divisors(number, n int64) []int64 {
	var all []int64
	for d := int64(1); d <= mostTrials && d <= number/d; d++ {
		if number%d == 0 {
			all = append(all, d)
			if d != number/d {
				all = append(all, number/d)
			}
		}
	}
	slices.SortFunc(all, func(a, b int64) int { return cmp.Or(cmp.Compare(max(a-n, n-a), max(b-n, n-b)), cmp.Compare(a, b)) })
	all = all[:min(len(all), mostDivisors)]
	slices.Sort(all)
	return all
}

// alternatives formats numbers as "1, 3 or 5".
func alternatives(numbers []int64) string {
	text := make([]string, len(numbers))
	for i, n := range numbers {
		text[i] = strconv.FormatInt(n, 10)
	}
	if len(text) < 2 {
		return strings.Join(text, "")
	}
	last := len(text) - 1
	return strings.Join(text[:last], ", ") + " or " + text[last]
}
