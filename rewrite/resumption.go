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
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// goesOn reports whether the conversion keeps what others have stored for it.
func (c *conversion) goesOn() bool { return c.Resume || c.Share != nil }

// mine reports whether this call stores a value of an array.
func (c *conversion) mine(m *member, name string) bool {
	return c.Share.has(strings.TrimPrefix(m.Path+"/"+name, "/"))
}

// resume runs a conversion in parts, or the one that goes on and publishes.
func (c *conversion) resume(ctx context.Context) error {
	is, ours, err := c.resumable(ctx)
	if err != nil {
		return err
	}
	if is == current || is == old {
		return c.finish(ctx)
	}
	c.unlike = is == begun && !ours
	if err := c.survey.gauge(ctx, &c.Options); err != nil {
		return err
	}
	err = c.begin(ctx, ours)
	for _, m := range c.survey.members {
		if err == nil {
			err = c.refresh(ctx, m)
		}
	}
	switch {
	case err != nil || c.Share != nil:
	case c.DryRun:
		err = c.copyOthers(ctx)
	default:
		err = c.complete(ctx)
	}
	if errors.Is(err, errPublished) || errors.Is(err, fs.ErrExist) {
		// Another process has published meanwhile. If it did the same, all is well.
		return c.finish(ctx)
	}
	return err
}

// resumable returns the state of the destination, and whether an unfinished conversion
// of the same node to the same format has left it.
func (c *conversion) resumable(ctx context.Context) (is state, ours bool, err error) {
	for _, s := range [...]store.Store{c.from, c.copier.to} {
		if _, ok := store.As[store.Lister](s); !ok {
			return is, false, fmt.Errorf("%w: a conversion in parts, or one that goes on, needs stores that can be listed", zarr.ErrUnsupported)
		}
	}
	is, ours, err = c.lookForNote(ctx)
	if err != nil || is == current || is == old {
		return is, false, err
	}
	if is == something {
		return is, false, fmt.Errorf("the destination has files but no node; choose another place: %w", fs.ErrExist)
	}
	if is == begun && !ours && c.Share != nil {
		return is, false, errForeign
	}
	if err = c.checkParents(ctx); err == nil {
		err = (&syncer{copier: c.copier, node: ours}).checkNoLinks(ctx)
	}
	return is, ours, err
}

// lookForNote returns the state of the destination, and whether the note is that of this
// conversion. If the note is gone at that moment, another process has published.
func (c *conversion) lookForNote(ctx context.Context) (is state, ours bool, err error) {
	for range 3 {
		if is, err = c.look(ctx); err != nil || is != begun {
			return is, false, err
		}
		if ours, err = c.isOurs(ctx); !errors.Is(err, fs.ErrNotExist) {
			return is, ours, err
		}
	}
	return is, false, err
}

// sharedNote returns the note of a conversion that others may go on with.
func (c *conversion) sharedNote() []byte {
	return fmt.Appendf(nil, "{\"convert\": %q, \"format\": %d}\n", join(store.PlaceOf(c.from), c.at.String()), c.format)
}

func (c *conversion) isOurs(ctx context.Context) (bool, error) {
	note, err := c.document(ctx, c.copier.to, c.goal.MustKey(noteName))
	return err == nil && bytes.Equal(note, c.sharedNote()), err
}

// begin prepares the destination. A part only stores the note, and what its values mean.
func (c *conversion) begin(ctx context.Context, ours bool) (err error) {
	switch {
	case c.DryRun:
	case c.Share != nil && !ours:
		err = c.putNote(ctx, c.sharedNote(), c.checkUnpublished)
	case c.Share == nil:
		err = c.beginAlone(ctx, ours)
	}
	if err != nil {
		return err
	}
	return c.checkMeanings(ctx)
}

func (c *conversion) beginAlone(ctx context.Context, ours bool) error {
	if c.unlike {
		c.report.Restarted, c.unlike = true, false
		if err := c.clear(ctx); err != nil {
			return err
		}
	}
	if err := c.makeParents(ctx); err != nil {
		return err
	}
	if !ours {
		return c.put(ctx, c.goal.MustKey(noteName), c.sharedNote())
	}
	// Documents first, as clear does it.
	for _, documents := range [...]bool{true, false} {
		if err := c.sweep(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes what the new documents do not describe: either documents, or the rest.
// Documents that stay are those of another call that publishes the same.
func (c *conversion) sweep(ctx context.Context, documents bool) error {
	want, err := c.wanted()
	if err != nil {
		return err
	}
	targets := c.targets()
	var failed error
	err = c.clearThose(ctx, func(name string) bool {
		if name == noteName || strings.HasPrefix(name, meaningDir) || slices.Contains(documentNames, path.Base(name)) != documents {
			return false
		}
		if !documents {
			return !targets.describe(name)
		}
		raw, err := c.document(ctx, c.copier.to, c.goal.MustKey(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return err == nil && !publish.Same(raw, want[name])
	})
	return errors.Join(err, failed)
}

// wanted returns the documents that the conversion writes, by their keys below the node.
func (c *conversion) wanted() (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, m := range c.survey.members {
		list, err := m.documents()
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			all[path.Join(m.Path, t.name)] = t.bytes
		}
	}
	return all, nil
}

// finish ends a call that finds a node at the destination. If it is what this conversion
// makes, there is nothing left to do but what a crash has left undone.
func (c *conversion) finish(ctx context.Context) error {
	if c.Share == nil && !c.DryRun {
		if err := c.tidy(ctx); err != nil {
			return err
		}
	}
	want, err := c.wanted()
	if err != nil {
		return err
	}
	for name, text := range want {
		raw, err := c.document(ctx, c.copier.to, c.goal.MustKey(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || !publish.Same(raw, text) && !likeness.Same(raw, text) {
			return fmt.Errorf("the destination is a node already, and not what this conversion makes; Options.Overwrite replaces it, or choose another name: %w", fs.ErrExist)
		}
	}
	return nil
}

// tidy does what a crash after the publication has left undone.
func (c *conversion) tidy(ctx context.Context) error {
	ours, err := c.isOurs(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.deleteMeanings(ctx, func(string) bool { return true })
	case err != nil || !ours:
		return err
	}
	return errors.Join(c.deleteNotes(ctx), updateAbove(ctx, c.dst, c.Options.Options))
}

// deleteNotes deletes the note, and before it what is known about values.
func (c *conversion) deleteNotes(ctx context.Context) error {
	if c.goesOn() {
		if err := c.deleteMeanings(ctx, func(string) bool { return true }); err != nil {
			return err
		}
	}
	return store.Delete(ctx, c.copier.to, c.goal.MustKey(noteName))
}
