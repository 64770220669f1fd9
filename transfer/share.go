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

// Share is the part of one process in work that several processes do together: in the
// values that [Sync] copies, ConvertTo of package convert converts and WritePart of
// package checksums reads, or in the chunks that RunPart of package check reads.
//
// The parts may come in any order, at the same time, and more than once. They publish
// nothing. When all have ended, the same call without a Share does the rest.
//
// A hash of the key of a value selects its part. The hash is the same on every machine.
// The chunks of an array are cut into ranges of consecutive numbers in C order, one for
// each part.
type Share struct {
	// Task is the number of the part, counted from 0, and Of the number of parts. 0 parts
	// count as 1.
	Task, Of int64
}

// String returns the number of the part and that of all parts.
func (s Share) String() string { return fmt.Sprintf("part %d of %d", s.Task, s.Of) }

// contains reports whether the part has a key. All keys belong to a nil Share.
func (s *Share) contains(key string) bool { return s == nil || copying.InShare(key, s.Task, s.Of) }

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
	s.target.hasNode, s.target.noted = false, false
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
	if s.opt.Verify && !s.pair.DryRun {
		return s.verify(ctx)
	}
	return nil
}

// inShare reports whether this call copies a value of the source.
func (s *syncer) inShare(name string) bool { return s.opt.Share.contains(s.above + name) }

// refuseClash returns the error of a part for an array that only one process may remove.
func (s *syncer) refuseClash(dir string) error {
	return fmt.Errorf("%w: the keys of %q have other chunks in the source, and a part removes nothing; sync it without parts, or remove it in the destination first",
		zarr.ErrConflict, s.target.shown(dir))
}

// startPart stores the note that a copy has begun, at a place that was free. The caller
// holds the lock.
func (d *destination) startPart(ctx context.Context) error {
	err := d.pair.CheckUnpublished(ctx)
	if err == nil {
		err = d.pair.StorePartNote(ctx, d.pair.CheckUnpublished)
	}
	d.noted = err == nil
	return err
}

// startLate stores the note for the first change of a part in a published node. It
// reports whether the destination has the value already: a part that comes after the
// publication must not leave a note only because a value is as young as its source, or
// because others have copied it since it was listed.
func (p *pass) startLate(ctx context.Context, name string, from *store.Entry) (isThere bool, err error) {
	if !p.s.target.isLate() {
		return false, nil
	}
	if isThere, err = p.isCopied(ctx, name, from); isThere || err != nil || p.s.pair.DryRun {
		return isThere, err
	}
	p.s.target.mu.Lock()
	defer p.s.target.mu.Unlock()
	if p.s.target.noted { // by another goroutine of this part
		return false, nil
	}
	err = p.s.pair.StorePartNote(ctx, func(ctx context.Context) error {
		if isThere, err = p.isCopied(ctx, name, from); err == nil && isThere {
			err = copying.ErrPublished
		}
		return err
	})
	if p.s.target.noted = err == nil; errors.Is(err, copying.ErrPublished) {
		err = nil
	}
	return isThere, err
}

// isLate reports whether this is a part that has found a published node, and no note yet.
func (d *destination) isLate() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isPart && d.hasNode && !d.noted
}

// isCopied reports whether the destination has a value with the bytes of the source.
func (p *pass) isCopied(ctx context.Context, name string, from *store.Entry) (bool, error) {
	_, key, err := p.s.values.keys(name)
	if err != nil {
		return false, err
	}
	info, err := store.Stat(ctx, p.s.pair.Target.Store, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != from.Size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return p.s.values.sameBytes(ctx, name, from.Size)
}
