// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// follower has the sessions of an array that follows another one, and of the other one.
type follower struct {
	to     *session // of the array that follows
	source *session // of the array that is followed
}

// pair is one state of both arrays.
type pair struct {
	source  *snapshot.Array // the array that is followed
	current *snapshot.Array // the array that follows
	planned *snapshot.Array // the array that follows, as it will be, with its present keys
	origin  *origin         // of current
	window  grid.Box        // the part of source that is followed
	sources *staging.Table  // the stored chunks of source that have elements of the window
}

// difference is what the array that follows lacks, and how it gets that.
type difference struct {
	changed   []grid.Box // of elements of current that differ
	recut     []grid.Box // of the elements of chunks that are stored in another shape than before
	described bool       // attributes or names of dimensions change
	strategy  string     // how the update is published; see [Plan]
	regions   []region   // what is to be stored, in this order
}

// sums are sums of elements by the number of a chunk, that are known because the elements
// were read.
type sums struct {
	known map[int64]residue.Number // of chunks of the origin, as they are now
	added map[int64]residue.Number // of what an append has copied, by chunks of the source
}

// update is what is to be done for one state of both arrays.
type update struct {
	f          *follower
	pair       pair
	difference difference
	sums       sums
	sightings  *staging.Sightings // what was read of the source
	progress   *progress
}

// compare finds out what has changed since the last time. The context that it returns is
// that of all later reads.
func (f *follower) compare(ctx context.Context) (context.Context, *update, error) {
	u := &update{f: f, sums: sums{added: map[int64]residue.Number{}}}
	ctx, u.sightings = staging.Witnessing(ctx, func(key store.Key) bool {
		index, ok := staging.IndexOf(u.pair.source, key)
		return !ok || u.pair.sources == nil || u.pair.sources.Contains(index)
	})
	return ctx, u, u.load(ctx)
}

func (u *update) load(ctx context.Context) error {
	f := u.f
	var err error
	if u.pair.current, err = f.to.array.fresh(ctx); err != nil {
		return err
	}
	if u.pair.origin, err = readOrigin(ctx, f.to.hold.at, u.pair.current, f.to.opt.memory()); err != nil {
		// Another call may have published meanwhile, and deleted this origin.
		if now, freshErr := f.to.array.fresh(ctx); freshErr == nil && now.Version != u.pair.current.Version {
			return errChanged
		}
		return err
	}
	if name := f.source.array.originName(); u.pair.origin.head.Source != name {
		return f.nameError(fmt.Errorf("%w: it follows %.80q, not %.80q; choose another place, or remove it ("+remedy.Delete+")", zarr.ErrInvalidArgument, u.pair.origin.head.Source, name))
	}
	if u.pair.origin.head.Adapt {
		f.to.array.adapt = true
	}
	if err := u.pin(ctx); err != nil {
		return err
	}
	if u.pair.window, err = f.windowOf(u.pair.source, u.pair.origin.head.Region); err != nil {
		return err
	}
	doc, err := f.nextDocument(u)
	if err != nil {
		return f.nameError(err) // it tells what to do with the array that follows
	}
	if u.pair.planned, err = f.to.array.bind(doc, nil); err != nil {
		return f.nameError(fmt.Errorf("the new grid: %w", err))
	}
	if err := checkLargest(u.pair.planned); err != nil {
		return err
	}
	if u.pair.sources, err = u.pair.list(ctx, u.pair.source); err != nil {
		return err
	}
	// The listing comes before all reads. Another one after them, in confirm, shows
	// that the elements that were read are those of one moment.
	if err := checkVersions(u.pair.sources); err != nil {
		return err
	}
	if err := u.findChanges(ctx); err != nil {
		return err
	}
	u.difference.recut = u.pair.findRecut()
	u.difference.strategy, u.difference.regions = u.chooseStrategy(), u.findRegions()
	return nil
}

// pin takes the present state of the array that is followed, and notes what is read of
// it.
func (u *update) pin(ctx context.Context) error {
	now, err := u.f.source.array.fresh(ctx)
	if err != nil {
		return err
	}
	u.pair.source, err = u.f.source.array.bind(now.Doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, u.f.to.opt.engine(), false
	})
	if err == nil {
		u.pair.source.Version = now.Version
	}
	return err
}

// windowOf returns the part of an array that is followed.
func (f *follower) windowOf(from *snapshot.Array, region grid.Box) (grid.Box, error) {
	asked := singleRequest(f.source.array.request).(Rechunking).Region
	if asked != nil && !slices.Equal(asked, region) {
		return nil, f.nameError(fmt.Errorf("%w: it follows %s: "+remedy.LeaveOutRegion+", or remove it ("+remedy.Delete+") and follow again", zarr.ErrInvalidArgument, regionText(region)))
	}
	window, err := Rechunking{Region: region}.windowOf(from.Grid.Shape())
	if window == nil {
		window = grid.BoxOf(from.Grid.Shape())
	}
	return window, err
}

// nameError names the array that follows in an error. The session of the array that is
// followed adds the name of that one.
func (f *follower) nameError(err error) error { return fmt.Errorf("%s: %w", f.source.opt.Into, err) }

// regionText writes a region as a selection is written.
func regionText(region grid.Box) string {
	if region == nil {
		return "the whole array"
	}
	ranges := make([]string, len(region))
	for i, in := range region {
		if ranges[i] = fmt.Sprintf("%d:", in.Start); in.Stop != 0 { // 0 is the end
			ranges[i] += fmt.Sprint(in.Stop)
		}
	}
	return fmt.Sprintf("the region %q", strings.Join(ranges, ","))
}

// list lists the stored chunks that have elements of the window.
func (p *pair) list(ctx context.Context, from *snapshot.Array) (*staging.Table, error) {
	chunks, err := staging.List(ctx, from)
	if err != nil {
		return nil, err
	}
	return chunks, keepWithin(chunks, from.Grid, p.origin.head.Region)
}

// boundMemory bounds the memory of writing.
func (u *update) boundMemory(e *engine.Array) { e.Budget = u.f.to.opt.engine() }

// chooseStrategy returns how the update is published: as an append if all that happens to
// the array is that one axis gets longer.
func (u *update) chooseStrategy() string {
	switch {
	case len(u.difference.changed) == 0 && u.pair.planned.Grid.Equal(u.pair.current.Grid):
		return strategyMetadata
	// Readers may see these elements already. Overwritten in place, some would be new and
	// some old.
	case len(u.difference.changed) > 0 || len(u.difference.recut) > 0:
		return strategyFlip
	}
	longer := 0
	for i, n := range u.pair.planned.Grid.Shape() {
		switch was := u.pair.current.Grid.Axis(i).Extent(); {
		case n < was:
			return strategyFlip
		case n > was:
			longer++
		}
	}
	// An append publishes growth along one axis at a time.
	if longer != 1 {
		return strategyFlip
	}
	return strategyAppend
}

// run publishes what has changed.
func (u *update) run(ctx context.Context) error {
	u.f.to.ledger.report.Strategy = u.difference.strategy
	if u.difference.strategy == strategyMetadata && (!u.difference.described || u.pair.planned.Doc.Format() == 2) {
		return u.renew(ctx)
	}
	doc, err := withOrigin(u.pair.planned.Doc, u.pair.origin.head.Source)
	if err != nil {
		return err
	}
	if u.pair.planned, err = u.f.to.array.bind(doc, u.boundMemory); err != nil {
		return err
	}
	change, stages := u.append, 1
	switch u.difference.strategy {
	case strategyMetadata:
		change = u.relabel
	case strategyFlip:
		change, stages = u.replace, 2 // after the chunks that are kept
	}
	n, err := u.countWritten()
	if err != nil {
		return err
	}
	u.progress = u.f.to.opt.progress(stages, stages, n, n)
	if err := change(ctx); err != nil {
		return err
	}
	// The update is visible. What fails from here on leaves origins that no document
	// names, or attributes of format 2 that the next call sets.
	err = u.removeOldOrigins(store.Finishing(ctx))
	if err == nil && u.difference.described && u.pair.planned.Doc.Format() == 2 {
		err = u.describeAfter(store.Finishing(ctx))
	}
	return publish.Incomplete(err)
}

// removeOldOrigins deletes the origins that no document names any more.
func (u *update) removeOldOrigins(ctx context.Context) error {
	identity, err := documentIdentity(u.pair.planned.Doc, u.f.to.hold.at.Limits)
	if err != nil {
		return err
	}
	id, err := originID(u.pair.planned.Doc, identity)
	if err != nil {
		return err
	}
	return removeOrigins(ctx, u.f.to.hold.at, u.pair.origin, id)
}

// renew notes the versions of chunks that were stored again with the same elements.
func (u *update) renew(ctx context.Context) error {
	o, err := u.nextOrigin(ctx)
	if err != nil || o.equal(u.pair.origin) {
		return err
	}
	if err := u.confirm(ctx); err != nil {
		return err
	}
	// Attributes first: if the origin had those of the source already, a crash in between
	// would leave the old ones for good.
	if err := u.describe(ctx); err != nil {
		return err
	}
	u.f.to.ledger.report.Changed = u.f.to.ledger.report.Changed || u.difference.described
	return againIf(replaceOrigin(ctx, u.f.to.hold.at, o, u.pair.origin, u.f.to.hold.durability))
}

// relabel publishes other attributes.
func (u *update) relabel(ctx context.Context) error {
	raw, err := u.pair.planned.Doc.Marshal(u.f.to.hold.at.Limits)
	if err != nil {
		return err
	}
	stage := func(ctx context.Context, _ store.Batch) error { return u.settle(ctx) }
	err = u.publish(ctx, func(*snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Document: raw, Stage: stage}, u.pair.planned, nil
	})
	u.f.to.ledger.report.Changed = err == nil
	return err
}

// append stores new elements as an append does.
func (u *update) append(ctx context.Context) error {
	err := u.publish(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		change, err := u.growth(old)
		return change, u.pair.planned, err
	})
	u.f.to.ledger.report.Changed = err == nil
	return err
}

// publish makes a change of the array as long as it is the one that was compared.
func (u *update) publish(ctx context.Context, plan func(*snapshot.Array) (*publish.Change, *snapshot.Array, error)) error {
	lock, err := u.f.to.array.core.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return u.f.to.array.core.UpdateAs(ctx, u.f.to.array.core.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		// Everything was compared with the earlier document. Compare again.
		if old.Version != u.pair.current.Version {
			return nil, nil, errChanged
		}
		return plan(old)
	})
}

// growth returns the change of an append.
func (u *update) growth(old *snapshot.Array) (*publish.Change, error) {
	shape := &snapshot.Reshape{Grid: u.pair.planned.Grid}
	// There is one region, or none if another axis has no elements.
	for _, r := range u.difference.regions {
		// Elements are read below. A source would not do for those of variable length.
		shape.Region, shape.Gain.From = r.box, &snapshot.Source{Shape: r.box.Shape()}
	}
	change, err := old.Stage(u.pair.planned, shape, u.f.to.hold.at.Limits)
	if err != nil {
		return nil, err
	}
	change.Stage = func(ctx context.Context, b store.Batch) error {
		// Behind a fence, two appends meet at the first chunk, which each stores alone
		// and only if there is none.
		fenced := publish.Fenced(b)
		clear(u.sums.added)
		for _, r := range u.difference.regions {
			how := engine.Writing{Batch: b, Valid: r.valid, KeepFill: fenced, FirstAlone: fenced}
			if err := u.write(ctx, u.pair.planned, r.box, how); err != nil {
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
	if err := o.checkSize(u.f.to.opt.memory()); err != nil {
		return err
	}
	// Last of all reads, and before the document is published.
	if err := u.confirm(ctx); err != nil {
		return err
	}
	if u.pair.planned.Doc.Format() == 2 {
		o.head.Attributes = u.pair.origin.head.Attributes // others are set later
	}
	return putOrigin(ctx, u.f.to.hold.at, o, u.f.to.hold.durability)
}

// nextDocument returns the document that an array gets for the present shape of the one
// that it follows, with its present keys.
func (f *follower) nextDocument(u *update) (*metadata.Array, error) {
	from, now := u.pair.source, u.pair.current
	if from.Type != now.Type || from.Grid.Rank() != now.Grid.Rank() {
		return nil, fmt.Errorf("%w: it has elements of %s and %s, and follows an array with %s and %d: remove it ("+remedy.Delete+"), and follow again",
			zarr.ErrInvalidArgument, now.Type, quantity.Count(now.Grid.Rank(), "axes"), from.Type, from.Grid.Rank())
	}
	asked := singleRequest(f.source.array.request).(Rechunking)
	if same, err := u.pair.origin.askedFor(asked, from); err != nil || !same {
		return nil, errors.Join(err, fmt.Errorf("%w: it was made with other codecs: leave them out, or remove it ("+remedy.Delete+") and follow again", zarr.ErrInvalidArgument))
	}
	cuts := make([]grid.Cut, from.Grid.Rank())
	for i := range cuts {
		a, err := followingAxis(now, i, u.pair.window[i].Len(), asked.Chunks)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		cuts[i] = cutOf(a)
	}
	g, err := grid.New(u.pair.window.Shape(), cuts...)
	if err != nil {
		return nil, err
	}
	doc := now.Document()
	if !g.Equal(now.Grid) {
		doc = doc.Resized(g.Shape(), snapshot.GridExtension(g, 0))
	}
	return u.followDescription(doc)
}

// followingAxis returns an axis with another extent. Chunks that are asked for may be
// those of a calendar, of which only the last one is longer than before.
func followingAxis(now *snapshot.Array, i int, extent int64, asked Cuts) (is grid.Axis, err error) {
	a := now.Grid.Axis(i)
	if extent >= a.Extent() {
		is, err = a.Grown(extent, now.Rounded(i, grid.AppendOne(), true))
	} else {
		is, err = a.Shrunk(extent, grid.KeepEdges)
	}
	if err != nil || i >= len(asked) {
		return is, err
	}
	want, err := grid.NewAxis(0, asked[i])
	if err != nil {
		return is, err
	}
	if want.Step() != a.Step() || !want.IsRegular() && !continues(a, want) {
		return is, fmt.Errorf("%w: it has other chunks: leave them out, or remove it ("+remedy.Delete+") and follow again", zarr.ErrInvalidArgument)
	}
	// Take the lengths of the calendar for the chunks that the array does not have yet.
	if !want.IsRegular() && a.Covered() < extent && want.Covered() >= extent {
		return grid.NewAxis(extent, asked[i])
	}
	return is, nil
}

// continues reports whether listed chunks begin with those of an axis, except for the
// last one that both have.
func continues(a, want grid.Axis) bool {
	for k := range min(a.Cells(), want.Cells()) - 1 {
		was, _ := a.Cell(k)
		if is, ok := want.Cell(k); !ok || is.Edge != was.Edge {
			return false
		}
	}
	return true
}

// commonShape returns the smaller of two extents along every axis.
func commonShape(a, b *grid.Grid) []int64 {
	shape := a.Shape()
	for i := range shape {
		shape[i] = min(shape[i], b.Axis(i).Extent())
	}
	return shape
}

// followDescription takes over what has changed in the attributes and the names of
// dimensions of the array that is followed. Other attributes, which were set in the array
// that follows, stay.
func (u *update) followDescription(doc *metadata.Array) (*metadata.Array, error) {
	next, err := attributes.Follow(doc.Attributes, u.pair.origin.head.Attributes, u.pair.source.Doc.Attributes)
	if err != nil {
		return nil, err
	}
	if u.difference.described = !bytes.Equal(next, doc.Attributes); u.difference.described {
		if doc, err = doc.WithAttributes(next); err != nil {
			return nil, err
		}
	}
	// In format 2 the names are an attribute.
	if names := u.pair.source.Doc.DimensionNames; doc.Format() == 3 && !sameNames(names, u.pair.origin.doc.DimensionNames) && !sameNames(names, doc.DimensionNames) {
		named := *doc
		named.DimensionNames, u.difference.described = names, true
		doc = &named
	}
	return doc, nil
}

func sameNames(a, b []*string) bool {
	return slices.EqualFunc(a, b, func(x, y *string) bool { return x == y || x != nil && y != nil && *x == *y })
}

// describeAfter sets the attributes of an array of format 2 once its elements are
// published, and notes them. If this is not reached, the next call does it.
func (u *update) describeAfter(ctx context.Context) error {
	_, now, err := u.f.compare(ctx)
	// If the array that is followed has changed meanwhile, the next call compares both.
	if err != nil || now.difference.strategy != strategyMetadata {
		return err
	}
	return now.renew(ctx)
}

// describe sets the attributes of an array of format 2, which have a document of their
// own.
func (u *update) describe(ctx context.Context) error {
	if !u.difference.described || u.pair.planned.Doc.Format() != 2 {
		return nil
	}
	return u.f.to.array.core.UpdateAttributesV2(ctx, func(object []byte) ([]byte, error) {
		return attributes.Follow(object, u.pair.origin.head.Attributes, u.pair.source.Doc.Attributes)
	})
}
