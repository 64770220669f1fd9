// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// NoteName is the key, relative to the destination, of the note that a copy or a removal
// has begun.
const NoteName = publish.Unfinished

// ErrPublished means that another process has published the node since a part has found
// the place free.
var ErrPublished = fmt.Errorf("%w: another process publishes the node; copy the part again", zarr.ErrConflict)

// ErrForeign means that a part has found what an unfinished copy of something else has
// left.
var ErrForeign = fmt.Errorf("the destination has what another unfinished copy has left, which a part does not delete; "+
	"delete it, or choose another place: %w", fs.ErrExist)

// HasNote reports whether the note at the destination is that of this copy. If there is
// no note, the error wraps [fs.ErrNotExist].
func (c *Copy) HasNote(ctx context.Context) (bool, error) {
	note, err := ReadDocument(ctx, c.Target.Store, c.Target.Path.MustKey(NoteName), c.Limits)
	return err == nil && bytes.Equal(note, c.Note), err
}

// StoreNote stores the note.
func (c *Copy) StoreNote(ctx context.Context) error {
	return c.Put(ctx, c.Target.Path.MustKey(NoteName), c.Note)
}

// DeleteNote deletes the note.
func (c *Copy) DeleteNote(ctx context.Context) error {
	_, err := store.Write(ctx, c.Target.Store, store.Delete(c.Target.Path.MustKey(NoteName)), store.Sync)
	return err
}

// StorePartNote stores the note of a part, and then calls check. If the node was
// published just before the note was stored, nobody else would delete it: if check
// returns an error, the note that was stored is deleted again.
func (c *Copy) StorePartNote(ctx context.Context, check func(context.Context) error) error {
	isNew, err := c.storeNewNote(ctx)
	if err != nil {
		return err
	}
	if err = check(ctx); err != nil && isNew {
		if err := c.DeleteNote(ctx); err != nil {
			return err
		}
	}
	return err
}

// storeNewNote stores the note unless there is one, and reports whether there was none.
func (c *Copy) storeNewNote(ctx context.Context) (bool, error) {
	key := c.Target.Path.MustKey(NoteName)
	_, err := store.Write(ctx, c.Target.Store, store.PutIf(key, c.Note, store.IfAbsent()), c.Durability)
	switch {
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case !errors.Is(err, store.ErrUnsupported):
		return err == nil, err
	}
	// The store has no conditional writes. Two parts may both store the note then, with
	// the same text.
	found, err := store.Exists(ctx, c.Target.Store, key)
	if found || err != nil {
		return false, err
	}
	return true, c.StoreNote(ctx)
}

// CheckUnpublished returns ErrPublished if the destination has a node.
func (c *Copy) CheckUnpublished(ctx context.Context) error {
	found, err := Exists(ctx, c.Target.Store, c.Target.Path, DocumentNames[2:]...)
	if found && err == nil {
		err = ErrPublished
	}
	return err
}

// clearLeftovers deletes what an unfinished copy has left, except what this one can use.
func (c *Copy) clearLeftovers(ctx context.Context) error {
	keep, err := c.usable(ctx)
	if err != nil {
		return err
	}
	if keep == nil {
		c.Restarted = true
		return c.Clear(ctx)
	}
	// Documents first, as in Clear: the nodes below must not be readable without their
	// chunks. The note stays, so a crash in here leads the next call here again.
	for _, documents := range [...]bool{true, false} {
		err := c.ClearWhere(ctx, func(name string) bool {
			return name != NoteName && IsDocument(name) == documents && !keep(name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// usable returns the function that tells which leftovers stay, or nil if all of them go
// because they are of other work.
func (c *Copy) usable(ctx context.Context) (func(name string) bool, error) {
	if c.Keep == nil {
		return nil, nil
	}
	isOwn, err := c.HasNote(ctx)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isOwn {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.Keep(ctx)
}

// ClearWhere deletes the values of the destination that match, given their names.
func (c *Copy) ClearWhere(ctx context.Context, match func(name string) bool) error {
	v := c.NewValues()
	g, within := parallel.New(ctx)
	g.SetLimit(Workers(&c.Options.Options))
	var listed error
	for e, err := range store.List(within, c.Target.Store, c.Target.Path, store.Deep) {
		if err != nil {
			listed = err
			break
		}
		if !e.Dir && match(e.Name) {
			g.Go(func() error { return v.Delete(within, c.Target.Path.MustKey(e.Name)) })
		}
	}
	return v.End(ctx, g.Wait(listed))
}

// Clear deletes the leftovers of an unfinished copy, documents first.
func (c *Copy) Clear(ctx context.Context) error {
	// Delete the note last. After a crash in here, the next copy can clear again.
	order := store.TreeOrder{First: DocumentNames, Last: NoteName}
	return store.DeleteTree(ctx, c.Target.Store, c.Target.Path, order, c.Durability)
}
