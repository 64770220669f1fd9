// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// role is what the documents of the source say about a key.
type role int

const (
	other       role = iota // nothing
	chunk                   // of an array, or set aside by a trim
	staleChunk              // of a grid that an array does not have, or not any more
	described               // a document of a node
	extraFile               // another document in the directory of a node
	newNode                 // a document in another directory
	transaction             // the pointer of a change of several nodes
)

// roleOf returns the role of a key, and the node that it lies in.
func (o *original) roleOf(rel string) (role, *item) {
	i, rest := o.nodes.owner(rel)
	if what, isOwn := copying.Record(rest); isOwn && what == own.Pending {
		return transaction, i
	}
	dir, name := path.Split(rel)
	switch at := o.nodes[dir]; {
	case slices.Contains(copying.DocumentNames, name) && at != nil && at.file(name) != nil:
		return described, at
	case slices.Contains(copying.DocumentNames, name) && at != nil:
		return extraFile, at
	case i == nil:
		return other, nil
	case i.kind == "array" && i.layout.Contains(rest):
		return chunk, i
	case i.kind == "array" && i.layout.HasShape(rest):
		return staleChunk, i
	case slices.Contains(copying.DocumentNames[2:], name) && !own.IsBelow(rel):
		return newNode, i
	}
	return other, i
}

// pass runs step 4.
func (s *syncer) pass(ctx context.Context) error {
	r := s.count.report
	r.Kept, r.KeptBytes, r.Other, r.Left = 0, 0, 0, 0
	s.left = &leftovers{extra: map[string][]string{}}
	g, within := parallel.New(ctx)
	g.SetLimit(tasksOf(s.pair))
	p := &pass{s: s, report: r, g: g, values: s.pair.NewValues()}
	err := copying.Pair(within, store.List(within, s.pair.Source.Store, s.pair.Source.Path, store.Deep|store.WithVersions), s.listing(within), func(from, to *store.Entry) error {
		if err := within.Err(); err != nil {
			return err // begin nothing after a failure
		}
		return p.visit(within, from, to)
	})
	return p.values.End(ctx, g.Wait(err))
}

// listing lists the destination.
func (s *syncer) listing(ctx context.Context) copying.Listing {
	if !s.target.hasNode {
		return func(func(store.Entry, error) bool) {}
	}
	return store.List(ctx, s.pair.Target.Store, s.pair.Target.Path, store.Deep|store.WithVersions)
}

// pass compares the values of both nodes once.
type pass struct {
	s      *syncer
	report *SyncReport
	g      *parallel.Group
	values *copying.Values
}

// visit decides about one key.
func (p *pass) visit(ctx context.Context, from, to *store.Entry) error {
	name := copying.NameOf(from, to)
	if p.s.source.isDamaged(name) {
		return nil
	}
	if dir, ok := strings.CutSuffix(name, copying.NoteName); ok && to != nil {
		p.noteAt(dir)
		return nil
	}
	what, i := p.s.source.roleOf(name)
	if p.s.opt.Share != nil && what != transaction && (what != chunk || from == nil || !p.s.inShare(name)) {
		return nil // of another part, or of the call that publishes
	}
	switch what {
	case chunk:
		return p.chunk(ctx, name, i, from, to)
	case transaction:
		if from != nil {
			dir, _ := path.Split(strings.TrimSuffix(name, own.Dir+"/"+own.Pending))
			return p.s.source.checkSettledAt(ctx, dir)
		}
	case staleChunk, extraFile, newNode, other:
		p.rest(what, name, i, from, to)
	}
	return nil
}

// noteAt records a note of the destination.
func (p *pass) noteAt(dir string) {
	switch {
	case dir == "": // an interrupted Sync has left it
		p.s.target.mu.Lock()
		defer p.s.target.mu.Unlock()
		p.s.target.noted = true
	case p.s.opt.Share != nil: // only the call that publishes deletes
	case p.s.source.nodes[dir] != nil: // so has the removal of an array that is copied anew
		p.s.left.addExtra(dir, dir+copying.NoteName)
	default: // or that of a node, which continues
		p.s.left.addOrphan(dir)
	}
}

// chunk decides about a key that the documents describe.
func (p *pass) chunk(ctx context.Context, name string, i *item, from, to *store.Entry) error {
	switch {
	case from == nil:
		return p.blank(ctx, name, i)
	case to == nil:
		p.later(ctx, func(ctx context.Context) error { return p.renew(ctx, name, from, &p.report.New) })
	case i.fresh || from.Size != to.Size:
		p.later(ctx, func(ctx context.Context) error { return p.renew(ctx, name, from, &p.report.Replaced) })
	case !p.s.opt.Checksum && !p.isCopy(from, to):
		p.later(ctx, func(ctx context.Context) error { return p.doubt(ctx, name, from, to) })
	case p.s.opt.Checksum && !p.isOld(from):
		p.later(ctx, func(ctx context.Context) error { return p.compare(ctx, name, from) })
	default:
		p.keep(from)
	}
	return nil
}

// isCopy reports whether a value of the same size is taken for a copy.
func (p *pass) isCopy(from, to *store.Entry) bool {
	if from.Modified.IsZero() || to.Modified.IsZero() {
		return false
	}
	return p.isOld(from) || to.Modified.Sub(from.Modified) > copying.Slack
}

// doubt decides about a value of the same size that is no copy by its times.
func (p *pass) doubt(ctx context.Context, name string, from, to *store.Entry) error {
	if from.Modified.IsZero() || to.Modified.IsZero() {
		if from.Version == to.Version && isContent(p.s.pair.Source.Store) && isContent(p.s.pair.Target.Store) {
			p.keep(from)
			return nil
		}
		return p.compare(ctx, name, from)
	}
	if from.Modified.After(to.Modified) {
		return p.renew(ctx, name, from, &p.report.Replaced)
	}
	// It may be a copy that was made soon after the write of its source, or one of what
	// the source had a moment before.
	t, ok := store.Driver(p.s.pair.Target.Store).(toucher)
	if _, near := store.Driver(p.s.pair.Source.Store).(toucher); !ok || !near {
		return p.renew(ctx, name, from, &p.report.Replaced, &p.report.Again)
	}
	began := time.Now()
	same, err := p.s.values.sameBytes(ctx, name, from.Size)
	if err != nil {
		return err
	}
	if !same {
		return p.renew(ctx, name, from, &p.report.Replaced)
	}
	// Touch the copy, so that no later Sync reads it again. That is of no use while the
	// source is so young that a later Sync doubts all the same. If the comparison took
	// long, the source may have changed since, and the copy would be too late for that.
	if now := time.Now(); !p.s.pair.DryRun && now.Sub(from.Modified) > copying.Slack && now.Sub(began) < copying.Slow {
		if err := p.touch(ctx, t, name); err != nil {
			return err
		}
	}
	p.keep(from)
	return nil
}

// isContent reports whether the versions of a store name bytes: values of two such stores
// are equal if their versions are. Snapshots of Icechunk are such stores.
func isContent(s store.Store) bool {
	c, ok := store.Driver(s).(interface{ VersionsNameContent() bool })
	return ok && c.VersionsNameContent()
}

// toucher is a folder.
type toucher interface {
	Touch(ctx context.Context, key store.Key) error
}

// touch sets the time of a value of the destination.
func (p *pass) touch(ctx context.Context, t toucher, name string) error {
	_, to, err := p.s.values.keys(name)
	if err == nil {
		err = t.Touch(ctx, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a concurrent writer has deleted it; the next Sync notices
	}
	return err
}

// compare copies a value unless that at the destination has the same bytes.
func (p *pass) compare(ctx context.Context, name string, from *store.Entry) error {
	same, err := p.s.values.sameBytes(ctx, name, from.Size)
	switch {
	case err != nil:
		return err
	case same:
		p.keep(from)
		return nil
	}
	return p.renew(ctx, name, from, &p.report.Replaced)
}

// renew copies a value that is no copy by its time and size.
func (p *pass) renew(ctx context.Context, name string, from *store.Entry, counts ...*int64) error {
	if same, err := p.startLate(ctx, name, from); err != nil {
		return err
	} else if same {
		p.keep(from)
		return nil
	}
	return p.copy(ctx, name, from, counts)
}

// copy copies a value and counts it.
func (p *pass) copy(ctx context.Context, name string, from *store.Entry, counts []*int64) error {
	n := from.Size
	if !p.s.pair.DryRun {
		if err := p.s.target.start(ctx); err != nil {
			return err
		}
		var err error
		if n, err = p.copyValue(ctx, name, from); errors.Is(err, fs.ErrNotExist) {
			return nil // a concurrent writer has deleted it; the next Sync notices
		} else if err != nil {
			return err
		}
	}
	p.s.count.add(1, counts...)
	p.s.count.add(n, &p.report.Bytes)
	return nil
}

// copyValue copies a value as [copying.Values.CopySettled] does, within the bytes that
// may be held.
func (p *pass) copyValue(ctx context.Context, name string, from *store.Entry) (int64, error) {
	held, err := p.s.values.room.Acquire(ctx, min(from.Size, copying.MaxBuffered))
	if err != nil {
		return 0, err
	}
	defer p.s.values.room.Release(held)
	key, to, err := p.s.values.keys(name)
	if err != nil {
		return 0, err
	}
	return p.values.CopySettled(ctx, to, key, store.Info{Size: from.Size, Version: from.Version})
}

// blank deletes a chunk that the source does not store.
func (p *pass) blank(ctx context.Context, name string, i *item) error {
	if !i.layout.Known() && !p.s.opt.Delete {
		return fmt.Errorf("%w: the keys of the chunks of %q are not known, and only the destination has %s; "+
			"if it may be deleted, ask for that", zarr.ErrUnsupported, "/"+p.s.pair.Source.Path.String()+"/"+strings.TrimSuffix(i.dir, "/"), name)
	}
	p.later(ctx, func(ctx context.Context) error {
		// A listing may miss a value that is replaced at that moment.
		source, key, err := p.s.values.keys(name)
		if err != nil {
			return err
		}
		if found, err := store.Exists(ctx, p.s.pair.Source.Store, source); found || err != nil {
			return err
		}
		if !p.s.pair.DryRun {
			if err := p.s.target.start(ctx); err != nil {
				return err
			}
			if err := p.values.Delete(ctx, key); err != nil {
				return err
			}
		}
		p.s.count.add(1, &p.report.Cleared)
		return nil
	})
	return nil
}

// rest notes what the documents of the source do not describe.
func (p *pass) rest(what role, name string, i *item, from, to *store.Entry) {
	if from != nil && !own.IsBelow(name) {
		p.s.count.add(1, &p.report.Other)
	}
	left, all := p.s.left, p.s.opt.Delete
	switch {
	case to == nil:
	case what == extraFile && (all || i.format == 2):
		// Beside documents of format 2, others count for readers.
		left.addExtra(i.dir, name)
	case what == newNode:
		dir, _ := path.Split(name)
		left.addOrphan(dir)
	case what == staleChunk && all:
		left.addStale(name)
	case what == staleChunk || what == extraFile:
		p.s.count.add(1, &p.report.Left)
	}
}

// later calls do in a goroutine.
func (p *pass) later(ctx context.Context, do func(ctx context.Context) error) {
	p.g.Go(func() error { return do(ctx) })
}

// isOld reports whether a value was written before SyncOptions.NewerThan.
func (p *pass) isOld(e *store.Entry) bool {
	return !e.Modified.IsZero() && e.Modified.Before(p.s.opt.NewerThan)
}

// keep counts a value that is not copied.
func (p *pass) keep(e *store.Entry) {
	p.s.count.add(1, &p.report.Kept)
	p.s.count.add(e.Size, &p.report.KeptBytes)
}

// values are those of both nodes.
type values struct {
	pair *copying.Copy
	room *budget.Budget // for bytes of values
}

// keys returns the keys of a value of both nodes. A name may be too long for a key.
func (v *values) keys(name string) (from, to store.Key, err error) {
	if from, err = v.pair.Source.Path.Key(name); err == nil {
		to, err = v.pair.Target.Path.Key(name)
	}
	return from, to, err
}

// verify compares all values and documents of the destination with the source. A part
// compares its values only.
func (s *syncer) verify(ctx context.Context) error {
	if s.opt.Share == nil {
		if err := s.verifyDocuments(ctx); err != nil {
			return err
		}
	}
	g, within := parallel.New(ctx)
	g.SetLimit(tasksOf(s.pair))
	from, to := store.List(within, s.pair.Source.Store, s.pair.Source.Path, store.Deep|store.WithVersions), store.List(within, s.pair.Target.Store, s.pair.Target.Path, store.Deep|store.WithVersions)
	return g.Wait(copying.Pair(within, from, to, func(from, to *store.Entry) error {
		name := copying.NameOf(from, to)
		if what, _ := s.source.roleOf(name); what != chunk || s.source.isDamaged(name) || within.Err() != nil {
			return within.Err()
		}
		if s.opt.Share != nil && (from == nil || !s.inShare(name)) {
			return nil
		}
		if from == nil || to == nil || from.Size != to.Size {
			return differs(name)
		}
		g.Go(func() error { return s.verifyValue(within, name, from.Size) })
		return nil
	}))
}

func (s *syncer) verifyDocuments(ctx context.Context) error {
	there, err := librarianOf(s.pair, s.pair.Target).those(ctx, s.source.nodes)
	if err != nil {
		return err
	}
	for dir, i := range s.source.nodes {
		for _, f := range i.files {
			if was := there[dir].file(f.name); was == nil || !publish.Same(was, f.raw) {
				return differs(dir + f.name)
			}
		}
	}
	return nil
}

func (s *syncer) verifyValue(ctx context.Context, name string, size int64) error {
	same, err := s.values.sameBytes(ctx, name, size)
	if err == nil && !same {
		err = differs(name)
	}
	if err != nil {
		return err
	}
	s.count.add(1, &s.count.report.Verified)
	s.count.add(size, &s.count.report.VerifiedBytes)
	return nil
}

func differs(name string) error {
	return fmt.Errorf("%w: %s differs after the copy, or one of the two was changed meanwhile; sync with checksums, and verify again", zarr.ErrConflict, name)
}

// comparedAtOnce is the number of bytes of each of two values that are compared at once.
const comparedAtOnce = 8 << 20

// sameBytes reports whether the values of both stores have the same bytes. Both have the
// given size, or have been changed since.
func (v *values) sameBytes(ctx context.Context, name string, size int64) (bool, error) {
	held, err := v.room.Acquire(ctx, 2*min(size, comparedAtOnce))
	if err != nil {
		return false, err
	}
	defer v.room.Release(held)
	from, to, err := v.keys(name)
	if err != nil {
		return false, err
	}
	pins := [2]*store.Pinned{store.Pin(v.pair.Source.Store, from, store.Info{}), store.Pin(v.pair.Target.Store, to, store.Info{})}
	var parts [2][]byte
	same := true
	for off := int64(0); same && err == nil && (off < size || off == 0); off += comparedAtOnce {
		for i, p := range pins {
			var info store.Info
			parts[i], info, err = p.Read(ctx, store.Request{Range: store.Span(off, min(size-off, comparedAtOnce))}, parts[i][:0])
			if err != nil {
				break
			}
			same = same && info.Size == size
		}
		same = same && bytes.Equal(parts[0], parts[1])
	}
	for _, p := range pins {
		err = errors.Join(err, p.Close())
	}
	// A value that was shortened, replaced or deleted meanwhile is another one.
	if errors.Is(err, store.ErrConflict) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return same, err
}
