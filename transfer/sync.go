// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Sync makes the node at dst and everything below it equal to that at src. It decodes
// nothing. It copies the documents of src and what they describe: the chunks that the
// grids have, and those that an unfinished trim has set aside. It copies nothing else: no
// chunks of former grids, no records, no files of other programs. Where Varve does not
// know the grid of an array or the keys of its chunks, it copies all values below it.
//
// # What is copied
//
// A value is skipped if dst has one of the same size that was written more than
// a minute after the last write of that in src. Both times are by the clock of this
// machine ([store.Info.Modified]). So values that dst has from an interrupted Sync are
// skipped, and one that was written within the last minute before it was copied is copied
// once more by the next Sync ([SyncReport.Again]). Between two folders, the bytes of such
// a value are compared instead. If they are equal, the file in dst gets the time of now,
// unless the one in src is still younger than a minute. Where a store has no times of
// values, as repositories of Icechunk, the bytes are compared, too, unless both have the
// same reference. A change is missed if
//
//   - dst has a value of the same size that is no copy of that in src, because somebody
//     else has written it later,
//   - the value in src was replaced by one of the same size that is older: a directory
//     that was renamed, a disk that was restored, a file whose times were set back where
//     the system has no other times,
//   - the clock of a service, or of this machine, was wrong by more than a minute.
//
// [SyncOptions.Checksum] compares the bytes of values of the same size instead. A write
// while Sync runs may be missed by it; the next one copies it.
//
// A chunk that src does not store is the fill value, so Sync deletes it in dst if the
// document describes it. It asks src for the key before. Anything else that only dst has
// stays, unless [SyncOptions.Delete] is set.
//
// # Protocol
//
//  1. Read the documents of src, and those of dst at the same places.
//  2. Remove arrays of dst whose keys have other chunks in src, such as those of another
//     shape. They are copied as new ones.
//  3. Store a note that a copy has begun ([Unfinished]), before the first change.
//  4. List src and dst at the same time, and copy what differs.
//  5. Read the documents of src again. If some have changed, go back to step 2, at most
//     three times. If arrays have only become longer by then, what was copied is a state
//     that src had. Otherwise the error wraps [zarr.ErrConflict].
//  6. Write the documents that differ, those of inner nodes first, and that of the node
//     last, each on the condition that dst still has the one of step 1, or the one that a
//     removal of step 2 has left. Otherwise the error wraps [zarr.ErrConflict].
//  7. Delete what only dst has, if asked to. Update the consolidated metadata of the groups
//     above, and delete the note.
//
// # Parts
//
// With [SyncOptions.Share], several processes copy the values of steps 3 and 4, each its
// part. They write no documents, delete nothing and leave the note. Sync without a Share
// then does the rest, with the same arguments. A part that is interrupted can be copied
// again, by any process. If step 2 has to remove an array, a part is refused: the error
// wraps [zarr.ErrConflict] and names the array.
//
// The source may change meanwhile: the time of each value decides, as above. A value that
// a part has copied for former documents stays only if that in src was written before. So
// an array that was deleted and created anew is copied again, even if its chunks have the
// same keys and sizes. Values whose keys have another number of axes by then stay, as
// files that belong to no array. Call Sync without a Share when no part runs any more: a
// part stores what it has just read from src, perhaps over something newer, which the
// next Sync notices.
//
// A part that finds the node published compares values that may have changed, and changes
// nothing if all are equal. Otherwise it leaves the note and the values, like a Sync that
// is interrupted.
//
// # After a crash
//
// A crash leaves the documents of either state, and the note. Until step 6, chunks that
// src has overwritten may be new ones already, as after any write. Another Sync
// continues. Two runs at once, and other writers of dst, may overwrite chunks of each
// other.
//
// # Damaged documents
//
// Where a document of src cannot be read, because it was cut off or is no file, its
// node and everything below it stays in dst as it is, also with [SyncOptions.Delete]:
// dst may have the only sound copy. Everything else is synced, and then Sync returns a
// [DamageError]. If the document of the node itself cannot be read, nothing is changed.
// A part passes over such nodes without an error. A document that only needs something
// unknown, such as a data type, can be read in this sense. The same holds where a
// document of dst below the node itself cannot be read, unless [SyncOptions.Delete] is
// set, which replaces it.
//
// A node of dst that src has no document for stays, also with [SyncOptions.Delete], if
// src has values below its path, such as chunks: the document is lost, or that of a group
// above it, or a removal was stopped. Sync returns a [DamageError] that names the node.
//
// The stores must be able to list. Symbolic links below dst are an error that wraps
// [zarr.ErrInvalidArgument], because nothing outside of dst is changed.
func Sync(ctx context.Context, src, dst *zarr.Location, opt *SyncOptions) (SyncReport, error) {
	if opt == nil {
		opt = new(SyncOptions)
	}
	var r SyncReport
	err := opt.check()
	if err == nil && opt.Nodes != "" {
		err = syncNodes(ctx, src, dst, opt, &r)
	} else if err == nil {
		err = syncOne(ctx, src, dst, "", opt, &r)
	}
	if err != nil {
		err = copying.Wrap("sync", src.Path(), err)
	}
	return r, err
}

// SyncOptions configure [Sync]. A nil *SyncOptions means the zero SyncOptions.
type SyncOptions struct {
	// Options have limits, durability and the number of requests in flight. A Budget
	// above 256 MiB bounds the bytes of values that are in memory at once; less is taken
	// for that. Write is not needed.
	zarr.Options
	// Checksum compares the bytes of values of the same size, and reads both stores for
	// that. Without it, times are compared.
	Checksum bool
	// NewerThan, unless zero, is the time before which values in src are taken for equal
	// to those of the same size in dst. Values that dst does not have are copied at any
	// age, because a missing chunk would be read as the fill value.
	NewerThan time.Time
	// Nodes, unless "", is a pattern of [path.Match] for paths below src, such as "t2m"
	// or "*/time". Only nodes that match are synced, with everything below them. Groups
	// above them that dst does not have are made with their attributes, and without
	// consolidated metadata. It cannot be combined with Delete.
	Nodes string
	// Delete deletes, at the end, the nodes below dst that src does not have, and chunks
	// that the documents do not describe. Files that belong to no array stay, and so do
	// nodes below whose paths src has values without documents. Without Delete, a node
	// that is an array in src and a group in dst, or the other way round, is an error
	// that wraps [io/fs.ErrExist].
	Delete bool
	// Verify reads all values of both nodes at the end, and compares their bytes. If some
	// differ, the error names the first one that was found, and wraps [zarr.ErrConflict]:
	// it may have been changed meanwhile.
	Verify bool
	// DryRun changes nothing, and counts what would be changed.
	DryRun bool
	// Share, unless nil, copies the values of one part, and publishes nothing; [Sync]
	// says how. Delete has no effect then, and Verify compares the values of the part.
	Share *Share
}

func (o *SyncOptions) check() error {
	if o.Share != nil {
		if err := copying.CheckShare(o.Share.Task, o.Share.Of); err != nil {
			return err
		}
	}
	if o.Nodes == "" {
		return nil
	}
	if _, err := path.Match(o.Nodes, ""); err != nil {
		return fmt.Errorf("%w: %q is no pattern of paths (%w)", zarr.ErrInvalidArgument, o.Nodes, err)
	}
	if o.Delete {
		return fmt.Errorf("%w: nodes that do not match the pattern would be deleted; sync all of them, or do not delete", zarr.ErrInvalidArgument)
	}
	return nil
}

// SyncReport counts what [Sync] found and did or, in a dry run, would do.
type SyncReport struct {
	Arrays, Groups int   // nodes of src
	Documents      int64 // written

	Kept, KeptBytes int64 // values that were not copied
	New             int64 // copied values that dst did not have
	Replaced        int64 // copied values that dst had
	// Again counts those of the replaced values that had the same size and were written
	// less than a minute after those in src: the times do not tell whether they are
	// equal. Between folders there are none, because their bytes are compared.
	Again int64
	Bytes int64 // of copied values
	// Cleared counts chunks that dst had and src does not store: they are fill values.
	Cleared int64
	// Dropped counts chunks that no document describes and documents of former formats
	// that were deleted. Left counts those that stay without SyncOptions.Delete.
	Dropped, Left int64
	// DroppedNodes are the paths of nodes of dst that were deleted or, without
	// SyncOptions.Delete, stay, and ReplacedNodes those of arrays that were removed and
	// copied anew. The nodes below them are not listed.
	DroppedNodes, ReplacedNodes []string

	Other         int64 // values in src that no document describes, which are not copied
	Verified      int64 // values that were compared at the end
	VerifiedBytes int64
}

// String says in one line what was copied, kept and deleted.
func (r SyncReport) String() string {
	text := quantity.List(quantity.Some(r.New, "new value", "copied"), quantity.Some(r.Replaced, "value", "replaced"),
		quantity.SomeBytes(r.Bytes, "copied"), quantity.Some(r.Kept, "value", "kept"), quantity.Some(r.Cleared, "chunk", "cleared"),
		quantity.Some(r.Documents, "document", "written"), quantity.Some(r.Dropped, "chunk", "deleted"),
		quantity.Some(int64(len(r.DroppedNodes)), "node", "that only the destination has"))
	return quantity.Of(int64(r.Arrays), "array") + ", " + quantity.Of(int64(r.Groups), "group") + ": " + cmp.Or(text, "nothing to do")
}

// add adds the report on a node below.
func (r *SyncReport) add(name string, o SyncReport) {
	for _, n := range []struct {
		to   *int64
		more int64
	}{
		{&r.Documents, o.Documents}, {&r.Kept, o.Kept}, {&r.KeptBytes, o.KeptBytes}, {&r.New, o.New}, {&r.Replaced, o.Replaced}, {&r.Again, o.Again}, {&r.Bytes, o.Bytes},
		{&r.Cleared, o.Cleared}, {&r.Dropped, o.Dropped}, {&r.Left, o.Left}, {&r.Other, o.Other},
		{&r.Verified, o.Verified}, {&r.VerifiedBytes, o.VerifiedBytes},
	} {
		*n.to += n.more
	}
	r.Arrays, r.Groups = r.Arrays+o.Arrays, r.Groups+o.Groups
	for _, at := range o.DroppedNodes {
		r.DroppedNodes = append(r.DroppedNodes, path.Join(name, at))
	}
	for _, at := range o.ReplacedNodes {
		r.ReplacedNodes = append(r.ReplacedNodes, path.Join(name, at))
	}
}

// syncOne makes one node equal to another one. above is its path below that of the call.
func syncOne(ctx context.Context, src, dst *zarr.Location, above string, opt *SyncOptions, r *SyncReport) error {
	c, err := copying.New(ctx, src, dst, copying.Options{Options: opt.Options, DryRun: opt.DryRun})
	if err == nil {
		err = c.Target.CheckDirect("the destination")
	}
	if err != nil {
		return err
	}
	c.Note = fmt.Appendf(nil, "{\"sync\": %q}\n", c.Source)
	s := &syncer{
		pair: c, opt: opt, above: above, count: &tally{report: r}, values: &values{c, budget.New(max(opt.Budget, leastRoom))},
		source: &original{pair: c}, target: &destination{pair: c, isPart: opt.Share != nil}, left: new(leftovers),
	}
	if opt.Share != nil {
		return s.runPart(ctx)
	}
	return s.run(ctx)
}

// leastRoom is the least bound of the bytes of values that are in memory at once.
const leastRoom = 256 << 20

// syncer is one run of [Sync] for one node. Its stages follow each other: begin looks at
// both nodes, replace removes what clashes, pass compares and copies values, publishAll
// writes the documents, and deleteRest deletes what is left over.
type syncer struct {
	pair   *copying.Copy
	opt    *SyncOptions
	above  string // the path of the node below that of the call, with a slash at its end
	count  *tally
	values *values
	source *original
	target *destination
	left   *leftovers
}

// tally counts what is found and done.
type tally struct {
	mu     sync.Mutex // guards the report while values are copied
	report *SyncReport
}

// add adds to counts of the report.
func (t *tally) add(n int64, counts ...*int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range counts {
		*c += n
	}
}

// original has the documents of the source.
type original struct {
	pair    *copying.Copy
	nodes   inventory
	damaged *DamageError     // nodes that are not in nodes, because a document is damaged
	blocked map[string]error // nodes of the destination that stay: their document is damaged, or lost in the source
}

// destination has the documents of the destination, and the note that a Sync has begun
// there.
type destination struct {
	pair    *copying.Copy
	isPart  bool       // this call copies one part, and publishes nothing
	copies  inventory  // in the directories of nodes of the source
	hasNode bool       // there are documents, or values of an interrupted Sync
	resumed bool       // the note was there, and no document
	mu      sync.Mutex // guards what follows while values are copied
	noted   bool       // the note is stored
}

// leftovers are what only the destination has.
type leftovers struct {
	mu      sync.Mutex          // guards the fields while values are copied
	stale   []string            // chunks that no document describes
	orphans []string            // directories of nodes
	extra   map[string][]string // other documents, by directories of nodes
}

func (l *leftovers) addStale(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = append(l.stale, name)
}

func (l *leftovers) addOrphan(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.orphans = append(l.orphans, dir)
}

func (l *leftovers) addExtra(dir, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extra[dir] = append(l.extra[dir], name)
}

// nearTasks is the number of values in flight between near stores. Each has to become
// durable, and disks make many of them durable in the time of one.
const nearTasks = 128

// tasksOf returns the number of requests in flight.
func tasksOf(pair *copying.Copy) int {
	if pair.Concurrency > 0 {
		return pair.Concurrency
	}
	procs := runtime.GOMAXPROCS(0)
	return max(nearTasks, engine.InFlight(pair.Source.Store, 0, procs), engine.InFlight(pair.Target.Store, 0, procs))
}

// librarianOf returns a reader of the documents of one of the nodes.
func librarianOf(pair *copying.Copy, at copying.Place) *librarian {
	return &librarian{s: at.Store, at: at.Path, limits: pair.Limits, tasks: tasksOf(pair)}
}

// run runs the protocol.
func (s *syncer) run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx); err != nil {
		return err
	}
	s.tallyNodes()
	if s.pair.DryRun {
		s.plan()
		return s.source.damaged.orNil()
	}
	// All values are stored, so the documents may describe them.
	if err := s.publishAll(ctx); err != nil {
		return err
	}
	// Delete only now: until the publication, readers look for what the former documents
	// describe.
	if s.opt.Delete {
		if err := s.deleteRest(ctx); err != nil {
			return err
		}
	}
	if err := s.target.end(ctx); err != nil {
		return err
	}
	if s.opt.Verify {
		if err := s.verify(ctx); err != nil {
			return err
		}
	}
	return s.source.damaged.orNil()
}

// begin runs step 1, and looks at the destination.
func (s *syncer) begin(ctx context.Context) (err error) {
	if s.source.nodes, err = s.source.read(ctx); errors.Is(err, store.ErrUnsupported) {
		return fmt.Errorf("%w; a source that cannot be listed can be copied, but not synced", err)
	} else if err != nil {
		return err
	}
	root := s.source.nodes[""]
	if root == nil {
		return fault.NotFound("no Zarr node here")
	}
	for dir := range s.source.nodes {
		if err := s.pair.CheckName(dir + nodename.V3Node); err != nil {
			return err
		}
	}
	s.pair.Format = root.format
	state, err := s.pair.Look(ctx)
	switch {
	case err != nil:
		return err
	case state == copying.Unknown:
		return s.pair.Unknown(ctx)
	case state == copying.Begun:
		s.target.hasNode, err = s.target.resumes(ctx)
		s.target.resumed = s.target.hasNode
	default:
		s.target.hasNode = state != copying.Free
		if s.target.hasNode && s.opt.Share != nil {
			s.target.noted, err = copying.Exists(ctx, s.pair.Target.Store, s.pair.Target.Path, copying.NoteName)
		}
	}
	if err == nil && (!s.target.hasNode || s.target.resumed) {
		err = s.pair.CheckParents(ctx)
	}
	if err == nil && s.target.hasNode {
		err = s.pair.CheckNoLinks(ctx)
	}
	return err
}

// resumes reports whether the values at the destination are those of an interrupted Sync
// of this node. Those of another copy are deleted.
func (d *destination) resumes(ctx context.Context) (bool, error) {
	isOwn, err := d.pair.HasNote(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.isPart:
		return false, copying.ErrPublished // since the look
	case err != nil:
		return false, err
	case isOwn: // a Sync of the same source has begun here
		d.noted = true
		return true, nil
	case d.isPart:
		return false, copying.ErrForeign
	case d.pair.DryRun:
		return false, nil
	}
	return false, d.pair.Clear(ctx)
}

// mostRounds is the number of times that everything is compared while src changes.
const mostRounds = 4

// fill runs steps 2 to 5.
func (s *syncer) fill(ctx context.Context) error {
	for round := 1; ; round++ {
		if err := s.replace(ctx); err != nil {
			return err
		}
		if err := s.pass(ctx); err != nil {
			return err
		}
		if err := s.keepLost(ctx); err != nil {
			return err
		}
		now, err := s.source.read(ctx)
		switch {
		case err != nil:
			return err
		case s.source.nodes.same(now), s.pair.DryRun:
			return nil
		// The documents of later rounds were all stored at one time.
		case round > 1 && s.source.nodes.grown(now):
			return nil
		case round == mostRounds:
			return fmt.Errorf("%w: its documents were changed in ways other than growth each time that it was copied; sync it again", zarr.ErrSourceChanged)
		}
		if s.source.nodes, err = s.source.state(ctx, now); err != nil {
			return err
		}
	}
}

// mostReadings bounds the readings of documents that change all the time.
const mostReadings = 10

// state returns documents that were all stored at one time: two readings, one after the
// other, find the same.
func (o *original) state(ctx context.Context, last inventory) (inventory, error) {
	for range mostReadings {
		now, err := o.read(ctx)
		if err != nil {
			return nil, err
		}
		if now.same(last) {
			return now, o.checkSettled(ctx, now)
		}
		last = now
	}
	return nil, fmt.Errorf("%w: its documents change all the time; sync it again", zarr.ErrSourceChanged)
}

// checkSettled refuses arrays that an unfinished transaction has changed in part.
func (o *original) checkSettled(ctx context.Context, of inventory) error {
	g, ctx := parallel.New(ctx)
	g.SetLimit(tasksOf(o.pair))
	for dir, i := range of {
		if i.kind == "array" {
			g.Go(func() error { return o.checkSettledAt(ctx, dir) })
		}
	}
	return g.Wait(nil)
}

func (o *original) checkSettledAt(ctx context.Context, dir string) error {
	p, err := o.pair.Source.Path.Join(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	return copying.CheckSettled(ctx, o.pair.Source.Store, p)
}

// start runs step 3, once.
func (d *destination) start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noted {
		return nil
	}
	if d.isPart {
		return d.startPart(ctx)
	}
	if !d.hasNode {
		if err := d.pair.MakeParents(ctx); err != nil {
			return err
		}
	}
	err := d.pair.StoreNote(ctx)
	d.noted = err == nil
	return err
}

// end runs the rest of step 7.
func (d *destination) end(ctx context.Context) error {
	if !d.noted {
		return nil // nothing has changed
	}
	// The note goes last: with it, the next Sync does what a crash has left undone.
	if err := copying.UpdateAbove(ctx, d.pair.Target.Location, d.pair.Options.Options); err != nil {
		return err
	}
	return d.pair.DeleteNote(ctx)
}

// plan completes the report of a dry run.
func (s *syncer) plan() {
	for dir, i := range s.source.nodes {
		for _, f := range i.files {
			if was := s.target.copies[dir].file(f.name); was == nil || !publish.Same(was, f.raw) {
				s.count.report.Documents++
			}
		}
	}
	for _, names := range s.left.extra {
		s.count.report.Dropped += int64(len(names))
	}
	s.count.report.Dropped += int64(len(s.left.stale))
}

// tallyNodes counts the nodes.
func (s *syncer) tallyNodes() {
	for _, i := range s.source.nodes {
		switch i.kind {
		case "array":
			s.count.report.Arrays++
		case "group":
			s.count.report.Groups++
		}
	}
	s.count.report.DroppedNodes = append(s.count.report.DroppedNodes, s.left.removed()...)
}

// Unfinished reports whether an unfinished copy, conversion or [Sync] has left its note
// at a place. Readers see no node there, or the one of before. Another copy deletes the
// leftovers, and so does [zarr.Location.Delete]. Another Sync uses them, and so does a
// conversion with Options.Resume of package convert.
func Unfinished(ctx context.Context, at *zarr.Location) (bool, error) {
	p, err := copying.PlaceOf(at)
	if err != nil {
		return false, err
	}
	return copying.Exists(ctx, p.Store, p.Path, copying.NoteName)
}
