// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// moving is a request after which planes have other indices. In contrast to the others it
// does something else when it is done a second time.
type moving interface {
	Request
	// planesAt returns the axis of the planes, and the extent that it must have in the
	// beginning, or 0.
	planesAt() (axis int, expect int64)
}

// moves reports whether the request moves planes.
func (s *session) moves() bool {
	_, is := bare(s.request).(moving)
	return is
}

// identify finds out what a request that moves planes is about. It also completes a
// transaction that a crashed writer has left, because that tells whether the request was
// done already.
func (s *session) identify(ctx context.Context) error {
	if !s.moves() {
		return nil
	}
	if s.Array.Writable() == nil {
		if err := s.Finish(ctx); err != nil {
			return err
		}
	}
	r, is := s.request.(Insertion)
	if !is || r.Identity != "" {
		return nil
	}
	old, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	planes, err := r.planes(old)
	if err != nil {
		return err
	}
	if r.Words != nil {
		r.Identity = identityOfWords(r.Words, planes)
	} else {
		r.Identity, err = identityOf(ctx, r.From, int64(old.Engine.Size))
	}
	s.request = r
	return err
}

// hashedBytes is the size of the parts in which elements are hashed.
const hashedBytes = 8 << 20

// identityOf returns a hash of the shape and the elements of a source.
func identityOf(ctx context.Context, src *zarr.Source, size int64) (string, error) {
	h := sha256.New()
	fmt.Fprint(h, src.Shape)
	room := make([]byte, 0, hashedBytes)
	var err error
	staging.Halves(grid.BoxOf(src.Shape), max(1, hashedBytes/size), func(box grid.Box) bool {
		n, _ := box.Len()
		if n *= size; n > int64(cap(room)) {
			room = make([]byte, 0, n)
		}
		if err = ctx.Err(); err == nil && n > 0 {
			err = src.Read(ctx, slices.Clone(box), room[:n])
		}
		h.Write(room[:n])
		return err == nil
	})
	if err != nil {
		return "", fmt.Errorf("read the elements to insert: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// identityOfWords returns a hash of words, which make so many planes.
func identityOfWords(words [][]byte, planes int64) string {
	h := sha256.New()
	fmt.Fprint(h, planes, len(words))
	var length []byte
	for _, w := range words {
		length = binary.AppendUvarint(length[:0], uint64(len(w)))
		h.Write(length)
		h.Write(w)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// errShort is the conflict of a request whose planes the array no longer has.
var errShort error = final("the array has become too short meanwhile; give this rechunk up (rechunk.Abandon), or grow the array again")

// unmoved returns an error if planes have moved since the array was opened, and with them
// those that the request means.
func (s *session) unmoved(ctx context.Context) error {
	if !s.moves() {
		return nil
	}
	_, err := s.Unmoved(ctx)
	return err
}

// confirmPlanes is unmoved once the array is claimed. From then on planes cannot move.
func (s *session) confirmPlanes(ctx context.Context) error {
	err := s.unmoved(ctx)
	if err != nil {
		err = errors.Join(err, s.release(ctx))
	}
	return err
}

// checkExpected returns an error if the array has another extent than the request
// expects. A request that is resumed has begun when it had that extent.
func (s *session) checkExpected(ctx context.Context, old *snapshot.Array) error {
	m, is := bare(s.request).(moving)
	if !is {
		return nil
	}
	axis, expect := m.planesAt()
	if c, err := s.resumed(ctx); expect == 0 || c != nil || err != nil {
		return err
	}
	if n := old.Grid.Axis(axis).Extent(); n != expect {
		return &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w; it has %d planes, not %d", errUnexpected, n, expect)}
	}
	return nil
}

// errUnexpected is the conflict of a request that expects another extent.
var errUnexpected error = final("the axis is not as expected")

// release drops the claim if nothing is staged.
func (s *session) release(ctx context.Context) error {
	if s.claim == nil || s.records != nil {
		return nil
	}
	return s.drop(ctx)
}

// target returns what the request makes of the array. If that was possible when the array
// was claimed and is not now, the error is a conflict.
func (s *session) target(old *snapshot.Array) (*target, error) {
	t, err := s.request.target(old)
	if s.claim != nil && errors.As(err, new(noPlanes)) {
		err = fmt.Errorf("%w: %v", errShort, err)
	}
	return t, err
}

// wasDone takes the steps that a process has not taken because it crashed after it had
// published the array. If its request was this one, and moves planes, wasDone reports
// that nothing is left to do: to do it again would move other planes.
func (s *session) wasDone(ctx context.Context, old *snapshot.Array) (done bool, err error) {
	if s.moves() {
		if done, err = s.wasPublished(ctx, old); err != nil {
			return false, err
		}
	}
	s.report.Changed = done
	return done, s.completePublished(ctx, old)
}

// wasPublished reports whether a process has published this request and has not taken the
// steps after that.
func (s *session) wasPublished(ctx context.Context, old *snapshot.Array) (bool, error) {
	print, err := s.fingerprint()
	if err != nil {
		return false, err
	}
	c, err := s.claimed(ctx, print)
	return err == nil && c != nil && c.Fingerprint == print && sameKeys(c.Keys, old.Engine.Keys, old.Grid.Rank()) && s.mayResume(c), err
}
