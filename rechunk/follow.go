// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
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
	s, err := newSession(a, r, opt)
	if err == nil && s.into == nil {
		err = errNowhere
	}
	if err == nil {
		s.follows = true
		err = s.alone(ctx, func(ctx context.Context) error { return s.follow(ctx, a) })
	}
	return &s.report, s.Fail(following, err)
}

// following is the operation of a claim of an array that follows another one.
const following = "follow"

// follow makes the array that follows, or brings it up to date.
func (s *session) follow(ctx context.Context, a *zarr.Array) error {
	found, err := tree.Format(ctx, s.at.Store, s.at.Path)
	if err != nil {
		return err
	}
	begun, err := store.Exists(ctx, s.at.Store, s.noteKey())
	if err != nil {
		return err
	}
	if found == 0 || begun {
		if err := s.checkFollowed(ctx); err != nil {
			return err
		}
		s.report.Strategy = copies
		if err := s.create(ctx); err != nil || found == 0 {
			return err
		}
		// Another call had made the array, and this one has tidied up after it.
	}
	f, err := s.newFollower(ctx, a, true)
	if err == nil {
		err = f.writable()
	}
	if err != nil {
		return err
	}
	defer f.letGo(ctx)
	err = f.again(ctx, f.round)
	if _, locks := store.As[store.Locker](s.at.Store); err == nil || !locks && !errors.Is(err, publish.ErrIncomplete) {
		err = errors.Join(err, f.release(store.Finishing(ctx)))
	}
	f.report.Changed = f.report.Changed || s.report.Changed
	s.report = f.report
	return err
}

// follower is the session of an array that follows another one.
type follower struct {
	*session          // of the array that follows
	source   *session // of the array that is followed
}

// newFollower opens the array that follows a, for writing or for a plan.
func (s *session) newFollower(ctx context.Context, a *zarr.Array, write bool) (*follower, error) {
	o := a.Options()
	o.Write, o.RequireChunks = write, false
	to, err := s.Into.OpenArray(ctx, &o)
	if err != nil {
		return nil, err
	}
	opt := s.Options
	opt.Into = nil
	f := &follower{session: newSessionIn(to, &opt), source: s}
	f.request = followed{}
	return f, nil
}

// followed is the request of an array that follows another one. What it gets depends on
// that one, see [follower.compare].
type followed struct{}

func (followed) operation() string { return following }

func (followed) target(*snapshot.Array) (*target, error) { return nil, nil }

// round compares both arrays, and publishes what is new.
func (f *follower) round(ctx context.Context) error {
	now, err := f.Fresh(ctx)
	if err == nil {
		err = f.completePublished(ctx, now)
	}
	if err != nil {
		return err
	}
	ctx, u, err := f.compare(store.WithLocking(ctx, f.Lock.Locking))
	if err != nil {
		return err
	}
	return u.run(ctx)
}

// release gives up what this call, or one that was stopped, has staged and will not
// publish. In a store with locks, what a call has staged that failed stays for the next
// one. Elsewhere the next one could not tell whether that call still runs.
func (f *follower) release(ctx context.Context) error {
	f.letGo(ctx)
	c, err := f.claimed(ctx, "")
	if err != nil || c == nil || c.Operation != following || !f.mayResume(c) {
		return err
	}
	return f.abandon(ctx)
}
