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
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/remedy"
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
//
// A document of the source may also be lost, while the values that it described are still
// there. Delete would take such a node for one that the source does not have. So it keeps
// every node of the destination below whose path the source has any value.

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
// source cannot be read, or are lost while values that they described are there, or
// documents of the destination cannot be read without [SyncOptions.Delete]. It wraps
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

// lostError says what the source has below the path of a node without a document.
type lostError struct {
	key   string // of a value, below the path of the node
	bound bool   // the node has a document, and a group above has none
}

func (e *lostError) Error() string {
	if e.bound {
		return "it has a document, and a group above it has none"
	}
	return fmt.Sprintf("no document, but values such as %q", e.key)
}

func (e *lostError) Is(target error) bool { return target == zarr.ErrInvalidMetadata }

// mostDamaged bounds the nodes that the text of a DamageError names.
const mostDamaged = 3

// Error names the first nodes, and says why each cannot be read.
func (e *DamageError) Error() string {
	var text []string
	source, there, lost := e.named(isSource), e.named(isThere), e.named(isLost)
	if source != "" {
		text = append(text, "documents of the source cannot be read: "+source)
	}
	if there != "" {
		text = append(text, "documents of the destination cannot be read: "+there)
	}
	if lost != "" {
		text = append(text, "documents of the source are missing, although it has values of nodes: "+lost)
	}
	text = append(text, "these nodes stay in the destination as they are, and everything else is synced")
	if source != "" {
		text = append(text, "restore the documents of the source, or remove the nodes there")
	}
	if lost != "" {
		text = append(text, "restore the missing documents of the source, or remove what it has there (varve rm) if a removal was stopped")
	}
	if there != "" {
		text = append(text, remedy.SyncDelete+" replaces nodes of the destination that are damaged")
	}
	return strings.Join(text, "; ")
}

// The kinds of damage: a document of the destination or of the source cannot be read, or
// the source has lost it.
func isThere(why error) bool  { return errors.Is(why, fs.ErrExist) }
func isLost(why error) bool   { return errors.As(why, new(*lostError)) }
func isSource(why error) bool { return !isThere(why) && !isLost(why) }

// named returns the first nodes with one kind of damage, and what it is.
func (e *DamageError) named(isKind func(why error) bool) string {
	var named []string
	all := 0
	for i, name := range e.Nodes {
		if !isKind(e.whys[i]) {
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

// read reads the documents of the source. Those that are damaged are put into
// o.damaged, and the groups above describe their nodes as the destination does.
func (o *original) read(ctx context.Context) (inventory, error) {
	all, err := librarianOf(o.pair, o.pair.Source).walk(ctx)
	if err != nil {
		return nil, err
	}
	if root := all[""]; root != nil && root.damage != nil {
		return nil, fmt.Errorf("a document of the source cannot be read, and nothing is changed; restore it: %w", root.damage)
	}
	o.damaged = damageIn(all)
	for _, name := range slices.Sorted(maps.Keys(o.blocked)) {
		if isLost(o.blocked[name]) && all[name+"/"] != nil {
			delete(o.blocked, name) // somebody has restored the document
			continue
		}
		o.damaged.addBlocked(all, name, o.blocked[name])
	}
	return all, o.keepDamaged(ctx, all)
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
func (o *original) leave(ctx context.Context, dir string, why error) error {
	o.block(strings.TrimSuffix(dir, "/"), &blockedError{cmp.Or(why, zarr.ErrInvalidMetadata)})
	return o.keepDamaged(ctx, o.nodes)
}

// block makes a node of the destination stay as it is.
func (o *original) block(name string, why error) {
	if o.blocked == nil {
		o.blocked = map[string]error{}
	}
	o.blocked[name] = why
	o.damaged.addBlocked(o.nodes, name, why)
}

// keepLost finds the nodes that only the destination has, and below whose paths the
// source has values: it has lost their documents, or a removal was stopped. They stay.
func (s *syncer) keepLost(ctx context.Context) error {
	if s.opt.Share != nil {
		return nil
	}
	found := false
	for _, name := range s.left.removed() {
		lost, err := s.source.lost(ctx, name)
		if err != nil {
			return err
		}
		if lost != nil {
			s.source.block(name, lost)
			found = true
		}
	}
	if !found {
		return nil
	}
	s.left.orphans = slices.DeleteFunc(s.left.orphans, s.source.isDamaged)
	s.left.stale = slices.DeleteFunc(s.left.stale, s.source.isDamaged)
	maps.DeleteFunc(s.left.extra, func(dir string, _ []string) bool { return s.source.isDamaged(dir) })
	return s.source.keepDamaged(ctx, s.source.nodes)
}

// lost returns what the source has below the path of a node that it does not describe, or
// nil. Locks and notes of Varve do not count.
func (o *original) lost(ctx context.Context, name string) (error, error) {
	p, err := o.pair.Source.Path.Join(name)
	if err != nil {
		return nil, nil // a name that the source cannot have
	}
	for e, err := range store.List(ctx, o.pair.Source.Store, p, store.Deep) {
		if err != nil {
			return nil, err
		}
		if own.IsBelow(e.Name) {
			continue
		}
		i, err := librarianOf(o.pair, o.pair.Source).item(ctx, name+"/")
		if err != nil {
			return nil, err
		}
		above, _ := path.Split(name)
		if i != nil && o.nodes[above] != nil {
			return nil, nil // only the listing missed it, and it is not removed
		}
		return &lostError{key: e.Name, bound: i != nil}, nil
	}
	return nil, nil
}

// keepDamaged makes the groups of an inventory describe damaged nodes as the destination
// does.
func (o *original) keepDamaged(ctx context.Context, all inventory) error {
	for _, name := range o.damaged.Nodes {
		for above := name; above != ""; {
			dir, _ := path.Split(above)
			if i := all[dir]; i != nil {
				if err := o.keepListed(ctx, i, strings.TrimPrefix(name, dir)); err != nil {
					return err
				}
			}
			above = strings.TrimSuffix(dir, "/")
		}
	}
	return nil
}

// isDamaged reports whether a key lies at or below a damaged node.
func (o *original) isDamaged(rel string) bool {
	return slices.ContainsFunc(o.damaged.Nodes, func(name string) bool { return strings.HasPrefix(rel, name+"/") })
}

// keepListed makes the consolidated metadata of a group list a node, and what is below
// it, as the group at the destination lists them: chunks of the destination would be read
// by another document otherwise.
func (o *original) keepListed(ctx context.Context, group *item, name string) error {
	there, err := librarianOf(o.pair, o.pair.Target).item(ctx, group.dir)
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
