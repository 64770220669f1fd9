// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// verify compares all values and documents of the destination with the source. A part
// compares its values only.
func (s *syncer) verify(ctx context.Context) error {
	if s.opt.Share == nil {
		if err := s.verifyDocuments(ctx); err != nil {
			return err
		}
	}
	g, within := parallel.New(ctx)
	g.SetLimit(s.tasks())
	from, to := store.ListVersions(within, s.from, s.at, true), store.ListVersions(within, s.to, s.goal, true)
	return g.Wait(pair(within, from, to, func(from, to *store.Entry) error {
		name := nameOf(from, to)
		if what, _ := s.roleOf(name); what != chunk || s.isDamaged(name) || within.Err() != nil {
			return within.Err()
		}
		if s.opt.Share != nil && (from == nil || !s.mine(name)) {
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
	there, err := s.librarian(s.to, s.goal).those(ctx, s.is)
	if err != nil {
		return err
	}
	for dir, i := range s.is {
		for _, f := range i.files {
			if was := there[dir].file(f.name); was == nil || !publish.Same(was, f.raw) {
				return differs(dir + f.name)
			}
		}
	}
	return nil
}

func (s *syncer) verifyValue(ctx context.Context, name string, size int64) error {
	same, err := s.sameBytes(ctx, name, size)
	if err == nil && !same {
		err = differs(name)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Verified++
	s.report.VerifiedBytes += size
	return nil
}

func differs(name string) error {
	return fmt.Errorf("%w: %s differs after the copy, or one of the two was changed meanwhile; sync with checksums, and verify again", zarr.ErrConflict, name)
}

// comparedAtOnce is the number of bytes of each of two values that are compared at once.
const comparedAtOnce = 8 << 20

// sameBytes reports whether the values of both stores have the same bytes. Both have the
// given size, or have been changed since.
func (s *syncer) sameBytes(ctx context.Context, name string, size int64) (bool, error) {
	held, err := s.room.Acquire(ctx, 2*min(size, comparedAtOnce))
	if err != nil {
		return false, err
	}
	defer s.room.Release(held)
	from, to, err := s.keys(name)
	if err != nil {
		return false, err
	}
	pins := [2]*store.Pinned{store.Pin(s.from, from, store.Info{}), store.Pin(s.to, to, store.Info{})}
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
