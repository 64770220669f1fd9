package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// divider cuts shards into inner chunks.
type divider struct {
	inner         Cut
	edges, stored lister
	both          bool  // stored lengths are listed, too
	clips         bool  // some inner chunk is stored longer than it is
	left          int64 // inner runs that may still be made

	list        []Run // the inner chunks of every shard, where they are listed
	room        [2]Run
	once, whole []Run // those of one shard, as they are and as they are stored
}

func newDivider(a Axis, inner Cut, both bool) *divider {
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

// add adds equal shards.
func (d *divider) add(s shard, count int64) error {
	d.once, d.whole = d.once[:0], d.whole[:0]
	left := s.edge
	for _, r := range d.pieces(s.stored) {
		if d.left--; d.left < 0 {
			return tooManyRuns()
		}
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

// pieces returns the inner chunks of a shard that is stored with the length.
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

// fewRuns is how many runs of a repeated list are written out, since they take less memory than a part of their own.
const fewRuns = 16

// lister makes a list of lists that repeat, without repeating them.
type lister struct {
	open []Run // what is still to be made a part
	list edges
	sum  int64
}

// add appends a list that repeats count times.
func (l *lister) add(once []Run, count int64) error {
	span := int64(0) // that of one shard, which is a number
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
	case len(once) == 1:
		l.open = appendRun(l.open, Run{once[0].Length, once[0].Count * count})
	case count == 1 || count <= int64(fewRuns/len(once)):
		for range count {
			for _, r := range once {
				l.open = appendRun(l.open, r)
			}
		}
	default:
		l.close()
		m, _ := measured(ofRuns(once))
		l.list.append(newTable(m, ofRuns(once)), count)
	}
	return nil
}

// close makes parts of what is open.
func (l *lister) close() {
	if len(l.open) == 0 {
		return
	}
	e, _ := newEdges(ofRuns(l.open)) // the sum is known to fit
	for _, p := range e.parts {
		l.list.append(p.table, p.repeats)
	}
	l.open = l.open[:0]
}

// done returns the list.
func (l *lister) done() (*edges, error) {
	if len(l.list.parts) == 0 {
		return newEdges(ofRuns(l.open))
	}
	l.close()
	l.list.isDivided = true
	return &l.list, nil
}

// NumRuns returns how many runs [Axis.Edges] and [Axis.Encoded] yield, at most; [Axis.Sizes] may have one more. Memory has held about as many
// before, but for an axis of inner chunks ([Axis.Divided]): that may have any number.
func (a Axis) NumRuns() int64 {
	n := min(1, a.chunks)
	if a.IsTrimmed() {
		n = min(2, a.chunks)
	}
	for _, e := range [...]*edges{a.edges, a.stored.list()} {
		if e != nil {
			n = max(n, e.entries())
		}
	}
	return n
}

// listable refuses an axis of inner chunks that has too many runs to go through.
func (a Axis) listable() error {
	for _, e := range [...]*edges{a.edges, a.stored.list()} {
		if e != nil && e.isDivided && e.entries() > mostRuns {
			return tooManyRuns()
		}
	}
	return nil
}

// list returns the lengths that are listed, nil where none are.
func (s *stored) list() *edges {
	if s == nil {
		return nil
	}
	return s.edges
}
