// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// A document of the source may be damaged: a copy that was cut off has left half of it,
// or nothing. Such a node looks as if it had no chunks. So Sync leaves alone what the
// destination has in its place, which may be the only sound copy, syncs everything else,
// and fails.

// damageOf returns why a node cannot be read from its documents, or nil. A document that
// only needs something unknown is sound: its node is copied as it is.
func damageOf(i *item, name string, raw []byte) error {
	var n metadata.Node
	var err error
	if name == metadata.V3Node {
		n, err = metadata.Parse(raw, metadata.Limits{})
	} else {
		n, err = metadata.ParseV2(name, raw, i.file(metadata.V2Attributes), metadata.Limits{})
	}
	switch {
	case len(raw) == 0:
		return fmt.Errorf("%w: %s is empty", zarr.ErrInvalidMetadata, name)
	case n == nil && errors.Is(err, metadata.ErrInvalid) && !errors.Is(err, strictjson.ErrLimit):
		return fmt.Errorf("%s: %w", name, err)
	case i.kind == "":
		return fmt.Errorf("%w: %s is neither that of an array nor that of a group", zarr.ErrInvalidMetadata, name)
	}
	return nil
}

// folder returns an error if a directory without documents has a directory with the name
// of one.
func (l *librarian) folder(ctx context.Context, dir string) error {
	p, err := l.at.Join(strings.TrimSuffix(dir, "/"))
	if err != nil {
		return err
	}
	for e, err := range store.Usable(store.List(ctx, l.s, p, false)) {
		if err != nil {
			return err
		}
		if e.Dir && slices.Contains(tree.Documents, e.Name) {
			return fmt.Errorf("%w: %s is a directory", zarr.ErrInvalidMetadata, e.Name)
		}
	}
	return nil
}

// hidden returns why a document that is missing may be damaged: a directory of a file
// system has its name.
func (l *librarian) hidden(rel string) (why, err error) {
	p, err := l.at.Join(rel)
	if err != nil {
		return nil, err
	}
	id, err := store.Identify(l.s, p)
	if id == nil || err != nil {
		return nil, err
	}
	_, name := split(rel)
	return fmt.Errorf("%w: %s is a directory", zarr.ErrInvalidMetadata, name), nil
}

// DamageError is the error of a [Sync] that has done everything else: documents of the
// source cannot be read. It wraps [zarr.ErrInvalidMetadata].
type DamageError struct {
	// Nodes are the paths of their nodes below the source. Nothing has changed at and
	// below these paths in the destination.
	Nodes []string
	whys  []error
}

// mostDamaged bounds the nodes that the text of a DamageError names.
const mostDamaged = 3

// Error names the first nodes, and says why each cannot be read.
func (e *DamageError) Error() string {
	var named []string
	for i, name := range e.Nodes[:min(mostDamaged, len(e.Nodes))] {
		named = append(named, fmt.Sprintf("%q (%v)", "/"+name, e.whys[i]))
	}
	if more := len(e.Nodes) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("documents of the source cannot be read: %s; these nodes stay in the destination as they are, and everything else is synced; "+
		"restore the documents, or remove the nodes from the source", strings.Join(named, ", "))
}

// Unwrap returns the reasons.
func (e *DamageError) Unwrap() []error { return e.whys }

// add adds the damage of a Sync of a node below.
func (e *DamageError) add(name string, o *DamageError) {
	for i, node := range o.Nodes {
		if at := path.Join(name, node); !slices.Contains(e.Nodes, at) {
			e.Nodes, e.whys = append(e.Nodes, at), append(e.whys, o.whys[i])
		}
	}
}

// matching returns the damage of nodes that match a pattern of paths, or that are above
// paths that may match it.
func (e *DamageError) matching(pattern string) *DamageError {
	some, parts := new(DamageError), strings.Split(pattern, "/")
	for i, name := range e.Nodes {
		depth := min(len(parts), 1+strings.Count(name, "/"))
		if ok, _ := path.Match(strings.Join(parts[:depth], "/"), name); ok { // the pattern is valid
			some.Nodes, some.whys = append(some.Nodes, name), append(some.whys, e.whys[i])
		}
	}
	return some
}

// orNil returns the error, or nil if no node is damaged.
func (e *DamageError) orNil() error {
	if len(e.Nodes) == 0 {
		return nil
	}
	return e
}

// damageIn takes the damaged nodes out of an inventory, and returns them.
func damageIn(all inventory) *DamageError {
	e := new(DamageError)
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if why := all[dir].damage; why != nil {
			e.Nodes, e.whys = append(e.Nodes, strings.TrimSuffix(dir, "/")), append(e.whys, why)
			delete(all, dir)
		}
	}
	return e
}

// sources reads the documents of the source. Those that are damaged are put into
// s.damaged, and the groups above describe their nodes as the destination does.
func (s *syncer) sources(ctx context.Context) (inventory, error) {
	all, err := s.librarian(s.from, s.at).walk(ctx)
	if err != nil {
		return nil, err
	}
	if root := all[""]; root != nil && root.damage != nil {
		return nil, fmt.Errorf("a document of the source cannot be read, and nothing is changed; restore it: %w", root.damage)
	}
	s.damaged = damageIn(all)
	for _, name := range s.damaged.Nodes {
		for above := name; above != ""; {
			dir, _ := split(above)
			if i := all[dir]; i != nil {
				if err := s.keepListed(ctx, i, strings.TrimPrefix(name, dir)); err != nil {
					return nil, err
				}
			}
			above = strings.TrimSuffix(dir, "/")
		}
	}
	return all, nil
}

// isDamaged reports whether a key lies at or below a damaged node of the source.
func (s *syncer) isDamaged(rel string) bool {
	return slices.ContainsFunc(s.damaged.Nodes, func(name string) bool { return strings.HasPrefix(rel, name+"/") })
}

// keepListed makes the consolidated metadata of a group list a node, and what is below
// it, as the group at the destination lists them: chunks of the destination would be read
// by another document otherwise.
func (s *syncer) keepListed(ctx context.Context, group *item, name string) error {
	there, err := s.librarian(s.to, s.goal).item(ctx, group.dir)
	if err != nil {
		return err
	}
	was := there.listed()
	for n := range group.files {
		f := &group.files[n]
		is := f.listed()
		if is == nil {
			continue
		}
		c, err := tree.WithMember(is, name, nil, metadata.Limits{})
		if err != nil {
			return err
		}
		for at, raw := range was.Nodes() {
			if at != name && !strings.HasPrefix(at, name+"/") {
				continue
			}
			// The destination may list what consolidated metadata cannot have.
			if more, err := c.With(at, raw, metadata.Limits{}); err == nil {
				c = more
			}
		}
		if f.raw, err = f.withListed(c); err != nil {
			return err
		}
	}
	return nil
}

// listed returns the consolidated metadata of a group, which may be empty.
func (i *item) listed() *metadata.Consolidated {
	if i != nil {
		for _, f := range i.files {
			if c := f.listed(); c != nil {
				return c
			}
		}
	}
	return new(metadata.Consolidated)
}

// listed returns the consolidated metadata that a document has, or nil.
func (f file) listed() *metadata.Consolidated {
	switch f.name {
	case metadata.V2Consolidated:
		if c, err := metadata.ParseConsolidatedV2(f.raw, metadata.Limits{}); err == nil {
			return c
		}
	case metadata.V3Node:
		if g, err := metadata.ParseGroup(f.raw, metadata.Limits{}); err == nil {
			return g.Consolidated
		}
	}
	return nil
}

// withListed returns the document with other consolidated metadata.
func (f file) withListed(c *metadata.Consolidated) ([]byte, error) {
	if f.name == metadata.V2Consolidated {
		return c.Marshal(metadata.Limits{})
	}
	g, err := metadata.ParseGroup(f.raw, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	return g.WithConsolidated(c).Marshal(metadata.Limits{})
}
