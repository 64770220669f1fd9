// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// region is a box of elements to be stored. Elements outside of the valid shape are not
// there yet. A nil shape is that of the array.
type region struct {
	box   grid.Box
	valid []int64
}

// findRegions returns the elements that are to be stored, in this order.
func (u *update) findRegions() []region {
	var list []region
	valid := commonShape(u.pair.current.Grid, u.pair.planned.Grid)
	for _, box := range joinBoxes(u.pair.planned.Grid, u.difference.changed) {
		list = append(list, region{box, slices.Clone(valid)})
	}
	// New elements, axis by axis: those of one are there when the next one grows.
	for i := range valid {
		box := grid.BoxOf(valid)
		box[i] = grid.Interval{Start: valid[i], Stop: u.pair.planned.Grid.Axis(i).Extent()}
		if n, ok := box.Len(); n > 0 || !ok {
			list = append(list, region{box, slices.Clone(valid)})
		}
		valid[i] = box[i].Stop
	}
	for _, box := range u.difference.recut {
		list = append(list, region{box, nil})
	}
	return list
}

// findRecut returns the boxes of the elements of chunks that are stored in another shape
// than before. Only the last chunk of a calendar is.
func (p *pair) findRecut() []grid.Box {
	var boxes []grid.Box
	all := grid.BoxOf(p.planned.Grid.Shape())
	for i := range all {
		was, is := p.current.Grid.Axis(i), p.planned.Grid.Axis(i)
		k := min(was.Chunks(), is.Chunks()) - 1
		before, _ := was.Cell(k)
		after, ok := is.Cell(k)
		if !ok || before.Start == after.Start && before.Encoded == after.Encoded {
			continue
		}
		box := slices.Clone(all)
		box[i] = grid.Interval{Start: after.Start, Stop: after.Start + after.Logical}
		boxes = append(boxes, box)
	}
	return boxes
}

// countWritten returns how many chunks are written, each as often as it is.
func (u *update) countWritten() (n int, err error) {
	for _, r := range u.difference.regions {
		chunks, err := u.pair.planned.Grid.Touched(r.box)
		if err != nil {
			return 0, err
		}
		k, _ := chunks.Len()
		n += int(k)
	}
	return n, nil
}

// joinBoxes joins boxes of elements that are in the same chunks, so that each chunk is
// written once for them, and then those that lie next to each other along one axis.
func joinBoxes(g *grid.Grid, boxes []grid.Box) []grid.Box {
	if len(boxes) == 0 {
		return nil
	}
	var list []grid.Box
	in := map[string]int{}
	for _, box := range boxes {
		chunks, err := g.Touched(box)
		at, ok := in[fmt.Sprint(chunks)]
		if err != nil || !ok {
			in[fmt.Sprint(chunks)] = len(list)
			list = append(list, slices.Clone(box))
			continue
		}
		// The hull of both boxes may have elements that have not changed. They are in
		// the same chunks, which are read and stored as a whole anyway.
		for i, side := range box {
			list[at][i] = grid.Interval{Start: min(list[at][i].Start, side.Start), Stop: max(list[at][i].Stop, side.Stop)}
		}
	}
	for axis := len(list[0]) - 1; axis >= 0; axis-- {
		list = joinBoxesAlong(axis, list)
	}
	return list
}

func joinBoxesAlong(axis int, boxes []grid.Box) (list []grid.Box) {
	open := map[string]int{} // the last box with the same other sides
	for _, box := range boxes {
		sides := fmt.Sprint(box[:axis], box[axis+1:])
		if at, ok := open[sides]; ok && list[at][axis].Stop == box[axis].Start {
			list[at][axis].Stop = box[axis].Stop
			continue
		}
		open[sides] = len(list)
		list = append(list, box)
	}
	return list
}

// sourceBox returns the elements of the array that is followed of which those of a box
// are made.
func (p *pair) sourceBox(box grid.Box) grid.Box {
	from := slices.Clone(box)
	for i := range from {
		from[i].Start += p.window[i].Start
		from[i].Stop += p.window[i].Start
	}
	return from
}

// addSums adds the elements of a box to the sums of what is copied.
func (u *update) addSums(box grid.Box, e element.Buffer) error {
	if u.difference.strategy != strategyAppend || u.pair.origin.head.Region != nil {
		return nil
	}
	return comparison.BoxSums(u.pair.source, u.pair.source.Grid, box, e, u.pair.current.Fill, func(index []int64, sum residue.Number) {
		n := strided.Number(u.pair.source.Grid, index)
		u.sums.added[n] = u.sums.added[n].Plus(sum)
	})
}

// textBytes is the assumed length of a text.
const textBytes = 1 << 10

// write reads the elements of a region from the array that is followed, and stores them.
func (u *update) write(ctx context.Context, next *snapshot.Array, region grid.Box, how engine.Writing) error {
	limit := u.f.to.opt.block()
	if next.Type.Variable() {
		limit = max(1, limit/textBytes*int64(next.Engine.Size))
	}
	boxes, err := next.Engine.Boxes(region, limit)
	if err != nil {
		return err
	}
	for box := range boxes {
		if err := u.writeBox(ctx, next, box, how); err != nil {
			return err
		}
		how.FirstAlone = false // the first box has stored the chunk at which appends meet
	}
	return ctx.Err()
}

func (u *update) writeBox(ctx context.Context, next *snapshot.Array, box grid.Box, how engine.Writing) error {
	to, err := next.Resolve(selection.BoxOf(box), nil)
	if err != nil {
		return err
	}
	buffer, e, err := staging.Room(to, u.f.to.opt.block())
	if err != nil {
		return err
	}
	defer buffer.Put()
	view, err := to.View(e)
	if err != nil {
		return err
	}
	from, err := u.pair.source.Resolve(selection.BoxOf(u.pair.sourceBox(box)), nil)
	if err != nil {
		return err
	}
	// A chunk that cannot be read may be gone because the source was rechunked or
	// replaced. Then both arrays are compared again.
	if _, err := u.pair.source.Engine.Read(ctx, from.Elements, view, engine.Reading{}); err != nil {
		if err = u.f.source.array.overtaken(ctx, u.pair.source, snapshot.SourceError(err)); errors.Is(err, errAgain) {
			err = errChanged
		}
		return err
	}
	if err := u.addSums(box, e); err != nil {
		return err
	}
	if err := next.Engine.Write(ctx, to.Elements, view, how); err != nil {
		return err
	}
	chunks, err := next.Grid.Touched(box)
	if err == nil {
		n, _ := chunks.Len()
		u.progress.add(chunks)
		u.f.to.ledger.report.Staged.include(Counts{Encoded: n, BytesDecoded: int64(len(e.Data)), BytesEncoded: int64(len(e.Data))})
	}
	return err
}

// replace stores all chunks under other keys: those that stay are linked or copied, and
// what has changed is read. Then it publishes the keys.
func (u *update) replace(ctx context.Context) error {
	// As in a rechunk: claim keys, stage under them, publish them, drop the claim.
	if err := u.occupy(ctx); err != nil {
		return err
	}
	w, err := u.stage(ctx)
	if err != nil {
		return err
	}
	raw, err := w.draft.planned.Doc.Marshal(u.f.to.hold.at.Limits)
	if err != nil {
		return err
	}
	p := newPublication(u.f.to)
	stage := func(ctx context.Context, _ store.Batch) (err error) {
		// After the warning. A process that takes the claim over changes the document
		// too, so this publication fails then.
		if err := u.f.to.hold.check(ctx); err != nil {
			return err
		}
		u.pair.planned = w.draft.planned // its document is the one that the origin names
		if err := u.settle(ctx); err != nil {
			return err
		}
		p.record, err = w.putLineage(ctx, u.pair.current.Doc)
		return err
	}
	err = u.publish(ctx, func(*snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Document: raw, Warn: true, Stage: stage}, w.draft.planned, nil
	})
	if err != nil {
		return err
	}
	return p.finish(ctx)
}

// occupy claims the array, with free keys, or resumes what another call has begun.
func (u *update) occupy(ctx context.Context) error {
	if err := u.f.to.begin(ctx, u.pair.current); err != nil {
		if errors.Is(err, ErrNoKeys) && u.pair.current.Doc.Format() == 2 && u.pair.current.Grid.Rank() < 2 {
			err = errUnfollowed("elements have changed, and the chunks of an array of format 2 with less than two axes have no other keys")
		}
		if errors.Is(err, ErrNoKeys) { // of the array that follows, not of the other one
			err = u.f.to.array.fail(operationFollow, err)
		}
		return err
	}
	if sameKeys(u.f.to.hold.claim.Keys, u.pair.current.Engine.Keys, u.pair.current.Grid.Rank()) {
		return errKeysTaken
	}
	return nil
}

// stage stores all chunks under the claimed keys, and returns the array as it will be.
func (u *update) stage(ctx context.Context) (*work, error) {
	keys := u.f.to.hold.claim.Keys
	w, err := u.stageKept(ctx, keys)
	if err != nil {
		return nil, err
	}
	next, err := u.f.to.array.bind(u.pair.planned.Doc.WithKeyEncoding(keys), u.boundMemory)
	if err != nil {
		return nil, err
	}
	err = publish.Batch(ctx, u.f.to.hold.at.Store, u.f.to.hold.durability, func(ctx context.Context, b store.Batch) error {
		return u.overwrite(ctx, next, b)
	})
	if err != nil {
		return nil, err
	}
	w.draft.planned = next
	w.stock.targets, err = staging.List(ctx, next)
	return w, err
}

// stageKept links or copies all chunks of the part that stays.
func (u *update) stageKept(ctx context.Context, keys metadata.KeyEncoding) (*work, error) {
	g, err := u.pair.current.Grid.Shrunk(commonShape(u.pair.current.Grid, u.pair.planned.Grid))
	if err != nil {
		return nil, err
	}
	doc := u.pair.current.Document().Resized(g.Shape(), snapshot.GridExtension(g, 0))
	source, err := u.f.to.array.bind(doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, u.f.to.opt.engine(), false
	})
	if err != nil {
		return nil, err
	}
	into, err := u.f.to.array.bind(doc.WithKeyEncoding(keys), u.boundMemory)
	if err != nil {
		return nil, err
	}
	job, err := staging.NewJob(source, into, staging.Move{})
	if err != nil {
		return nil, err
	}
	w := newWork(u.f.to, &draft{job: job, old: u.pair.current, planned: into})
	if err := w.stage(ctx); err != nil {
		return nil, err
	}
	// What a stopped call has left must not be taken for elements.
	if err := w.listAll(ctx); err != nil {
		return nil, err
	}
	return w, w.clear(ctx)
}

// overwrite stores what has changed over the chunks that were kept. Those that have
// another shape now cannot be read for it.
func (u *update) overwrite(ctx context.Context, next *snapshot.Array, b store.Batch) error {
	// The copied bytes of these chunks do not decode to their new shape. All their
	// elements are regions to write.
	for _, box := range u.difference.recut {
		chunks, err := next.Grid.Touched(box)
		if err == nil {
			err = next.Engine.Delete(ctx, chunks, b)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range u.difference.regions {
		if err := u.write(ctx, next, r.box, engine.Writing{Batch: b, Valid: r.valid}); err != nil {
			return err
		}
	}
	return nil
}
