// SPDX-License-Identifier: Apache-2.0

package grid

import "iter"

// Divided returns the axis of inner chunks for an axis whose cells are shards. Each shard
// is cut by inner from its own first element on. The extent stays the same and clips the
// inner chunks, as on any axis. zarr-python calls their lengths read_chunk_sizes.
//
//   - [Every] must divide the encoded length of each shard ([Axis.MultipleOf]). If it
//     divides the edges too, the result is regular.
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
// Divided returns an error that wraps [ErrInvalid] if inner does not fit the shards, and
// [ErrOverflow] if the last shard ends beyond the largest int64. It returns an error that
// wraps [ErrUnsupported] if a long list cuts many shards of different lengths, or if
// the shards themselves have too many runs and inner is not a step that divides every
// edge.
func (a Axis) Divided(inner Cut) (Axis, error) {
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
	return a.divided(inner, step)
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
		return 0, invalid("inner chunks sum to %d and have to fill every shard exactly, shard %d is stored with %d elements", e.sum, cell, length)
	}
	// A list of equal lengths is the same as a step.
	length := e.stretches[0].run(0).Length
	if _, _, differs := e.first(func(n int64) bool { return n != length }); differs {
		return 0, nil
	}
	return length, nil
}

// Divided returns the grid of inner chunks for a grid whose chunks are shards, with one
// cut per axis ([Axis.Divided]). Each inner chunk lies in exactly one chunk of g: the one
// that holds its first element. The result is regular if one step runs through all shards
// along every axis, otherwise rectilinear.
//
// To get the inner chunks of a single shard, divide a grid of the shard's shape that has
// one chunk. Errors are those of [Axis.Divided] and name the axis.
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

// divided lists the inner chunks of all shards. A step above 0 is the length that all
// inner chunks are stored with.
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
