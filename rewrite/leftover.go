// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// noteText returns the note that says that a copy has begun.
func (c *copier) noteText() []byte {
	if c.derivation.Work == "" {
		return []byte("{}")
	}
	return fmt.Appendf(nil, "{\"derivation\": %q}\n", c.derivation.Work)
}

// checkNote returns an error if another call has begun another derivation here meanwhile:
// it has deleted what this one has stored.
func (c *copier) checkNote(ctx context.Context) error {
	if c.derivation.Work == "" {
		return nil
	}
	note, err := c.document(ctx, c.to, c.goal.MustKey(noteName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(note, c.noteText()) {
		return fmt.Errorf("%w: another call has begun to make a node here; wait for it, or choose another place", store.ErrConflict)
	}
	return err
}

// clearLeftovers deletes what an unfinished copy has left, except what this one can use.
func (c *copier) clearLeftovers(ctx context.Context) error {
	keep, err := c.kept(ctx)
	if err != nil {
		return err
	}
	if keep == nil {
		c.report.Restarted = true
		return c.clear(ctx)
	}
	// Documents first, as clear does it: the nodes below must not be readable without
	// their chunks. The note stays, so after a crash in here, too, the next call goes on.
	for _, documents := range [...]bool{true, false} {
		err := c.clearThose(ctx, func(name string) bool {
			return name != noteName && slices.Contains(documentNames, path.Base(name)) == documents && !keep(name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// kept returns the function that tells which leftovers stay, or nil if all of them go:
// they are of other work.
func (c *copier) kept(ctx context.Context) (func(name string) bool, error) {
	d := c.derivation
	if d.Work == "" || d.Keep == nil {
		return nil, nil
	}
	note, err := c.document(ctx, c.to, c.goal.MustKey(noteName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(note, c.noteText()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return d.Keep(ctx)
}

// clearThose deletes the values of the destination that goes selects by their names.
func (c *copier) clearThose(ctx context.Context, goes func(name string) bool) error {
	b := &batches{s: c.to, d: c.Durability}
	g, within := parallel.New(ctx)
	g.SetLimit(c.workers())
	var listed error
	for e, err := range store.List(within, c.to, c.goal, true) {
		if err != nil {
			listed = err
			break
		}
		if e.Dir || !goes(e.Name) {
			continue
		}
		g.Go(func() error {
			return b.do(within, func(b store.Batch) error { return b.Delete(within, c.goal.MustKey(e.Name)) })
		})
	}
	return b.end(ctx, g.Wait(listed))
}
