// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// planner plans the stages of a draft within the memory.
type planner struct {
	job    *staging.Job
	moves  bool // the planes of an axis move
	opt    Options
	store  store.Store // of the target
	began  []int64     // the shape of the array when the rechunk began, or nil
	size   int64       // of an element
	serial bool        // a task of the plan needs so much memory that only one may run
}

// plan returns the stages of the draft and their blocks. Blocks are boxes whose elements
// fit into the memory of a task. The blocks of the last stage consist of whole target
// chunks, and a single stage reads few chunks of the source twice.
func (p *planner) plan() (*blocks.Plan, error) {
	opt, err := p.blockOptions()
	if err != nil {
		return nil, err
	}
	// Scratch that was made before the array grew stays valid only where the blocks stay.
	if plan := p.grownLayout(opt); plan != nil {
		return plan, nil
	}
	plan, err := blocks.New(p.job.SourceUnits(), p.job.Target.Grid, p.size, p.opt.block(), opt)
	if err == nil && len(plan.Stages) > 1 {
		// A task packs its scratch object beside the elements: twice the block, and what
		// it reads or writes at a time.
		if less, err := blocks.New(p.job.SourceUnits(), p.job.Target.Grid, p.size, p.opt.packingBytes(), opt); err == nil {
			return less, nil
		}
	}
	if err == nil {
		return p.mergeSmallBlocks(plan)
	}
	unfit := (*blocks.FitError)(nil)
	if !errors.As(err, &unfit) {
		return nil, err
	}
	// A chunk that does not fit into the memory of a task may still be copied as it is
	// encoded, which needs no memory for elements.
	if copies, copiesErr := p.job.CopiesAll(); copiesErr != nil || copies {
		if copiesErr != nil {
			return nil, copiesErr
		}
		return p.mergeSmallBlocks(&blocks.Plan{Stages: []blocks.Stage{{Blocks: p.job.Target.Grid}}})
	}
	// One large chunk at a time takes half of the memory, or as much as it needs if the
	// caller has set no limit.
	if most := p.opt.memory() / 2; p.opt.Memory == 0 || unfit.Bytes <= most {
		read := p.job.SourceUnits()
		if opt.Parts != nil {
			read = opt.Parts
		}
		all := max(most, largestChunk(read, p.size), largestChunk(p.job.Target.Grid, p.size))
		plan, err = blocks.New(p.job.SourceUnits(), p.job.Target.Grid, p.size, all, &blocks.Options{Stages: 1, Parts: opt.Parts})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; "+remedy.Memory+" of %dB suffices", zarr.ErrLimit, err, checked.Capped(unfit.Bytes, 2))
	}
	p.serial = true
	return plan, nil
}

// nearAmplification is how many times the bytes of the source one stage may read from a
// near store, in parts of chunks, before several stages are considered.
const nearAmplification = 4

// blockOptions returns how blocks are planned.
func (p *planner) blockOptions() (*blocks.Options, error) {
	// Scratch has elements of fixed width. A moved axis aligns well, except where it is
	// cut.
	if p.job.Target.Type.Variable() || p.moves {
		return &blocks.Options{Stages: 1}, nil
	}
	opt := blocks.Options{Request: engine.RequestBytes(p.store)}
	if p.opt.planning != nil {
		opt = *p.opt.planning
	}
	parts, err := p.sourceParts()
	// Scratch is written and read. A near store reads the same bytes several times from
	// memory meanwhile.
	if parts != nil && opt.Amplification == 0 && engine.Near(p.store) {
		opt.Amplification = nearAmplification
	}
	opt.Parts = parts
	return &opt, err
}

// packingBytes returns the bytes of the elements of a task that packs them.
func (o Options) packingBytes() int64 { return o.block() / 4 * 3 }

// grownLayout returns the stages that were planned when the rechunk began, if the
// array has grown since, and blocks for the new elements. It returns nil if there was one
// stage, or the blocks of the new elements do not fit. Then the layout is that of an
// array which has always had this shape, and scratch that fits it stays by its records.
func (p *planner) grownLayout(opt *blocks.Options) *blocks.Plan {
	shape := p.job.Target.Grid.Shape()
	if len(p.began) != len(shape) || slices.Equal(p.began, shape) || slices.Contains(p.began, 0) {
		return nil
	}
	box := make(grid.Box, len(shape))
	for i, n := range p.began {
		box[i].Stop = n
	}
	units, err := p.job.SourceUnits().Restrict(box)
	if err != nil { // the array has shrunk
		return nil
	}
	target, err := p.job.Target.Grid.Restrict(box)
	if err != nil {
		return nil
	}
	began := *opt
	if opt.Parts != nil {
		if began.Parts, err = opt.Parts.Restrict(box); err != nil {
			return nil
		}
	}
	plan, err := blocks.New(units, target, p.size, p.opt.block(), &began)
	if err != nil || len(plan.Stages) < 2 {
		return nil
	}
	if plan, err = blocks.New(units, target, p.size, p.opt.packingBytes(), &began); err != nil || len(plan.Stages) < 2 {
		return nil
	}
	plan, err = plan.Grown(p.job.SourceUnits(), p.job.Target.Grid, p.size, p.opt.packingBytes(), opt)
	if err != nil {
		return nil
	}
	return plan
}

// lastBlocks returns the blocks of the last stage.
func lastBlocks(plan *blocks.Plan) *grid.Grid { return plan.Stages[len(plan.Stages)-1].Blocks }

// largestChunk returns the bytes of the largest chunk of a grid.
func largestChunk(g *grid.Grid, size int64) int64 {
	for i := range g.Rank() {
		a := g.Axis(i)
		size = checked.Capped(size, max(1, a.Longest(grid.Interval{Stop: a.Chunks()})))
	}
	return size
}

// logicalBytes returns the bytes of all elements of an array.
func logicalBytes(s *snapshot.Array) int64 {
	return checked.Capped(append(s.Grid.Shape(), int64(s.Engine.Size))...)
}

// mostBlocks bounds the small blocks that are staged together: a crash loses what has no
// record yet. enoughTasks remain to show progress, and for processes that share them.
const (
	mostBlocks  = 4096
	enoughTasks = 64
)

// mergeSmallBlocks merges neighbouring blocks of a plan of one stage while they fit
// into the memory of a task: every task costs a record that is synced. It does not
// change plans of several stages, whose blocks are the objects of the scratch.
func (p *planner) mergeSmallBlocks(plan *blocks.Plan) (*blocks.Plan, error) {
	if len(plan.Stages) > 1 {
		return plan, nil
	}
	g := plan.Stages[0].Blocks
	lengths, cuts := make([]int64, g.Rank()), make([]grid.Cut, g.Rank())
	longest := func(a grid.Axis) int64 { return max(1, a.Longest(grid.Interval{Stop: a.Chunks()})) }
	for i := range lengths {
		lengths[i], cuts[i] = longest(g.Axis(i)), cutOf(g.Axis(i))
	}
	all, ok := g.NumChunks()
	if !ok {
		return plan, nil // far more than can be stored
	}
	merged := false
	for i, left := g.Rank()-1, min(mostBlocks, all/enoughTasks); i >= 0; i-- {
		a, most := g.Axis(i), p.opt.block()/max(1, int64(p.job.Target.Engine.Size))
		for k, n := range lengths {
			if k != i {
				most /= n
			}
		}
		// A single large task would show no progress, and could not be shared.
		most = min(most, checked.Capped(left, lengths[i]))
		if most < 2*lengths[i] || a.Chunks() < 2 {
			continue
		}
		to, err := a.MergedUpTo(most)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		cuts[i], merged = cutOf(to), true
		left = max(1, left/max(1, longest(to)/lengths[i]))
		lengths[i] = longest(to)
	}
	if !merged {
		return plan, nil
	}
	g, err := grid.New(g.Shape(), cuts...)
	if err != nil {
		return nil, err
	}
	one := *plan
	one.Stages = []blocks.Stage{plan.Stages[0]}
	one.Stages[0].Blocks = g
	return &one, nil
}

// Chunks that are not compressed are read in parts of at least leastPart bytes. A chunk
// of less than leastParted bytes is read as a whole, as the engine does.
const (
	leastPart   = 16 << 10
	leastParted = 256 << 10
)

// sourceParts returns the units of the source, cut into runs of planes that lie next to
// each other in a stored chunk and can be read without the others. It returns nil if
// chunks are only read as a whole: if they are compressed, sharded or small.
func (p *planner) sourceParts() (*grid.Grid, error) {
	chain, g := p.job.Source.Engine.Chain, p.job.Source.Grid
	if chain.Divided() || !chain.Partial() || !chain.InOrder() || p.job.SourceUnits() != g {
		return nil, nil
	}
	along, plane := partedAxis(g, int64(p.job.Source.Engine.Size))
	if along < 0 {
		return nil, nil
	}
	cuts := make([]grid.Cut, g.Rank())
	for i := range cuts {
		a := g.Axis(i)
		// Planes lie elsewhere in a chunk that has another stored than logical shape.
		if a.IsEncoded() || a.IsTrimmed() {
			return nil, nil
		}
		if cuts[i] = cutOf(a); i == along {
			cuts[i] = partsOf(a, (leastPart+plane-1)/plane)
		}
	}
	return grid.New(g.Shape(), cuts...)
}

// partedAxis returns the axis along which the planes of a chunk lie next to each other,
// with those of all later axes within them, and the bytes of a plane. It returns -1 if
// chunks are small, or have a single element.
func partedAxis(g *grid.Grid, size int64) (axis int, plane int64) {
	bytes := size
	axis = -1
	for i := g.Rank() - 1; i >= 0; i-- {
		a := g.Axis(i)
		if n := a.Longest(grid.Interval{Stop: a.Chunks()}); n > 1 {
			axis, plane = i, bytes
			// Larger products may overflow, and any plane of so many bytes is a part.
			if bytes > leastParted/n {
				bytes = leastParted
			} else {
				bytes *= n
			}
		}
	}
	if bytes < leastParted {
		return -1, 0
	}
	return axis, plane
}

// mostPartRuns bounds the runs of chunks that are cut unequally: every chunk adds two.
const mostPartRuns = 1 << 12

// partsOf cuts the chunks of an axis into parts of at least so many planes. They are
// equal where that makes them little longer. Otherwise the last part of a chunk is
// longer, or the chunk stays whole if there are very many.
func partsOf(a grid.Axis, planes int64) grid.Cut {
	if n := partOf(a.Step(), planes); a.IsRegular() && a.Step()%n == 0 {
		return grid.Every(n)
	}
	var runs []grid.Run
	for r := range a.Edges() {
		n := partOf(r.Length, planes)
		switch {
		case r.Length%n == 0:
			runs = append(runs, grid.Run{Length: n, Count: r.Count * (r.Length / n)})
		case r.Count > mostPartRuns-int64(len(runs)):
			runs = append(runs, r)
		default:
			last := n + r.Length%n
			for range r.Count {
				runs = append(runs, grid.Run{Length: n, Count: r.Length/n - 1}, grid.Run{Length: last, Count: 1})
			}
		}
	}
	return grid.Runs(runs...)
}

// partOf returns the number of planes of a part of a chunk: the least divisor of its
// length up to twice planes, or planes. A chunk of fewer than two parts stays whole.
func partOf(length, planes int64) int64 {
	if length/2 < planes {
		return max(1, length)
	}
	for n := planes; n <= length/2 && n <= 2*planes; n++ {
		if length%n == 0 {
			return n
		}
	}
	return planes
}
