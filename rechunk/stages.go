// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// stage stages everything that is not staged yet, block by block.
func (w *work) stage(ctx context.Context) error {
	plan, err := w.layout()
	if err != nil {
		return err
	}
	if w.staged {
		if err := w.hold.markers().checkDone(ctx, plan); err != nil {
			return err
		}
	}
	if err := w.listToStage(ctx); err != nil {
		return err
	}
	list, err := w.stale()
	if err != nil || len(list) == 0 {
		return err
	}
	s := w.stager()
	// A resumed rechunk may lack a few chunks only. Making these from the source is
	// cheaper than completing the scratch.
	if len(plan.Stages) > 1 && (len(w.ledger.records) == 0 || !w.readsLittle(list)) {
		if s.Input, err = w.fill(ctx, plan); err != nil {
			return err
		}
		// More may be stale than when the scratch was begun.
		if list, err = w.stale(); err != nil {
			return err
		}
	}
	return w.stageBlocks(ctx, s, plan, list)
}

// stageBlocks stages chunks, block by block, and stores their records.
func (w *work) stageBlocks(ctx context.Context, s *staging.Stager, plan *blocks.Plan, list [][]int64) error {
	p := w.opt.progress(len(plan.Stages), len(plan.Stages), len(w.stock.wanted), len(list))
	return w.stageAll(ctx, s, w.parts(lastBlocks(plan), list), func(ctx context.Context, box grid.Box, records []staging.Record) error {
		// The chunks are stored and synced. Only now a record may say so.
		if err := w.save(ctx, recordsOf(w.hold.at, w.hold.claim.ID), records); err != nil {
			return err
		}
		p.add(box)
		return w.ledger.remember(ctx, box, records)
	})
}

// parts returns the boxes of target chunks that are staged together. They are the blocks
// of which all chunks are to be staged, and single chunks of other blocks.
func (w *work) parts(blocks *grid.Grid, list [][]int64) []grid.Box {
	type block struct {
		box   grid.Box
		stale [][]int64
	}
	found := map[int64]*block{}
	var order []int64
	for _, index := range list {
		c, _ := w.draft.job.Target.Grid.Chunk(index)
		at, _, err := blocks.Locate(c.Start)
		if err != nil {
			continue // impossible: both grids have the same extent
		}
		n := strided.Number(blocks, at)
		b := found[n]
		if b == nil {
			is, _ := blocks.Chunk(at)
			b = new(block)
			b.box, _ = w.draft.job.Target.Grid.Touched(is.Box())
			found[n] = b
			order = append(order, n)
		}
		b.stale = append(b.stale, index)
	}
	slices.Sort(order)
	var parts []grid.Box
	for _, n := range order {
		b := found[n]
		// Without records nothing was staged before, so the block is made as a whole,
		// with its chunks that have only fill values: the latter cost nothing.
		if all, ok := b.box.Len(); ok && all == int64(len(b.stale)) || len(w.ledger.records) == 0 {
			parts = append(parts, b.box)
			continue
		}
		for _, index := range b.stale {
			parts = append(parts, engine.BoxAt(index))
		}
	}
	return parts
}

// level is the scratch that one stage writes.
type level struct {
	scratch *staging.Scratch
	dir     store.Path
	records []staging.Record
	objects *staging.Table // as listed last
	wanted  int            // the number of blocks that have elements

	stage, stages int // the number of the stage, from 1 on
}

// scratch returns the scratch between the stages of a plan.
func (w *work) scratch(plan *blocks.Plan) ([]*level, error) {
	list := make([]*level, len(plan.Stages)-1)
	for k := range list {
		cut, next := plan.Stages[k].Blocks, plan.Stages[k+1].Blocks
		name := scratchName(k, w.hold.claim.HasVersion(), cut, next)
		dir := w.hold.at.Path.MustKey(scratchDir + w.hold.claim.ID + "/" + name + "/-").Dir()
		s, err := staging.NewScratch(w.draft.job.Source, w.hold.at.Store, dir, cut, next)
		if err != nil {
			return nil, err
		}
		list[k] = &level{scratch: s, dir: dir, stage: k + 1, stages: len(plan.Stages)}
	}
	return list, nil
}

// scratchName names the scratch of a stage. The elements have the byte order of this
// machine. If the array grows, blocks before its old end keep their index and, mostly,
// their pieces, so their objects stay: records tell which. They tell it by versions, so
// in a store without them each layout has a name of its own.
func scratchName(stage int, versions bool, cut, next *grid.Grid) string {
	h := sha256.New()
	h.Write(binary.NativeEndian.AppendUint16(nil, 1))
	// Without versions, an object of another layout could pass for one of this layout.
	if !versions {
		fmt.Fprintf(h, " %v %s %v %s", cut.Shape(), cut.AppendConfiguration(nil), next.Shape(), next.AppendConfiguration(nil))
	}
	return fmt.Sprintf("%d-%s", stage, hex.EncodeToString(h.Sum(nil)[:8]))
}

// fewBytes is how many times the bytes of the source the stale chunks may read from it
// before scratch is made.
const fewBytes = 2

// readsLittle reports whether making chunks one by one from the source reads at most
// fewBytes times the source.
func (w *work) readsLittle(list [][]int64) bool {
	units, size := w.draft.job.SourceUnits(), int64(w.draft.job.Source.Engine.Size)
	all, read := logicalBytes(w.draft.job.Source), int64(0)
	for _, index := range list {
		c, ok := w.draft.job.Target.Grid.Chunk(index)
		if !ok {
			continue
		}
		// The bytes of the source units that the chunk touches, each read as a whole.
		n := size
		for i, in := range c.Box() {
			first, _, _ := units.Axis(i).Locate(in.Start)
			last, _, _ := units.Axis(i).Locate(in.Stop - 1)
			from, _ := units.Axis(i).Cell(first)
			to, _ := units.Axis(i).Cell(last)
			n = checked.Capped(n, to.Start+to.Encoded-from.Start)
		}
		if read += n; read < 0 || read/fewBytes > all {
			return false
		}
	}
	return true
}

// fill makes the scratch of all stages. It returns that of the last one, and leaves in
// w.stock.sources the versions that it was made from.
func (w *work) fill(ctx context.Context, plan *blocks.Plan) (*staging.Reading, error) {
	levels, err := w.scratch(plan)
	if err == nil {
		err = w.load(ctx, levels)
	}
	if err != nil {
		return nil, err
	}
	return w.complete(ctx, levels, len(levels)-1)
}

// load reads the records of scratch.
func (w *work) load(ctx context.Context, levels []*level) (err error) {
	for _, l := range levels {
		if l.records, err = loadRecords(ctx, w.hold.at, l.recordsDir(), w.draft.job.Source.Grid.Rank(), w.opt.memory()); err != nil {
			return err
		}
	}
	return nil
}

// complete makes the scratch of stage k, and what that needs.
func (w *work) complete(ctx context.Context, levels []*level, k int) (*staging.Reading, error) {
	l := levels[k]
	for range mostRounds {
		stale, err := w.staleIn(ctx, l)
		if err != nil {
			return nil, err
		}
		if len(stale) == 0 {
			return w.reading(l), nil
		}
		s := w.stager()
		s.Job, s.Output = l.scratch.Job, l.scratch
		// What this stage needs of the stage before is completed first, which may list
		// the source again. So what is stale is found out once more in the next round.
		if k > 0 {
			if s.Input, err = w.complete(ctx, levels, k-1); err != nil {
				return nil, err
			}
		}
		if err := w.make(ctx, s, l, stale); err != nil {
			return nil, err
		}
	}
	return nil, errAgain
}

// reading returns scratch to read from. w.stock.sources has what it was made from.
func (w *work) reading(l *level) *staging.Reading {
	return &staging.Reading{Scratch: l.scratch, Sources: w.stock.sources, Objects: l.objects, Requests: w.requests(), Memory: w.opt.engine()}
}

// staleIn returns the blocks of a level that must be made, as the source is now.
func (w *work) staleIn(ctx context.Context, l *level) (stale [][]int64, err error) {
	if err := w.listSource(ctx); err != nil {
		return nil, err
	}
	if l.objects, err = staging.List(ctx, l.scratch.Target); err != nil {
		return nil, err
	}
	wanted, err := l.scratch.Wanted(w.stock.sources)
	if err != nil {
		return nil, err
	}
	l.wanted = len(wanted)
	// An object whose source chunks have all been erased since is not remade. It has old
	// elements, so forget it: otherwise the next stage would read them.
	l.objects.Keep(wanted)
	return l.scratch.Stale(wanted, w.stock.sources, l.objects, l.scratch.Records(l.records))
}

// recordsDir is the directory of the records of a level.
func (l *level) recordsDir() store.Path { return l.dir.MustKey("records/-").Dir() }

// make makes blocks of a level, and stores their records.
func (w *work) make(ctx context.Context, s *staging.Stager, l *level, stale [][]int64) error {
	p := w.opt.progress(l.stage, l.stages, l.wanted, len(stale))
	var mu sync.Mutex
	return w.stageAll(ctx, s, boxesAt(stale), func(ctx context.Context, box grid.Box, records []staging.Record) error {
		// The objects are durable. A record stored earlier could promise one that a
		// crash has lost.
		if err := w.save(ctx, l.recordsDir(), records); err != nil {
			return err
		}
		p.add(box)
		mu.Lock()
		defer mu.Unlock()
		l.records = append(l.records, records...)
		return nil
	})
}
