// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// update is what is to be done for one state of both arrays.
type update struct {
	f       *follower
	from    *snapshot.Array // the array that is followed
	now     *snapshot.Array // the array that follows
	next    *snapshot.Array // the array that follows, as it will be, with its present keys
	made    *origin         // of now
	window  grid.Box        // the part of from that is followed
	sources *staging.Table  // the stored chunks of from that have elements of the window
	changed []grid.Box      // of elements of now that differ

	seen     *staging.Sightings // what was read of from
	progress *progress
	// known are the sums of chunks of the origin, by number, as they are now. added are
	// those of the elements that an append has copied, by the number of the chunk of
	// from.
	known, added map[int64]residue.Number
}

// compare finds out what has changed since the last time. The context that it returns is
// that of all later reads.
func (f *follower) compare(ctx context.Context) (context.Context, *update, error) {
	u := &update{f: f, added: map[int64]residue.Number{}}
	ctx, u.seen = staging.Witnessing(ctx, func(key store.Key) bool {
		index, ok := staging.IndexOf(u.from, key)
		return !ok || u.sources == nil || u.sources.Has(index)
	})
	return ctx, u, u.look(ctx)
}

func (u *update) look(ctx context.Context) error {
	f := u.f
	var err error
	if u.now, err = f.Fresh(ctx); err != nil {
		return err
	}
	if u.made, err = readOrigin(ctx, f.at, u.now, f.memory()); err != nil {
		// Another call may have published, and deleted the origin of before.
		if now, freshErr := f.Fresh(ctx); freshErr == nil && now.Version != u.now.Version {
			return errChanged
		}
		return err
	}
	if name := f.source.originName(); u.made.Source != name {
		return fmt.Errorf("%w: it follows %.80q, not %.80q; choose another place, or remove it (zarr.Delete)", zarr.ErrInvalidArgument, u.made.Source, name)
	}
	if u.made.Adapt {
		f.Bind = f.BindAdapting
	}
	if err := u.pin(ctx); err != nil {
		return err
	}
	if u.window, err = f.windowOf(u.from, u.made.Region); err != nil {
		return err
	}
	doc, err := f.nextDocument(u)
	if err != nil {
		return err
	}
	if u.next, err = f.Bind(doc, nil); err != nil {
		return fmt.Errorf("the new grid: %w", err)
	}
	if err := checkLargest(u.next); err != nil {
		return err
	}
	if u.sources, err = u.list(ctx, u.from); err != nil {
		return err
	}
	if err := checkVersions(u.sources); err != nil {
		return err
	}
	return u.findChanges(ctx)
}

// pin takes the present state of the array that is followed, and notes what is read of
// it.
func (u *update) pin(ctx context.Context) error {
	now, err := u.f.source.Fresh(ctx)
	if err != nil {
		return err
	}
	u.from, err = u.f.source.Bind(now.Doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, u.f.engine(), false
	})
	if err == nil {
		u.from.Version = now.Version
	}
	return err
}

// windowOf returns the part of an array that is followed.
func (f *follower) windowOf(from *snapshot.Array, region grid.Box) (grid.Box, error) {
	asked := bare(f.source.request).(Rechunking).Region
	if asked != nil && !slices.Equal(asked, region) {
		return nil, fmt.Errorf("%w: it follows the region %v: leave the region out, or remove it (zarr.Delete) and follow again", zarr.ErrInvalidArgument, region)
	}
	window, err := Rechunking{Region: region}.windowOf(from.Grid.Shape())
	if window == nil {
		window = grid.BoxOf(from.Grid.Shape())
	}
	return window, err
}

// list lists the stored chunks that have elements of the window.
func (u *update) list(ctx context.Context, from *snapshot.Array) (*staging.Table, error) {
	chunks, err := staging.List(ctx, from)
	if err != nil {
		return nil, err
	}
	return chunks, keepWithin(chunks, from.Grid, u.made.Region)
}

// bounded bounds the memory of writing.
func (u *update) bounded(e *engine.Array) { e.Budget = u.f.engine() }

// inSource returns the elements of the array that is followed of which those of a box are
// made.
func (u *update) inSource(box grid.Box) grid.Box {
	from := slices.Clone(box)
	for i := range from {
		from[i].Start += u.window[i].Start
		from[i].Stop += u.window[i].Start
	}
	return from
}

// grows reports whether all that happens to the array is that one axis gets longer.
func (u *update) grows() bool {
	if len(u.changed) > 0 || len(u.recut()) > 0 {
		return false
	}
	longer := 0
	for i, n := range u.next.Grid.Shape() {
		switch was := u.now.Grid.Axis(i).Extent(); {
		case n < was:
			return false
		case n > was:
			longer++
		}
	}
	return longer == 1
}

// strategy returns how the update is published.
func (u *update) strategy() string {
	switch {
	case u.grows():
		return appends
	case len(u.changed) == 0 && u.next.Grid.Equal(u.now.Grid):
		return relabels
	}
	return flips
}

// recut returns the boxes of the elements of chunks that are stored in another shape than
// before. Only the last chunk of a calendar is.
func (u *update) recut() []grid.Box {
	var boxes []grid.Box
	all := grid.BoxOf(u.next.Grid.Shape())
	for i := range all {
		was, is := u.now.Grid.Axis(i), u.next.Grid.Axis(i)
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

// run publishes what has changed.
func (u *update) run(ctx context.Context) error {
	u.f.report.Strategy = u.strategy()
	if u.f.report.Strategy == relabels {
		return u.renew(ctx)
	}
	doc, err := withOrigin(u.next.Doc, u.made.Source)
	if err != nil {
		return err
	}
	if u.next, err = u.f.Bind(doc, u.bounded); err != nil {
		return err
	}
	change, stages := u.append, 1
	if u.f.report.Strategy == flips {
		change, stages = u.replace, 2 // after the chunks that are kept
	}
	n, err := u.written()
	if err != nil {
		return err
	}
	u.progress = u.f.progress(stages, stages, n, n)
	if err := change(ctx); err != nil {
		return err
	}
	if err := u.forget(store.Finishing(ctx)); err != nil {
		return fmt.Errorf("%w: %w", publish.ErrIncomplete, err)
	}
	return nil
}

// forget deletes the origins that no document names any more.
func (u *update) forget(ctx context.Context) error {
	identity, err := documentIdentity(u.next.Doc, u.f.Node.Limits)
	if err != nil {
		return err
	}
	id, err := originID(u.next.Doc, identity)
	if err != nil {
		return err
	}
	return removeOrigins(ctx, u.f.at, u.made, id)
}

// renew notes the versions of chunks that were stored again with the same elements.
func (u *update) renew(ctx context.Context) error {
	o, err := u.nextOrigin(ctx)
	if err != nil || o.equal(u.made) {
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	return againIf(replaceOrigin(ctx, u.f.at, o, u.made, u.f.Node.Durability))
}

// append stores new elements as an append does.
func (u *update) append(ctx context.Context) error {
	lock, err := u.f.Lock.Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	err = u.f.Update(ctx, u.f.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		if old.Version != u.now.Version {
			return nil, nil, errChanged
		}
		change, err := u.growth(old)
		return change, u.next, err
	})
	u.f.report.Changed = err == nil
	return err
}

// growth returns the change of an append.
func (u *update) growth(old *snapshot.Array) (*publish.Change, error) {
	shape := &snapshot.Reshape{Grid: u.next.Grid}
	regions := u.regions() // one, or none if another axis has no elements
	for _, r := range regions {
		// Elements are read below. A source would not do for those of variable length.
		shape.Region, shape.Gain.From = r.box, &snapshot.Source{Shape: r.box.Shape()}
	}
	change, err := old.Stage(u.next, shape, u.f.Node.Limits)
	if err != nil {
		return nil, err
	}
	change.Stage = func(ctx context.Context, b store.Batch) error {
		fenced := publish.Fenced(b)
		clear(u.added)
		for _, r := range regions {
			how := engine.Writing{Batch: b, Valid: r.valid, KeepFill: fenced, FirstAlone: fenced}
			if err := u.write(ctx, u.next, r.box, how); err != nil {
				return err
			}
		}
		return u.settle(ctx)
	}
	return change, nil
}

// settle confirms what was read, and stores the origin of the next document.
func (u *update) settle(ctx context.Context) error {
	o, err := u.nextOrigin(ctx)
	if err != nil {
		return err
	}
	if err := o.checkSize(u.f.memory()); err != nil {
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	return putOrigin(ctx, u.f.at, o, u.f.Node.Durability)
}

// replace stores all chunks under other keys: those that stay are linked or copied, and
// what has changed is read. Then it publishes the keys.
func (u *update) replace(ctx context.Context) error {
	if err := u.occupy(ctx); err != nil {
		return err
	}
	w, err := u.stage(ctx)
	if err != nil {
		return err
	}
	raw, err := w.next.Doc.Marshal(u.f.Node.Limits)
	if err != nil {
		return err
	}
	lock, err := u.f.Lock.Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	err = u.f.Update(ctx, u.f.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		if old.Version != u.now.Version {
			return nil, nil, errChanged
		}
		stage := func(ctx context.Context, _ store.Batch) error {
			if c, err := u.f.at.Claim(ctx); err != nil || c == nil || c.ID != u.f.claim.ID {
				return errors.Join(err, errLost)
			}
			u.next = w.next // its document is the one that the origin names
			if err := u.settle(ctx); err != nil {
				return err
			}
			return w.putLineage(ctx, u.now.Doc)
		}
		return &publish.Change{Document: raw, Warn: true, Stage: stage}, w.next, nil
	})
	if err != nil {
		return err
	}
	return u.f.finish(ctx)
}

// occupy claims the array, with free keys, or resumes what another call has begun.
func (u *update) occupy(ctx context.Context) error {
	if err := u.f.begin(ctx, u.now); err != nil {
		if errors.Is(err, ErrNoKeys) && u.now.Doc.Format() == 2 && u.now.Grid.Rank() < 2 {
			err = errUnfollowed("elements have changed, and the chunks of an array of format 2 with less than two axes have no other keys")
		}
		return err
	}
	if sameKeys(u.f.claim.Keys, u.now.Engine.Keys, u.now.Grid.Rank()) {
		return errTaken
	}
	return nil
}

// stage stores all chunks under the claimed keys, and returns the array as it will be.
func (u *update) stage(ctx context.Context) (*work, error) {
	keys := u.f.claim.Keys
	w, err := u.keep(ctx, keys)
	if err != nil {
		return nil, err
	}
	next, err := u.f.Bind(u.next.Doc.WithKeyEncoding(keys), u.bounded)
	if err != nil {
		return nil, err
	}
	if err := u.drop(ctx, next); err != nil {
		return nil, err
	}
	err = publish.Batch(ctx, u.f.at.Store, u.f.Node.Durability, func(ctx context.Context, b store.Batch) error {
		return u.overwrite(ctx, next, b)
	})
	if err != nil {
		return nil, err
	}
	w.next = next
	w.targets, err = staging.List(ctx, next)
	return w, err
}

// keep links or copies all chunks of the part that stays.
func (u *update) keep(ctx context.Context, keys metadata.KeyEncoding) (*work, error) {
	g, err := u.now.Grid.Shrunk(commonShape(u.now.Grid, u.next.Grid))
	if err != nil {
		return nil, err
	}
	doc := u.now.Document().Resized(g.Shape(), snapshot.GridExtension(g, 0))
	source, err := u.f.Bind(doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, u.f.engine(), false
	})
	if err != nil {
		return nil, err
	}
	into, err := u.f.Bind(doc.WithKeyEncoding(keys), u.bounded)
	if err != nil {
		return nil, err
	}
	job, err := staging.NewJob(source, into, staging.Move{})
	if err != nil {
		return nil, err
	}
	w := &work{session: u.f.session, Job: job, old: u.now, next: into}
	if err := w.stage(ctx); err != nil {
		return nil, err
	}
	// What a stopped call has left must not be taken for elements.
	if err := w.list(ctx); err != nil {
		return nil, err
	}
	return w, w.clear(ctx)
}

// drop deletes the kept chunks that are stored in another shape than the next ones.
func (u *update) drop(ctx context.Context, next *snapshot.Array) error {
	for _, box := range u.recut() {
		chunks, err := next.Grid.Touched(box)
		if err == nil {
			err = publish.Batch(ctx, u.f.at.Store, u.f.Node.Durability, func(ctx context.Context, b store.Batch) error {
				return next.Engine.Delete(ctx, chunks, b)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite stores what has changed over the chunks that were kept.
func (u *update) overwrite(ctx context.Context, next *snapshot.Array, b store.Batch) error {
	for _, r := range u.regions() {
		if err := u.write(ctx, next, r.box, engine.Writing{Batch: b, Valid: r.valid}); err != nil {
			return err
		}
	}
	return nil
}

// region is a box of elements to be stored. Elements outside of the valid shape are not
// there yet. A nil shape is that of the array.
type region struct {
	box   grid.Box
	valid []int64
}

// regions returns the elements that are to be stored, in this order.
func (u *update) regions() []region {
	var list []region
	valid := commonShape(u.now.Grid, u.next.Grid)
	for _, box := range joined(u.next.Grid, u.changed) {
		list = append(list, region{box, slices.Clone(valid)})
	}
	// New elements, axis by axis: those of one are there when the next one grows.
	for i := range valid {
		box := grid.BoxOf(valid)
		box[i] = grid.Interval{Start: valid[i], Stop: u.next.Grid.Axis(i).Extent()}
		if n, ok := box.Len(); n > 0 || !ok {
			list = append(list, region{box, slices.Clone(valid)})
		}
		valid[i] = box[i].Stop
	}
	for _, box := range u.recut() {
		list = append(list, region{box, nil})
	}
	return list
}

// written returns how many chunks are written, each as often as it is.
func (u *update) written() (n int, err error) {
	for _, r := range u.regions() {
		chunks, err := u.next.Grid.Touched(r.box)
		if err != nil {
			return 0, err
		}
		k, _ := chunks.Len()
		n += int(k)
	}
	return n, nil
}

// joined joins boxes of elements that are in the same chunks, so that each chunk is
// written once for them, and then those that lie next to each other along one axis.
func joined(g *grid.Grid, boxes []grid.Box) []grid.Box {
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
		for i, side := range box {
			list[at][i] = grid.Interval{Start: min(list[at][i].Start, side.Start), Stop: max(list[at][i].Stop, side.Stop)}
		}
	}
	for axis := len(list[0]) - 1; axis >= 0; axis-- {
		list = joinedAlong(axis, list)
	}
	return list
}

func joinedAlong(axis int, boxes []grid.Box) (list []grid.Box) {
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

// addSums adds the elements of a box to the sums of what is copied.
func (u *update) addSums(box grid.Box, e element.Buffer) error {
	if !u.grows() || u.made.Region != nil {
		return nil
	}
	return comparison.BoxSums(u.from, u.from.Grid, box, e, u.now.Fill, func(index []int64, sum residue.Number) {
		n := numberOf(u.from.Grid, index)
		u.added[n] = u.added[n].Plus(sum)
	})
}

// textBytes is the assumed length of a text.
const textBytes = 1 << 10

// write reads the elements of a region from the array that is followed, and stores them.
func (u *update) write(ctx context.Context, next *snapshot.Array, region grid.Box, how engine.Writing) error {
	limit := u.f.block()
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
		how.FirstAlone = false
	}
	return ctx.Err()
}

func (u *update) writeBox(ctx context.Context, next *snapshot.Array, box grid.Box, how engine.Writing) error {
	to, err := next.Resolve(box, nil)
	if err != nil {
		return err
	}
	buffer, e, err := staging.Room(to, u.f.block())
	if err != nil {
		return err
	}
	defer buffer.Put()
	view, err := to.View(e)
	if err != nil {
		return err
	}
	from, err := u.from.Resolve(u.inSource(box), nil)
	if err != nil {
		return err
	}
	if _, err := u.from.Engine.Read(ctx, from.Resolved, view, engine.Reading{}); err != nil {
		if err = u.f.source.overtaken(ctx, u.from, snapshot.SourceError(err)); errors.Is(err, errAgain) {
			err = errChanged
		}
		return err
	}
	if err := u.addSums(box, e); err != nil {
		return err
	}
	if err := next.Engine.Write(ctx, to.Resolved, view, how); err != nil {
		return err
	}
	chunks, err := next.Grid.Touched(box)
	if err == nil {
		n, _ := chunks.Len()
		u.progress.add(chunks)
		u.f.report.Staged.Add(Counts{Encoded: n, BytesDecoded: int64(len(e.Data)), BytesEncoded: int64(len(e.Data))})
	}
	return err
}
