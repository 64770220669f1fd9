// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/store"
)

// Share is the part of one process in the values that [Sync], or ConvertTo of package
// convert, copies. A hash of the key of a value, below the node in the destination,
// selects its part. The hash is the same on every machine.
//
// The parts come in any order, at the same time, and more than once. Each lists all keys,
// copies the values that are its own and not up to date, and publishes nothing. When all
// have ended, the same call without a Share publishes: it copies what is missing or has
// changed since, writes the documents, and deletes what has to be deleted.
type Share struct {
	// Task is the number of the part, counted from 0, and Of the number of parts. If Of
	// is 0, the part has all values.
	Task, Of int64
}

// Check returns an error if there is no such part.
func (p *Share) Check() error {
	if p != nil && (p.Of < 0 || p.Task < 0 || p.Task >= max(1, p.Of)) {
		return fmt.Errorf("%w: part %d of %d; parts count from 0", zarr.ErrInvalidArgument, p.Task, p.Of)
	}
	return nil
}

// Contains reports whether the part has a key. All keys belong to a nil Share.
func (p *Share) Contains(key string) bool {
	return p == nil || p.Of <= 1 || int64(spread(key)%uint64(p.Of)) == p.Task
}

// spread returns a hash of a key, which must never change. It is FNV-1a with the last
// steps of MurmurHash3: the low bits of FNV-1a alone depend on little of a key.
func spread(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// mostBegins bounds how often a part begins.
const mostBegins = 3

// runPart copies the values of one part.
func (s *syncer) runPart(ctx context.Context) (err error) {
	for range mostBegins {
		// After a publication, there is probably nothing to do any more.
		if err = s.part(ctx); !errors.Is(err, copying.ErrPublished) {
			break
		}
	}
	return err
}

func (s *syncer) part(ctx context.Context) error {
	s.hasNode, s.noteStored = false, false
	if err := s.begin(ctx); err != nil {
		return err
	}
	if err := s.replace(ctx); err != nil {
		return err
	}
	if err := s.pass(ctx); err != nil {
		return err
	}
	s.tallyNodes()
	if s.opt.Verify && !s.DryRun {
		return s.verify(ctx)
	}
	return nil
}

// inShare reports whether this call copies a value of the source.
func (s *syncer) inShare(name string) bool { return s.opt.Share.Contains(s.above + name) }

// refuseClash returns the error of a part for an array that only one process may remove.
func (s *syncer) refuseClash(dir string) error {
	return fmt.Errorf("%w: the keys of %q have other chunks in the source, and a part removes nothing; sync it without parts, or remove it in the destination first",
		zarr.ErrConflict, s.shown(dir))
}

// startPart stores the note that a copy has begun, at a place that was free. The caller
// holds the lock.
func (s *syncer) startPart(ctx context.Context) error {
	err := s.CheckUnpublished(ctx)
	if err == nil {
		err = s.StorePartNote(ctx, s.CheckUnpublished)
	}
	s.noteStored = err == nil
	return err
}

// startLate stores the note for the first change of a part in a published node. It
// reports whether the destination has the value already: a part that comes after the
// publication must not leave a note only because a value is as young as its source, or
// because others have copied it since it was listed.
func (p *pass) startLate(ctx context.Context, name string, from *store.Entry) (isThere bool, err error) {
	if !p.isLate() {
		return false, nil
	}
	if isThere, err = p.isCopied(ctx, name, from); isThere || err != nil || p.DryRun {
		return isThere, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noteStored { // by another goroutine of this part
		return false, nil
	}
	err = p.StorePartNote(ctx, func(ctx context.Context) error {
		if isThere, err = p.isCopied(ctx, name, from); err == nil && isThere {
			err = copying.ErrPublished
		}
		return err
	})
	if p.noteStored = err == nil; errors.Is(err, copying.ErrPublished) {
		err = nil
	}
	return isThere, err
}

// isLate reports whether this is a part that has found a published node, and no note yet.
func (s *syncer) isLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opt.Share != nil && s.hasNode && !s.noteStored
}

// isCopied reports whether the destination has a value with the bytes of the source.
func (p *pass) isCopied(ctx context.Context, name string, from *store.Entry) (bool, error) {
	_, key, err := p.keys(name)
	if err != nil {
		return false, err
	}
	info, err := store.Stat(ctx, p.Target.Store, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != from.Size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return p.sameBytes(ctx, name, from.Size)
}
