// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Follow keeps a second layout of an array, at [Options.Into], in step with it: with
// other chunks, shards or codecs. The array that is followed is only read.
//
// The first call makes the new array, as [Do] does. Later calls find out what has changed
// since: they compare the versions of the stored chunks, from one listing, with those
// that are noted in the new array. They store only the chunks that have new or other
// elements, and publish them by one write of the metadata:
//
//   - If the array has only grown, new chunks are stored beside the present ones.
//   - If elements that readers can see have changed, all chunks get other keys, as in
//     any rechunk: those that stay are linked or copied by the store. The superseded
//     ones stay for [Vacuum].
//
// A chunk that was stored again with the same elements, such as by a rechunk of the
// array, is recognized by the sum of its elements. So a reader of the new array always
// sees the elements of one moment, and a call that is stopped can be repeated.
//
// Of r, later calls use only the chunks. Where these are a list that does not reach the
// end of an axis, or r says nothing, the new elements are one more chunk. If r asks for
// other codecs than that of the first call, or for other chunks or another region than
// there are, the error wraps [zarr.ErrInvalidArgument]. If another program has appended
// to the new array or has rechunked it, the error wraps [zarr.ErrConflict]: then remove
// it and follow again.
//
// Attributes and names of dimensions that have changed since the last call are set in the
// new array too. An attribute that was set in the new array stays, until the same one of
// the array that is followed changes.
//
// In a store without versions, nothing tells that a chunk was overwritten in place. There
// the error wraps [zarr.ErrUnsupported]. It does, too, for format 2 in a store without
// locks.
func Follow(ctx context.Context, a *zarr.Array, r Rechunking, opt *Options) (*Report, error) {
	s, err := newFollowing(a, r, opt)
	if err == nil {
		err = s.hold.exclusively(ctx, func(ctx context.Context) error { return follow(ctx, s) })
	}
	return &s.ledger.report, s.array.fail(operationFollow, err)
}

// newFollowing returns a session of an array that follows another one.
func newFollowing(a *zarr.Array, r Rechunking, opt *Options) (*session, error) {
	// The first call makes an array, which supersedes no grid. Later ones vacuum the
	// array that follows.
	grace := time.Duration(0)
	if opt != nil && opt.Into != nil {
		o := *opt
		grace, o.Grace = opt.Grace, 0
		opt = &o
	}
	s, err := newSession(a, r, opt)
	s.opt.Grace = grace
	if err == nil && s.destination == nil {
		err = errNowhere
	}
	if err == nil {
		s.destination.notesOrigin = true
	}
	return s, err
}

// follow makes the array that follows, or brings it up to date.
func follow(ctx context.Context, s *session) error {
	found, err := tree.Format(ctx, s.hold.at.Store, s.hold.at.Path)
	if err != nil {
		return err
	}
	begun, err := store.Exists(ctx, s.hold.at.Store, s.destination.noteKey())
	if err != nil {
		return err
	}
	if found == 0 || begun {
		if err := checkFollowed(ctx, s); err != nil {
			return err
		}
		s.ledger.report.Strategy = strategyCopy
		if err := s.create(ctx); err != nil || found == 0 {
			return err
		}
		// Another call had made the array, and this one has tidied up after it.
	}
	f, err := newFollower(ctx, s, true)
	if err == nil {
		err = f.to.array.writable()
	}
	if err != nil {
		return err
	}
	defer f.to.hold.stopRenewing(ctx)
	err = f.to.retry(ctx, f.round)
	if _, locks := store.As[store.Locker](s.hold.at.Store); err == nil || !locks && !errors.Is(err, publish.ErrIncomplete) {
		err = errors.Join(err, f.release(store.Finishing(ctx)))
	}
	f.to.ledger.report.Changed = f.to.ledger.report.Changed || s.ledger.report.Changed
	s.ledger.report = f.to.ledger.report
	return err
}

// newFollower opens the array that follows another one, for writing or for a plan.
func newFollower(ctx context.Context, s *session, write bool) (*follower, error) {
	o := s.array.opened.Options()
	o.Write, o.RequireChunks = write, false
	to, err := s.opt.Into.OpenArray(ctx, &o)
	if err != nil {
		return nil, err
	}
	opt := s.opt
	opt.Into = nil
	f := &follower{to: newSessionIn(to, &opt), source: s}
	f.to.array.request = followRequest{}
	return f, nil
}

// followRequest is the request of an array that follows another one. What it gets
// depends on that one, see [follower.nextDocument].
type followRequest struct{}

func (followRequest) operation() string { return operationFollow }

func (followRequest) target(*snapshot.Array) (*target, error) { return nil, nil }

// round compares both arrays, and publishes what is new.
func (f *follower) round(ctx context.Context) error {
	now, err := f.to.array.fresh(ctx)
	if err == nil {
		err = f.to.hold.completePublished(ctx, now)
	}
	if err != nil {
		return err
	}
	ctx, u, err := f.compare(store.WithLocking(ctx, f.to.array.core.Lock().Locking))
	if err != nil {
		return err
	}
	return u.run(ctx)
}

// release gives up what this call, or one that was stopped, has staged and will not
// publish. In a store with locks, what a call has staged that failed stays for the next
// one. Elsewhere the next one could not tell whether that call still runs.
func (f *follower) release(ctx context.Context) error {
	f.to.hold.stopRenewing(ctx)
	c, err := f.to.hold.claimed(ctx, "")
	if err != nil || c == nil || c.Operation != operationFollow || !f.to.hold.mayResume(c) {
		return err
	}
	return f.to.abandon(ctx)
}

// Followed returns the name of the array, and of its store, that a follows ([Follow]), or
// "" if a follows none. Do not change the elements, the shape or the chunks of one that
// does: the next [Follow] refuses it, or does not notice what has changed. It makes no
// request for an array of format 3 without the attribute varve:follow.
func Followed(ctx context.Context, a *zarr.Array) (name string, err error) {
	s := newSessionIn(a, nil)
	if a.Format() == 2 {
		// No array of format 2 follows another one in a store without locks.
		if _, locks := store.As[store.Locker](s.hold.at.Store); !locks {
			return "", nil
		}
	} else if _, found, err := metadata.Attribute(a.Attributes(), own.Follow); !found || err != nil {
		return "", s.array.fail("inspect", err)
	}
	now, err := s.array.fresh(ctx)
	if err != nil {
		return "", s.array.fail("inspect", err)
	}
	o, err := readOrigin(ctx, s.hold.at, now, mostFollowed)
	var not final
	if errors.As(err, &not) {
		return "", nil // a copy of one that does, or one that was changed already
	}
	if err != nil {
		return "", s.array.fail("inspect", err)
	}
	return o.head.Source, nil
}

// mostFollowed bounds the record of an array that is followed in bytes.
const mostFollowed = 1 << 30

// NewFollowPlan predicts what [Follow] would do, and changes nothing. Like Follow, it
// reads the chunks of the array that is followed whose versions have changed.
func NewFollowPlan(ctx context.Context, a *zarr.Array, r Rechunking, opt *Options) (*Plan, error) {
	s, err := newFollowing(a, r, opt)
	if err != nil {
		return nil, s.array.fail(operationFollow, err)
	}
	p, err := planFollow(ctx, s)
	return p, s.array.fail(operationFollow, err)
}

// errNowhere is the error of a call that does not say which array follows.
var errNowhere = fmt.Errorf("%w: say where the array is that follows "+remedy.IntoPlace, zarr.ErrInvalidArgument)

func planFollow(ctx context.Context, s *session) (*Plan, error) {
	found, err := tree.Format(ctx, s.hold.at.Store, s.hold.at.Path)
	if err != nil {
		return nil, err
	}
	if found == 0 {
		if err := checkFollowed(ctx, s); err != nil {
			return nil, err
		}
		return s.plan(ctx)
	}
	f, err := newFollower(ctx, s, false)
	if err != nil {
		return nil, err
	}
	var u *update
	err = f.to.retry(ctx, func(ctx context.Context) (err error) {
		_, u, err = f.compare(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Request: singleRequest(s.array.request), Operation: s.array.request.operation(), Fingerprint: operationFollow, Grid: u.pair.planned.Grid,
		Strategy: u.difference.strategy, Guarantee: guaranteeAtomic, Space: Space{Free: -1}, Memory: f.to.opt.memory(),
		Sources: int64(u.pair.sources.Len()), BytesStored: u.pair.sources.Bytes,
	}
	if p.State, err = stateOf(u.pair.source); err != nil {
		return nil, err
	}
	p.State.addChunks(u.pair.sources)
	if p.Changes = p.Strategy != strategyMetadata || u.difference.described; !p.Changes {
		return p, nil
	}
	return p, u.predict(ctx, p)
}

// predict fills in a plan that stores chunks.
func (u *update) predict(ctx context.Context, p *Plan) error {
	list := &listing{source: pages(u.pair.sources.Len())}
	list.addComparison()
	list.addComparison()
	if p.Strategy == strategyFlip {
		kept, err := staging.ListKeys(ctx, u.pair.current)
		if err != nil {
			return err
		}
		p.Cloned = int64(kept.Len())
		p.Links = store.Can(u.f.to.hold.at.Store, store.OpClone)
		p.Requests.Copy = p.Cloned
		list.pages += 2 * pages(kept.Len())
	}
	read := map[int64]bool{} // chunks of the array that is followed
	for _, r := range u.difference.regions {
		if err := u.predictRegion(p, r.box, read); err != nil {
			return err
		}
	}
	p.Requests.Get, p.Requests.Put, p.Requests.List = int64(len(read)), p.Encoded, list.pages
	p.Space.Likely = p.BytesEncoded
	p.Stages = []PlanStage{{Name: "stage", Tasks: int64(len(u.difference.regions))}}
	return nil
}

// predictRegion adds the elements of a box.
func (u *update) predictRegion(p *Plan, box grid.Box, read map[int64]bool) error {
	chunks, err := u.pair.planned.Grid.Touched(box)
	if err != nil {
		return err
	}
	elements, _ := box.Len()
	stored, _ := chunks.Len()
	p.include(Counts{Encoded: stored, BytesDecoded: checked.Capped(elements, int64(u.pair.source.Engine.Size)), BytesEncoded: checked.Capped(elements, int64(u.pair.source.Engine.Size))})
	sources, err := u.pair.source.Grid.Touched(u.pair.sourceBox(box))
	if err != nil {
		return err
	}
	add := func(index []int64) {
		if n := strided.Number(u.pair.source.Grid, index); !read[n] && u.pair.sources.Contains(index) {
			read[n] = true
			p.BytesRead += u.pair.sources.Size(index)
		}
	}
	if n, ok := sources.Len(); ok && n <= int64(u.pair.sources.Len()) {
		for index := range sources.Indices() {
			add(index)
		}
		return nil
	}
	for index := range u.pair.sources.All() {
		if sources.Contains(index) {
			add(index)
		}
	}
	return nil
}
