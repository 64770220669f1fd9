// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// A document of the source may be damaged: a copy that was cut off has stored half of
// it, or nothing. Such a node looks as if it had no chunks. The destination may have
// the only sound copy, so Sync does not change the node there, syncs everything else,
// and fails. It does the same for a damaged document of the destination that it may not
// delete, because the kind of that node is unknown.

// damageOf returns why a node cannot be read from its documents, or nil. A document that
// only needs something unknown is sound: its node is copied as it is.
func damageOf(i *item, name string, raw []byte) error {
	var n metadata.Node
	var err error
	if name == nodename.V3Node {
		n, err = metadata.Parse(raw, metadata.Limits{})
	} else {
		n, err = metadata.ParseV2(name, raw, i.file(nodename.V2Attributes), metadata.Limits{})
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
	for e, err := range store.Usable(store.List(ctx, l.s, p, store.Flat)) {
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
	id, err := store.DirectoriesOf(l.s).Identify(p)
	if id.IsZero() || err != nil {
		return nil, err
	}
	_, name := path.Split(rel)
	return fmt.Errorf("%w: %s is a directory", zarr.ErrInvalidMetadata, name), nil
}

// DamageError is the error of a [Sync] that has done everything else: documents of the
// source cannot be read, or of the destination without [SyncOptions.Delete]. It wraps
// [zarr.ErrInvalidMetadata], and [fs.ErrExist] if a document of the destination is among
// them.
type DamageError struct {
	// Nodes are the paths of their nodes below the source. Nothing has changed at and
	// below these paths in the destination.
	Nodes []string
	whys  []error
}

// blockedError says why a node of the destination is in the way.
type blockedError struct{ why error }

func (e *blockedError) Error() string { return e.why.Error() }

func (e *blockedError) Unwrap() error { return e.why }

func (e *blockedError) Is(target error) bool { return target == fs.ErrExist }

// mostDamaged bounds the nodes that the text of a DamageError names.
const mostDamaged = 3

// Error names the first nodes, and says why each cannot be read.
func (e *DamageError) Error() string {
	var text []string
	source, there := e.named(false), e.named(true)
	if source != "" {
		text = append(text, "documents of the source cannot be read: "+source)
	}
	if there != "" {
		text = append(text, "documents of the destination cannot be read: "+there)
	}
	text = append(text, "these nodes stay in the destination as they are, and everything else is synced")
	if source != "" {
		text = append(text, "restore the documents of the source, or remove the nodes there")
	}
	if there != "" {
		text = append(text, "SyncOptions.Delete replaces nodes of the destination that are damaged")
	}
	return strings.Join(text, "; ")
}

// named returns the first nodes of the destination, or of the source, and why each cannot
// be read.
func (e *DamageError) named(there bool) string {
	var named []string
	all := 0
	for i, name := range e.Nodes {
		if errors.Is(e.whys[i], fs.ErrExist) != there {
			continue
		}
		if all++; all <= mostDamaged {
			named = append(named, fmt.Sprintf("%q (%v)", "/"+name, e.whys[i]))
		}
	}
	if more := all - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
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
	all, err := s.librarian(s.Source.Store, s.Source.Path).walk(ctx)
	if err != nil {
		return nil, err
	}
	if root := all[""]; root != nil && root.damage != nil {
		return nil, fmt.Errorf("a document of the source cannot be read, and nothing is changed; restore it: %w", root.damage)
	}
	s.damaged = damageIn(all)
	for _, name := range slices.Sorted(maps.Keys(s.blocked)) {
		s.damaged.addBlocked(all, name, s.blocked[name])
	}
	return all, s.keepDamaged(ctx, all)
}

// addBlocked adds a damaged node of the destination. The source does not have it then,
// nor what is below it.
func (e *DamageError) addBlocked(all inventory, name string, why error) {
	for dir := range all {
		if strings.HasPrefix(dir, name+"/") {
			delete(all, dir)
		}
	}
	if !slices.Contains(e.Nodes, name) {
		e.Nodes, e.whys = append(e.Nodes, name), append(e.whys, why)
	}
}

// leave leaves a node of the destination as it is, because its document is damaged.
func (s *syncer) leave(ctx context.Context, dir string, why error) error {
	name := strings.TrimSuffix(dir, "/")
	if s.blocked == nil {
		s.blocked = map[string]error{}
	}
	s.blocked[name] = &blockedError{cmp.Or(why, zarr.ErrInvalidMetadata)}
	s.damaged.addBlocked(s.nodes, name, s.blocked[name])
	return s.keepDamaged(ctx, s.nodes)
}

// keepDamaged makes the groups of an inventory describe damaged nodes as the destination
// does.
func (s *syncer) keepDamaged(ctx context.Context, all inventory) error {
	for _, name := range s.damaged.Nodes {
		for above := name; above != ""; {
			dir, _ := path.Split(above)
			if i := all[dir]; i != nil {
				if err := s.keepListed(ctx, i, strings.TrimPrefix(name, dir)); err != nil {
					return err
				}
			}
			above = strings.TrimSuffix(dir, "/")
		}
	}
	return nil
}

// isDamaged reports whether a key lies at or below a damaged node.
func (s *syncer) isDamaged(rel string) bool {
	return slices.ContainsFunc(s.damaged.Nodes, func(name string) bool { return strings.HasPrefix(rel, name+"/") })
}

// keepListed makes the consolidated metadata of a group list a node, and what is below
// it, as the group at the destination lists them: chunks of the destination would be read
// by another document otherwise.
func (s *syncer) keepListed(ctx context.Context, group *item, name string) error {
	there, err := s.librarian(s.Target.Store, s.Target.Path).item(ctx, group.dir)
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
	case nodename.V2Consolidated:
		if c, err := metadata.ParseConsolidatedV2(f.raw, metadata.Limits{}); err == nil {
			return c
		}
	case nodename.V3Node:
		if g, err := metadata.ParseGroup(f.raw, metadata.Limits{}); err == nil {
			return g.Consolidated
		}
	}
	return nil
}

// withListed returns the document with other consolidated metadata.
func (f file) withListed(c *metadata.Consolidated) ([]byte, error) {
	if f.name == nodename.V2Consolidated {
		return c.Marshal(metadata.Limits{})
	}
	g, err := metadata.ParseGroup(f.raw, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	return g.WithConsolidated(c).Marshal(metadata.Limits{})
}
