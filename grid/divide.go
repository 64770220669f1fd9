package grid

import "iter"

// Divided returns the axis of the inner chunks that there are when every cell, as it is stored, is a shard that is cut by inner, from
// its own start on. The extent stays, and clips chunks as on any axis (zarr-python's read_chunk_sizes).
//
//   - [Every] has to divide each shard ([Axis.MultipleOf]). Inner chunks then follow each other in one step through all shards.
//   - [EveryTrimmed] clips the last inner chunk of a shard at the shard's end (an experiment, zarr-specs pull request 370): shards
//     of 10 in inner chunks of 8 are 8, 2, 8, 2.
//   - [Edges] and [Runs] list the inner chunks of one shard (an experiment); their sum is what each shard is stored with.
//
// Where shards are stored longer than their edges ([Cut.EncodedAs]) inner chunks cover what is stored. One that holds some
// elements of the array is as long as these and stored whole; those that hold none have no place on the axis and are left out.
//
// The result takes memory in proportion to the runs of the shards, however many shards there are, so it may have more runs than memory
// holds ([Axis.NumRuns]); what needs all of them wraps [ErrUnsupported]. So does dividing an axis with that many runs, unless
// by a step, and cutting many shards of different edges by a long list. What does not fit wraps [ErrInvalid]; a last shard that
// ends beyond 64 bits is [ErrOverflow].
func (a Axis) Divided(inner Cut) (Axis, error) {
	step, err := a.innerStep(inner)
	if err != nil {
		return Axis{}, err
	}
	if step > 0 {
		_, _, off := Axis{step: a.step, edges: a.edges}.firstStored(func(edge int64) bool { return edge%step != 0 })
		if !off {
			return NewAxis(a.extent, Every(step))
		}
	}
	return a.divided(inner, step)
}

// innerStep checks whether the cut fits all shards, and returns the length that all inner chunks have in common, 0 where there is none.
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
	if inner.trimmed && a.stored == nil && a.step > 0 {
		step = min(step, a.step)
	}
	err := a.MultipleOf(step)
	if err != nil && inner.trimmed {
		return 0, nil
	}
	return step, err
}

// listedStep is innerStep for a list.
func (a Axis) listedStep(e *edges) (int64, error) {
	if cell, length, found := a.firstStored(func(length int64) bool { return length != e.sum }); found {
		return 0, invalid("inner chunks sum to %d and have to fill every shard exactly, shard %d is stored with %d elements", e.sum, cell, length)
	}
	length := e.parts[0].run(0).Length
	if _, _, differs := e.first(func(n int64) bool { return n != length }); differs {
		return 0, nil
	}
	return length, nil
}

// Divided returns the grid of inner chunks over the whole array when every chunk of g is a shard that is cut by inner, one cut an axis
// ([Axis.Divided]). Each of its cells lies in exactly one chunk of g, the one that holds the cell's first element. It is regular
// where inner chunks follow each other in one step along every axis, else rectilinear. The inner chunks of one shard are those of an
// array of its shape with one chunk. Errors are those of [Axis.Divided] and name the axis.
func (g *Grid) Divided(inner ...Cut) (*Grid, error) {
	if len(inner) != len(g.axes) {
		return nil, invalid("the inner chunks have %d axes, the shards have %d", len(inner), len(g.axes))
	}
	axes := make([]Axis, len(inner))
	for i, a := range g.axes {
		var err error
		if axes[i], err = a.Divided(inner[i]); err != nil {
			return nil, onAxis(i, err)
		}
	}
	return (&Grid{name: RegularName}).recut(axes)
}

// divided lists the inner chunks of all shards. They are stored with one length where step says so.
func (a Axis) divided(inner Cut, step int64) (Axis, error) {
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

// shard is a cell that is to be divided.
type shard struct{ edge, stored int64 }

// shards yields all shards, equal neighbours together. An axis that needs an edge has at least one.
func (a Axis) shards() iter.Seq2[shard, int64] {
	return func(yield func(shard, int64) bool) {
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
		next, stop := iter.Pull(a.Encoded())
		defer stop()
		var s Run
		for r := range a.Edges() {
			for r.Count > 0 {
				if s.Count == 0 {
					s, _ = next()
				}
				n := min(r.Count, s.Count)
				if r.Count, s.Count = r.Count-n, s.Count-n; !yield(shard{min(r.Length, s.Length), s.Length}, n) {
					return
				}
			}
		}
	}
}

// untrimmed returns the lengths of an axis that has no chunk to trim.
func (s *stored) untrimmed() *stored {
	if s == trimmed {
		return nil
	}
	return s
}
