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
)

// layout returns the stages of the work and their blocks. Blocks are boxes whose elements
// fit into the memory of a task. The blocks of the last stage consist of whole target
// chunks, and a single stage reads few chunks of the source twice.
func (w *work) layout() (*blocks.Plan, error) {
	size := int64(w.Target.Engine.Size)
	opt, err := w.blockOptions()
	if err != nil {
		return nil, err
	}
	if plan := w.grownLayout(size, opt); plan != nil {
		return plan, nil
	}
	plan, err := blocks.New(w.SourceUnits(), w.Target.Grid, size, w.block(), opt)
	if err == nil && len(plan.Stages) > 1 {
		// A task packs its scratch object beside the elements: twice the block, and what
		// it reads or writes at a time.
		if less, err := blocks.New(w.SourceUnits(), w.Target.Grid, size, w.packing(), opt); err == nil {
			return less, nil
		}
	}
	if err == nil {
		return w.gathered(plan)
	}
	unfit := (*blocks.FitError)(nil)
	if !errors.As(err, &unfit) {
		return nil, err
	}
	// Copying needs no memory for elements.
	if copies, copiesErr := w.CopiesAll(); copiesErr != nil || copies {
		if copiesErr != nil {
			return nil, copiesErr
		}
		return w.gathered(&blocks.Plan{Stages: []blocks.Stage{{Blocks: w.Target.Grid}}})
	}
	// One large chunk at a time takes half of the memory, or as much as it needs if the
	// caller has set no limit.
	if most := w.memory() / 2; w.Memory == 0 || unfit.Bytes <= most {
		read := w.SourceUnits()
		if opt.Parts != nil {
			read = opt.Parts
		}
		all := max(most, largest(read, size), largest(w.Target.Grid, size))
		plan, err = blocks.New(w.SourceUnits(), w.Target.Grid, size, all, &blocks.Options{Stages: 1, Parts: opt.Parts})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; Options.Memory of %dB suffices", zarr.ErrLimit, err, product(unfit.Bytes, 2))
	}
	w.session.single = true
	return plan, nil
}

// nearAmplification is how many times the bytes of the source one stage may read from a
// near store, in parts of chunks, before several stages are considered.
const nearAmplification = 4

// blockOptions returns how blocks are planned.
func (w *work) blockOptions() (*blocks.Options, error) {
	// Scratch has elements of fixed width. A moved axis aligns well, except where it is
	// cut.
	if w.Target.Type.Variable() || !w.move.IsZero() {
		return &blocks.Options{Stages: 1}, nil
	}
	opt := blocks.Options{Request: engine.RequestBytes(w.at.Store)}
	if w.planning != nil {
		opt = *w.planning
	}
	parts, err := w.sourceParts()
	// Scratch is written and read. A near store reads the same bytes several times from
	// memory meanwhile.
	if parts != nil && opt.Amplification == 0 && engine.Near(w.at.Store) {
		opt.Amplification = nearAmplification
	}
	opt.Parts = parts
	return &opt, err
}

// packing returns the bytes of the elements of a task that packs them.
func (o Options) packing() int64 { return o.block() / 4 * 3 }

// grownLayout returns the stages that were planned when the rechunk began, if the
// array has grown since, and blocks for the new elements. It returns nil if there was one
// stage, or the blocks of the new elements do not fit. Then the layout is that of an
// array which has always had this shape, and scratch that fits it stays by its records.
func (w *work) grownLayout(size int64, opt *blocks.Options) *blocks.Plan {
	shape := w.Target.Grid.Shape()
	if len(w.began) != len(shape) || slices.Equal(w.began, shape) || slices.Contains(w.began, 0) {
		return nil
	}
	box := make(grid.Box, len(shape))
	for i, n := range w.began {
		box[i].Stop = n
	}
	units, err := w.SourceUnits().Restrict(box)
	if err != nil { // the array has shrunk
		return nil
	}
	target, err := w.Target.Grid.Restrict(box)
	if err != nil {
		return nil
	}
	began := *opt
	if opt.Parts != nil {
		if began.Parts, err = opt.Parts.Restrict(box); err != nil {
			return nil
		}
	}
	plan, err := blocks.New(units, target, size, w.block(), &began)
	if err != nil || len(plan.Stages) < 2 {
		return nil
	}
	if plan, err = blocks.New(units, target, size, w.packing(), &began); err != nil || len(plan.Stages) < 2 {
		return nil
	}
	plan, err = plan.Grown(w.SourceUnits(), w.Target.Grid, size, w.packing(), opt)
	if err != nil {
		return nil
	}
	return plan
}

// last returns the blocks of the last stage.
func last(plan *blocks.Plan) *grid.Grid { return plan.Stages[len(plan.Stages)-1].Blocks }

// numberOf returns the number of a block, or task, in C order.
func numberOf(blocks *grid.Grid, index []int64) int64 {
	n := int64(0)
	for i, k := range index {
		n = n*blocks.Axis(i).Chunks() + k
	}
	return n
}

// largest returns the bytes of the largest chunk of a grid.
func largest(g *grid.Grid, size int64) int64 {
	for i := range g.Rank() {
		a := g.Axis(i)
		size = product(size, max(1, a.Longest(grid.Interval{Stop: a.Chunks()})))
	}
	return size
}

// product multiplies lengths, and returns the largest int64 if that overflows.
func product(a, b int64) int64 {
	if n, ok := checked.Mul(a, b); ok {
		return n
	}
	return 1<<63 - 1
}
