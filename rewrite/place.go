// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// noteName is the key, relative to the destination, of the note that a copy or a removal
// has begun.
const noteName = publish.Unfinished

// Unfinished reports whether an unfinished copy, conversion or [Sync] has left its note
// at a place. Readers do not see what it has left, or see the old documents. Another copy
// deletes what they do not see, and so does [zarr.Location.Delete]. Another Sync goes on,
// and so does a conversion with [Options.Resume].
func Unfinished(ctx context.Context, at *zarr.Location) (bool, error) {
	p, err := store.ParsePath(at.Path())
	if err != nil {
		return false, err
	}
	return exists(ctx, at.Store(), p, noteName)
}

// exists reports whether a key has a value.
func exists(ctx context.Context, s store.Store, p store.Path, names ...string) (bool, error) {
	for _, name := range names {
		if found, err := store.Exists(ctx, s, p.MustKey(name)); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// state describes the destination.
type state int

const (
	free      state = iota // nothing
	begun                  // leftovers of an unfinished copy
	current                // a node of format 3
	old                    // a node of format 2
	something              // values of unknown origin
)

// look returns the state of the destination. If it finds values alone, it looks again: a
// part may have begun between its requests, or another process may have published.
func (c *copier) look(ctx context.Context) (s state, err error) {
	for range 3 {
		if s, err = c.lookOnce(ctx); err != nil || s != something {
			break
		}
	}
	return s, err
}

func (c *copier) lookOnce(ctx context.Context) (state, error) {
	for _, s := range []struct {
		names []string
		state state
	}{{[]string{"zarr.json"}, current}, {[]string{".zarray", ".zgroup"}, old}, {[]string{noteName}, begun}} {
		if found, err := exists(ctx, c.to, c.goal, s.names...); err != nil || found {
			return s.state, err
		}
	}
	for e, err := range store.List(ctx, c.to, c.goal, true) {
		if errors.Is(err, store.ErrUnsupported) {
			break
		}
		// A crash before the note is stored leaves its directory without values,
		// or the file of a lock.
		if _, name := split(e.Name); err == nil && own.Is(name) {
			continue
		}
		return something, err
	}
	return free, nil
}

// checkPlace refuses a destination that cannot hold the copy.
func (c *copier) checkPlace(ctx context.Context) error {
	s, err := c.look(ctx)
	switch {
	case err != nil:
		return err
	case s == something:
		return fmt.Errorf("the destination has files but no node; choose another place: %w", fs.ErrExist)
	case (s == current || s == old) && !c.Overwrite:
		return fmt.Errorf("the destination is a node already (Options.Overwrite replaces it, or choose another name): %w", fs.ErrExist)
	}
	return c.checkParents(ctx)
}

// checkParents refuses arrays, and groups of the other format, above the destination.
func (c *copier) checkParents(ctx context.Context) error {
	for p := c.goal; !p.IsRoot(); {
		p = p.Parent()
		isOld, err := exists(ctx, c.to, p, ".zgroup", ".zarray")
		if err != nil {
			return err
		}
		isNew, err := exists(ctx, c.to, p, "zarr.json")
		if err != nil {
			return err
		}
		// Readers of the group would not find nodes of the other format.
		if c.old && isNew || !c.old && isOld && !isNew {
			return fmt.Errorf("%w: %q in the store of the destination is of format %d and cannot contain nodes of format %d: "+
				"convert the node to format %[3]d, or choose another destination", zarr.ErrInvalidArgument, "/"+p.String(), formatOf(!c.old), formatOf(c.old))
		}
		isArray := false
		if isNew {
			// Arrays and groups of format 3 have the same document, so open it.
			n, err := c.dst.Root().At(p.String()).Open(ctx, &zarr.Options{Limits: c.Limits, Codecs: c.Codecs, Experimental: c.Experimental})
			if err != nil && !errors.Is(err, zarr.ErrUnsupported) {
				return err
			}
			_, isArray = n.(*zarr.Array)
		} else if isArray, err = exists(ctx, c.to, p, ".zarray"); err != nil {
			return err
		}
		if isArray {
			return fmt.Errorf("%w: %q is an array; it cannot have nodes below it", zarr.ErrInvalidArgument, "/"+p.String())
		}
	}
	return nil
}

// formatOf returns 2 if old is set, and 3 otherwise.
func formatOf(old bool) int {
	if old {
		return 2
	}
	return 3
}

// prepare runs step 2.
func (c *copier) prepare(ctx context.Context) error {
	if err := c.checkPlace(ctx); err != nil {
		return err
	}
	s, err := c.look(ctx)
	switch {
	case err != nil:
		return err
	case s == current || s == old:
		// Not atomic: a crash after this leaves no node at the destination, and
		// the note of the removal, so that the copy can be repeated.
		err = c.dst.Delete(ctx, c.writing())
	case s == begun:
		// A copy crashed or failed here before its step 6.
		err = c.clearLeftovers(ctx)
	}
	if err != nil {
		return err
	}
	if err := c.makeParents(ctx); err != nil {
		return err
	}
	// Store the note before the first value. After a crash from here on, the next copy or
	// removal finds it and may delete the values.
	return c.put(ctx, c.goal.MustKey(noteName), c.noteText())
}

// put writes a value with the durability of the copy.
func (c *copier) put(ctx context.Context, key store.Key, value []byte) error {
	_, err := store.Put(ctx, c.to, key, value, c.Durability)
	return err
}

// makeParents creates missing groups above the destination and adds them to the
// consolidated metadata above them. Readers of consolidated metadata refuse a member
// whose group is not listed.
func (c *copier) makeParents(ctx context.Context) error {
	if c.goal.IsRoot() {
		return nil
	}
	parent, document := c.goal.Parent(), "zarr.json"
	if c.old {
		document = ".zgroup"
	}
	if found, err := exists(ctx, c.to, parent, document); found || err != nil {
		return err
	}
	_, err := c.dst.Root().At(parent.String()).CreateGroup(ctx, nil, &zarr.CreateOptions{Options: *c.writing(), Format: formatOf(c.old)})
	if errors.Is(err, fs.ErrExist) {
		return nil // a concurrent writer created it
	}
	return err
}

// clear deletes the leftovers of an unfinished copy, documents first.
func (c *copier) clear(ctx context.Context) error {
	// Delete the note last. After a crash in here, the next copy can clear again.
	order := store.TreeOrder{First: documentNames, Last: noteName}
	return store.DeleteTree(ctx, c.to, c.goal, order, c.Durability)
}

// publish runs steps 4 and 5 and deletes the note. It compares every document twice:
// all of them before it writes the first, and each one again before it writes that.
func (c *copier) publish(ctx context.Context) error {
	for _, write := range [...]bool{false, true} {
		for i, d := range c.documents {
			raw, err := c.document(ctx, c.from, c.at.MustKey(d.rel))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			// If a concurrent writer changed the document, the copied chunks may belong
			// to either version.
			if err != nil || sha256.Sum256(raw) != d.digest {
				return fmt.Errorf("%w: %s was changed while it was copied; copy it again", zarr.ErrSourceChanged, c.at.MustKey(d.rel))
			}
			if !write {
				continue
			}
			if err := c.putDocument(ctx, c.goal.MustKey(d.rel), raw, i == len(c.documents)-1); err != nil {
				return err
			}
		}
	}
	return store.Delete(ctx, c.to, c.goal.MustKey(noteName))
}

// putDocument writes a document. The last one, which makes the copy visible, is written
// only if there is none: a concurrent copy to the same place must not mix with this one.
// By then the destination must have all names.
func (c *copier) putDocument(ctx context.Context, key store.Key, raw []byte, last bool) error {
	if !last {
		err := c.put(ctx, key, raw)
		if err == nil {
			c.spelled.add(c.goal.Rel(key))
		}
		return err
	}
	if err := c.spelled.verify(ctx, c.to, c.goal); err != nil {
		return err
	}
	_, err := store.PutIf(ctx, c.to, key, raw, store.IfAbsent(), c.Durability)
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return c.put(ctx, key, raw)
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("a concurrent writer created a node at the destination: %w", fs.ErrExist)
	}
	return err
}
