// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// State describes the destination.
type State int

const (
	Free      State = iota // there is nothing
	Begun                  // there are leftovers of an unfinished copy
	Published              // there is a node
	Unknown                // there are values of unknown origin
)

// Look returns the state of the destination. If it finds values alone, it looks again: a
// part may have begun between its requests, or another process may have published.
func (c *Copy) Look(ctx context.Context) (s State, err error) {
	for range 3 {
		if s, err = c.lookOnce(ctx); err != nil || s != Unknown {
			break
		}
	}
	return s, err
}

func (c *Copy) lookOnce(ctx context.Context) (State, error) {
	if found, err := Exists(ctx, c.Target.Store, c.Target.Path, tree.Documents...); err != nil || found {
		return Published, err
	}
	if found, err := Exists(ctx, c.Target.Store, c.Target.Path, NoteName); err != nil || found {
		return Begun, err
	}
	for e, err := range store.List(ctx, c.Target.Store, c.Target.Path, store.Deep) {
		if errors.Is(err, store.ErrUnsupported) {
			break
		}
		// A crash before the note is stored leaves its directory without values,
		// or the file of a lock.
		if err == nil && own.IsReserved(path.Base(e.Name)) {
			continue
		}
		return Unknown, err
	}
	return Free, nil
}

// ErrUnknown refuses a destination in the state Unknown.
var ErrUnknown = fmt.Errorf("the destination has files but no node; choose another place: %w", fs.ErrExist)

// Unknown refuses a destination in the state Unknown: it returns [ErrUnknown], or an
// error that names the repair where only the document of the destination itself is
// missing: nodes are directly below. It may be a mirror that has lost the document. It
// may be a folder of stores, too, so nothing is made there before somebody has said
// that it is a group.
func (c *Copy) Unknown(ctx context.Context) error {
	names, err := tree.Directories(ctx, c.Target.Store, c.Target.Path)
	if err != nil {
		return ErrUnknown
	}
	for _, name := range names {
		p, err := c.Target.Path.Join(name)
		if err != nil {
			continue // no node has such a name
		}
		if format, err := tree.Format(ctx, c.Target.Store, p); err != nil || format == 0 {
			continue
		}
		return fmt.Errorf("the destination has nodes such as %q and no document of its own: if that is lost, make it a group of format %d again ("+
			remedy.CreateGroup+" %s), or choose another place: %w", name, c.Format, c.Target.Location, fs.ErrExist)
	}
	return ErrUnknown
}

// CheckPlace refuses a destination that cannot hold the copy.
func (c *Copy) CheckPlace(ctx context.Context) error {
	s, err := c.Look(ctx)
	switch {
	case err != nil:
		return err
	case s == Unknown:
		return c.Unknown(ctx)
	case s == Published && !c.Overwrite:
		return fmt.Errorf("the destination is a node already ("+remedy.Overwrite+" replaces it, or choose another name): %w", fs.ErrExist)
	}
	return c.CheckParents(ctx)
}

// CheckParents refuses arrays, and groups of the other format, above the destination.
func (c *Copy) CheckParents(ctx context.Context) error {
	for p := c.Target.Path; !p.IsRoot(); {
		p = p.Parent()
		isOld, err := Exists(ctx, c.Target.Store, p, ".zgroup", ".zarray")
		if err != nil {
			return err
		}
		isNew, err := Exists(ctx, c.Target.Store, p, "zarr.json")
		if err != nil {
			return err
		}
		// Readers of the group would not find nodes of the other format.
		if c.Format == 2 && isNew || c.Format == 3 && isOld && !isNew {
			return fmt.Errorf("%w: %q in the store of the destination is of format %d and cannot contain nodes of format %d: "+
				"convert the node to format %[3]d, or choose another destination", zarr.ErrInvalidArgument, "/"+p.String(), 5-c.Format, c.Format)
		}
		isArray := false
		if isNew {
			// Arrays and groups of format 3 have the same document, so open it.
			n, err := c.Target.Location.Root().At(p.String()).Open(ctx, &zarr.Options{Limits: c.Limits, Codecs: c.Codecs, Experimental: c.Experimental})
			if err != nil && !errors.Is(err, zarr.ErrUnsupported) {
				return err
			}
			_, isArray = n.(*zarr.Array)
		} else if isArray, err = Exists(ctx, c.Target.Store, p, ".zarray"); err != nil {
			return err
		}
		if isArray {
			return fmt.Errorf("%w: %q is an array; it cannot have nodes below it", zarr.ErrInvalidArgument, "/"+p.String())
		}
	}
	return nil
}

// MakeParents creates missing groups above the destination and adds them to the
// consolidated metadata above them. Readers of consolidated metadata refuse a member
// whose group is not listed.
func (c *Copy) MakeParents(ctx context.Context) error {
	if c.Target.Path.IsRoot() {
		return nil
	}
	parent, document := c.Target.Path.Parent(), "zarr.json"
	if c.Format == 2 {
		document = ".zgroup"
	}
	if found, err := Exists(ctx, c.Target.Store, parent, document); found || err != nil {
		return err
	}
	_, err := c.Target.Location.Root().At(parent.String()).CreateGroup(ctx, nil, &zarr.CreateOptions{Options: *c.Writing(), Format: c.Format})
	if errors.Is(err, fs.ErrExist) {
		return nil // a concurrent writer created it
	}
	return err
}

// Prepare runs step 2.
func (c *Copy) Prepare(ctx context.Context) error {
	if err := c.CheckPlace(ctx); err != nil {
		return err
	}
	s, err := c.Look(ctx)
	switch {
	case err != nil:
		return err
	case s == Published:
		// Not atomic: a crash after this leaves no node at the destination, and
		// the note of the removal, so that the copy can be repeated.
		err = c.Target.Location.Delete(ctx, c.Writing())
	case s == Begun:
		// A copy crashed or failed here before its step 6.
		err = c.clearLeftovers(ctx)
	}
	if err != nil {
		return err
	}
	if err := c.MakeParents(ctx); err != nil {
		return err
	}
	// Store the note before the first value. After a crash from here on, the next copy or
	// removal finds it and may delete the values.
	return c.StoreNote(ctx)
}

// Put writes a value with the durability of the copy.
func (c *Copy) Put(ctx context.Context, key store.Key, value []byte) error {
	_, err := store.Write(ctx, c.Target.Store, store.Put(key, value), c.Durability)
	return err
}

// PutDocument writes a document. The last one, which makes the copy visible, is written
// only if there is none: a concurrent copy to the same place must not mix with this one.
// By then the destination must have all names.
func (c *Copy) PutDocument(ctx context.Context, key store.Key, raw []byte, last bool) error {
	if !last {
		err := c.Put(ctx, key, raw)
		if err == nil {
			c.names.add(c.Target.Path.Rel(key))
		}
		return err
	}
	if err := c.VerifyNames(ctx); err != nil {
		return err
	}
	_, err := store.Write(ctx, c.Target.Store, store.PutIf(key, raw, store.IfAbsent()), c.Durability)
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return c.Put(ctx, key, raw)
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("a concurrent writer created a node at the destination: %w", fs.ErrExist)
	}
	return err
}

// CheckNoLinks refuses a destination with symbolic links below it: what they lead to may
// be outside of it.
func (c *Copy) CheckNoLinks(ctx context.Context) error {
	for link, err := range store.DirectoriesOf(c.Target.Store).Links(ctx, c.Target.Path) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: %q in the destination is a symbolic link, and what it leads to must not change; name the target, or remove the link",
			zarr.ErrInvalidArgument, link.Name)
	}
	return nil
}

// Exists reports whether a key has a value.
func Exists(ctx context.Context, s store.Store, p store.Path, names ...string) (bool, error) {
	for _, name := range names {
		if found, err := store.Exists(ctx, s, p.MustKey(name)); found || err != nil {
			return found, err
		}
	}
	return false, nil
}
