// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// errPublished means that another process has published the node since a part has found
// the place free.
var errPublished = fmt.Errorf("%w: another process publishes the node; copy the part again", zarr.ErrConflict)

// errForeign means that a part has found what an unfinished copy of something else has
// left.
var errForeign = fmt.Errorf("the destination has what another unfinished copy has left, which a part does not delete; "+
	"delete it, or choose another place: %w", fs.ErrExist)

// mostBegins bounds how often a part begins.
const mostBegins = 3

// runPart copies the values of one part.
func (s *syncer) runPart(ctx context.Context) (err error) {
	for range mostBegins {
		// After a publication, there is probably nothing to do any more.
		if err = s.part(ctx); !errors.Is(err, errPublished) {
			break
		}
	}
	return err
}

func (s *syncer) part(ctx context.Context) error {
	s.node, s.noted = false, false
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

// mine reports whether this call copies a value of the source.
func (s *syncer) mine(name string) bool { return s.opt.Share.has(s.above + name) }

// refuseClash returns the error of a part for an array that only one process may remove.
func (s *syncer) refuseClash(dir string) error {
	return fmt.Errorf("%w: the keys of %q have other chunks in the source, and a part removes nothing; sync it without parts, or remove it in the destination first",
		zarr.ErrConflict, s.shown(dir))
}

// startPart stores the note that a copy has begun, at a place that was free. The caller
// holds the lock.
func (s *syncer) startPart(ctx context.Context) error {
	err := s.checkUnpublished(ctx)
	if err == nil {
		err = s.putNote(ctx, s.noteText(), s.checkUnpublished)
	}
	s.noted = err == nil
	return err
}

// putNote stores the note of a part, and then calls check. If the node was published
// just before the note was stored, nobody else would delete it: if check returns an
// error, the note that was stored is deleted again.
func (c *copier) putNote(ctx context.Context, text []byte, check func(context.Context) error) error {
	key := c.goal.MustKey(noteName)
	isNew, err := c.putNew(ctx, key, text)
	if err != nil {
		return err
	}
	if err = check(ctx); err != nil && isNew {
		if err := store.Delete(ctx, c.to, key); err != nil {
			return err
		}
	}
	return err
}

// putNew stores a value unless there is one, and reports whether there was none.
func (c *copier) putNew(ctx context.Context, key store.Key, value []byte) (bool, error) {
	_, err := store.PutIf(ctx, c.to, key, value, store.IfAbsent(), c.Durability)
	switch {
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case !errors.Is(err, store.ErrUnsupported):
		return err == nil, err
	}
	found, err := store.Exists(ctx, c.to, key)
	if found || err != nil {
		return false, err
	}
	return true, c.put(ctx, key, value)
}

// checkUnpublished returns errPublished if the destination has a node.
func (c *copier) checkUnpublished(ctx context.Context) error {
	found, err := exists(ctx, c.to, c.goal, documentNames[2:]...)
	if found && err == nil {
		err = errPublished
	}
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
	if isThere, err = p.isThere(ctx, name, from); isThere || err != nil || p.DryRun {
		return isThere, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.noted {
		return false, nil
	}
	err = p.putNote(ctx, p.noteText(), func(ctx context.Context) error {
		if isThere, err = p.isThere(ctx, name, from); err == nil && isThere {
			err = errPublished
		}
		return err
	})
	if p.noted = err == nil; errors.Is(err, errPublished) {
		err = nil
	}
	return isThere, err
}

// isLate reports whether this is a part that has found a published node, and no note yet.
func (s *syncer) isLate() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opt.Share != nil && s.node && !s.noted
}

// isThere reports whether the destination has a value with the bytes of the source.
func (p *pass) isThere(ctx context.Context, name string, from *store.Entry) (bool, error) {
	_, key, err := p.keys(name)
	if err != nil {
		return false, err
	}
	info, err := store.Stat(ctx, p.to, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size != from.Size {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return p.sameBytes(ctx, name, from.Size)
}
