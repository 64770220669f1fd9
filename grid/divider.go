// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// divider cuts shards into inner chunks and collects their lengths.
type divider struct {
	inner         Cut
	edges, stored lister
	both          bool  // encoded lengths are listed, too
	clips         bool  // an inner chunk is stored longer than its edge
	left          int64 // runs of inner chunks that may still be made

	list        []Run  // inner chunks of every shard, if they are listed
	room        [2]Run // holds the result of pieces
	once, whole []Run  // inner chunks of one shard: their edges, their encoded lengths
}

func newDivider(a Axis, inner Cut, both bool) *divider {
	// The budget only stops lists. A step makes at most two runs per shard that add is
	// given, and add is called at most twice per run of shards.
	d := &divider{inner: inner, both: both, left: mostRuns + 4*a.NumRuns()}
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
	d.once, d.whole = d.once[:0], d.whole[:0]
	left := s.edge
	for _, r := range d.pieces(s.stored) {
		if d.left--; d.left < 0 {
			return tooManyRuns()
		}
		// The edge of the shard clips the first inner chunk that reaches beyond it. Those
		// after it begin beyond the edge and are left out.
		full := min(r.Count, left/r.Length)
		left -= full * r.Length
		if full > 0 {
			d.once, d.whole = appendRun(d.once, Run{r.Length, full}), appendRun(d.whole, Run{r.Length, full})
		}
		if full < r.Count && left > 0 {
			d.once, d.whole = appendRun(d.once, Run{left, 1}), appendRun(d.whole, Run{r.Length, 1})
			left, d.clips = 0, true
		}
		if left == 0 {
			break
		}
	}
	if err := d.edges.add(d.once, count); err != nil || !d.both {
		return err
	}
	return d.stored.add(d.whole, count)
}

// pieces returns the inner chunks of a shard with the given encoded length.
func (d *divider) pieces(length int64) []Run {
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
