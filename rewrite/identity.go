// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// checkApart refuses a destination that is the node itself, inside it or above it. A link
// or a mount gives a directory another name, so it compares the identities of directories
// if the stores have them.
func (c *copier) checkApart(ctx context.Context) error {
	if err := refused(overlap(c.from, c.at, c.to, c.goal)); err != nil {
		return err
	}
	source, err := store.Identities(c.from, c.at)
	if err != nil || len(source) == 0 {
		return err
	}
	// Identities follow links and mounts; names do not.
	if c.above, err = store.Identities(c.to, c.goal); err != nil {
		return err
	}
	if len(c.above) > 0 {
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
func (c *copier) checkLinks(ctx context.Context) error {
	for link, err := range store.Links(ctx, c.from, c.at) {
		if err != nil {
			return err
		}
		// A listing names links that lead nowhere, and a store without links has no other
		// names of the destination.
		if link.Lost || len(c.above) == 0 {
			continue
		}
		if err := c.checkMember(link.Name, link.To); err != nil {
			return err
		}
	}
	return nil
}

// checkReplaced refuses to overwrite a destination below which the node, or a directory
// above the node, is mounted.
func (c *copier) checkReplaced(ctx context.Context, source []store.Identity) error {
	if !c.Overwrite || c.above[0] == nil {
		return nil
	}
	nodes, err := publish.Below(ctx, publish.Node{Store: c.to, Path: c.goal})
	if err != nil {
		return err
	}
	for _, p := range nodes {
		id, err := store.Identify(c.to, p)
		if err != nil {
			return err
		}
		// To remove the destination would also remove the source, which is mounted below
		// it.
		if id != nil && slices.ContainsFunc(source, func(x store.Identity) bool { return x != nil && x.Same(id) }) && p != c.goal {
			return refused(around)
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
func (c *copier) relation(dir []store.Identity) relation {
	is := func(x store.Identity) func(store.Identity) bool {
		return func(y store.Identity) bool { return x != nil && y != nil && x.Same(y) }
	}
	switch {
	case is(dir[0])(c.above[0]):
		return same
	case slices.ContainsFunc(c.above[1:], is(dir[0])):
		return inside
	case slices.ContainsFunc(dir[1:], is(c.above[0])):
		return around
	}
	return apart
}

// checkMember refuses a directory below the node if its target is the destination, above
// it, or below it.
func (c *copier) checkMember(name string, at store.Path) error {
	ids, err := store.Identities(c.from, at)
	if err != nil || len(ids) == 0 {
		return err
	}
	where := map[relation]string{same: "the destination itself", inside: "where the destination lies", around: "in the destination"}
	if r := c.relation(ids); r != apart {
		return fmt.Errorf("%w: %s in the node is another name of a place that is %s", zarr.ErrInvalidArgument, name, where[r])
	}
	return nil
}

// checkNodes refuses directories below the node that are mounted from the destination.
func (c *copier) checkNodes(dirs iter.Seq[string]) error {
	if len(c.above) == 0 {
		return nil
	}
	for dir := range dirs {
		p, err := c.at.Join(dir)
		if err != nil || dir == "" {
			continue
		}
		id, err := store.Identify(c.from, p)
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

// directories yields the directories of nodes, relative to the copied one.
func (c *copier) directories() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, d := range c.documents {
			dir, _ := split(d.rel)
			if !yield(strings.TrimSuffix(dir, "/")) {
				return
			}
		}
	}
}

// directories yields the directories of members, relative to the converted node.
func (s *survey) directories() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, m := range s.members {
			if !yield(m.Path) {
				return
			}
		}
	}
}
