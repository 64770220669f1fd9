// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// checkApart refuses a destination that is the node itself, inside it or above it. A link
// or a mount gives a directory another name, so it compares the identities of directories
// if the stores have them.
func (c *Copy) checkApart(ctx context.Context) error {
	if err := refused(overlap(c.Source.Store, c.Source.Path, c.Target.Store, c.Target.Path)); err != nil {
		return err
	}
	source, err := directory.Above(c.Source.Store, c.Source.Path)
	if err != nil || len(source) == 0 {
		return err
	}
	// Identities follow links and mounts; names do not.
	if c.parents, err = directory.Above(c.Target.Store, c.Target.Path); err != nil {
		return err
	}
	if len(c.parents) > 0 {
		if err := refused(c.relation(source)); err != nil {
			return err
		}
		if err := c.checkReplaced(ctx, source); err != nil {
			return err
		}
	}
	return c.checkLinks(ctx)
}

// checkLinks compares the targets of the links below the node with the destination.
func (c *Copy) checkLinks(ctx context.Context) error {
	for link, err := range store.DirectoriesOf(c.Source.Store).Links(ctx, c.Source.Path) {
		if err != nil {
			return err
		}
		// A listing names links that lead nowhere, and a store without links has no other
		// names of the destination.
		if link.Lost || len(c.parents) == 0 {
			continue
		}
		if err := c.checkMember(link.Name, link.To); err != nil {
			return err
		}
	}
	return nil
}

// checkMember refuses a directory below the node if its target is the destination, above
// it, or below it.
func (c *Copy) checkMember(name string, at store.Path) error {
	ids, err := directory.Above(c.Source.Store, at)
	if err != nil || len(ids) == 0 {
		return err
	}
	where := map[relation]string{same: "the destination itself", inside: "where the destination lies", around: "in the destination"}
	if r := c.relation(ids); r != apart {
		return fmt.Errorf("%w: %s in the node is another name of a place that is %s", zarr.ErrInvalidArgument, name, where[r])
	}
	return nil
}

// checkReplaced refuses to overwrite a destination below which the node, or a directory
// above the node, is mounted.
func (c *Copy) checkReplaced(ctx context.Context, source []store.Identity) error {
	if !c.Overwrite || c.parents[0].IsZero() {
		return nil
	}
	nodes, err := publish.Below(ctx, publish.Node{Store: c.Target.Store, Path: c.Target.Path})
	if err != nil {
		return err
	}
	for _, p := range nodes {
		id, err := store.DirectoriesOf(c.Target.Store).Identify(p)
		if err != nil {
			return err
		}
		// To remove the destination would also remove the source, which is mounted below
		// it.
		if hasIdentity(source, id) && p != c.Target.Path {
			return refused(around)
		}
	}
	return nil
}

// CheckNodes refuses directories below the node that are mounted from the destination.
func (c *Copy) CheckNodes(dirs iter.Seq[string]) error {
	if len(c.parents) == 0 {
		return nil
	}
	for dir := range dirs {
		p, err := c.Source.Path.Join(dir)
		if err != nil || dir == "" {
			continue
		}
		id, err := store.DirectoriesOf(c.Source.Store).Identify(p)
		if err != nil {
			return err
		}
		// checkApart and checkLinks check the directories above.
		if r := c.relation([]store.Identity{id}); r != apart {
			return fmt.Errorf("%w: %s in the node is the destination by another name, or the destination lies there", zarr.ErrInvalidArgument, dir)
		}
	}
	return nil
}

// refused returns the error for a relation of the destination to the node.
func refused(r relation) error {
	switch r {
	case same:
		return fmt.Errorf("%w: the destination is the node itself", zarr.ErrInvalidArgument)
	case inside:
		return fmt.Errorf("%w: the destination lies in the node", zarr.ErrInvalidArgument)
	case around:
		return fmt.Errorf("%w: the node lies in the destination", zarr.ErrInvalidArgument)
	}
	return nil
}

// relation returns how the destination relates to a directory, given the identities of
// that directory and of those above it.
func (c *Copy) relation(dir []store.Identity) relation {
	switch {
	case hasIdentity(c.parents[:1], dir[0]):
		return same
	case hasIdentity(c.parents[1:], dir[0]):
		return inside
	case hasIdentity(dir[1:], c.parents[0]):
		return around
	}
	return apart
}

// hasIdentity reports whether a directory is among others. The zero identity is unknown.
func hasIdentity(dirs []store.Identity, dir store.Identity) bool {
	return slices.ContainsFunc(dirs, dir.Same)
}

// relation is the relation of two places.
type relation int

const (
	apart  relation = iota
	same            // the same place
	inside          // the second is inside the first
	around          // the first is inside the second
)

// overlap returns the relation of place b of store t to place a of store s, if the stores
// know their places.
func overlap(s store.Store, a store.Path, t store.Store, b store.Path) relation {
	x, y := a.String(), b.String()
	// Different stores may have the same place, such as a directory that was opened
	// twice.
	if !identical(s, t) {
		first, second := store.TraitsOf(s).Place, store.TraitsOf(t).Place
		if first == "" || second == "" {
			return apart
		}
		x, y = join(first, x), join(second, y)
	}
	switch {
	case x == y:
		return same
	case below(x, y):
		return inside
	case below(y, x):
		return around
	}
	return apart
}

// identical reports whether two stores are the same below their wrappers. If they cannot
// be compared, stores of the same type count as identical, to be safe.
func identical(s, t store.Store) bool {
	s, t = store.Driver(s), store.Driver(t)
	if reflect.TypeOf(s) != reflect.TypeOf(t) {
		return false
	}
	return !reflect.ValueOf(s).Comparable() || s == t
}

// join returns the place of a node in a store.
func join(place, path string) string {
	return strings.TrimRight(strings.TrimRight(place, "/")+"/"+path, "/")
}

// below reports whether y is below x.
func below(x, y string) bool { return x == "" || strings.HasPrefix(y, x+"/") }
