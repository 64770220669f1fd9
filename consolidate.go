package zarr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// recordMember tells the groups above a node that have consolidated metadata what its document is now; nil is none.
func (h *Hierarchy) recordMember(ctx context.Context, n node, raw []byte) error {
	path := n.path
	for p := path; !p.IsRoot(); {
		p = p.Parent()
		n.path = p
		if err := h.recordIn(ctx, n, strings.TrimPrefix(strings.TrimPrefix(path.String(), p.String()), "/"), raw); err != nil {
			return err
		}
	}
	return nil
}

// recordIn tells one group what the document at path below it is now. A group without consolidated metadata is only read.
func (h *Hierarchy) recordIn(ctx context.Context, n node, path string, raw []byte) error {
	return h.changeConsolidated(ctx, n, func(g *metadata.Group) (*publish.Change, error) {
		return withMember(g, path, raw, n.options.Limits)
	})
}

// refreshAbove makes the consolidated metadata of the groups above some nodes agree with the documents that these have now: one
// change of each group. Groups that do not list a node stay as they are. n has the options, and journal is that of the change
// that the nodes are part of, if they are.
func (h *Hierarchy) refreshAbove(ctx context.Context, n node, journal store.Key, members ...store.Path) error {
	groups := map[store.Path][]string{}
	for _, m := range members {
		for p := m; !p.IsRoot(); {
			p = p.Parent()
			groups[p] = append(groups[p], strings.TrimSuffix(p.Rel(m.Key(documentName)), "/"+documentName))
		}
	}
	for p, paths := range groups {
		n.path = p
		err := h.changeConsolidated(ctx, n, func(g *metadata.Group) (*publish.Change, error) { return h.refreshed(ctx, n, g, journal, paths) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: the consolidated metadata of %q is not up to date: %w", ErrIncomplete, "/"+p.String(), err)
		}
	}
	return nil
}

// refreshed returns the change of a group that makes its entries at the paths agree with the documents there, or none. A document
// counts only while its node is part of no other change of several: that one has perhaps not published all of them.
func (h *Hierarchy) refreshed(
	ctx context.Context, n node, g *metadata.Group, journal store.Key, paths []string,
) (*publish.Change, error) {
	l, c := n.options.Limits, g.Consolidated
	for _, path := range paths {
		old, err := c.Entry(path, l.metadata())
		if old == nil && err == nil {
			continue // the group does not list it
		}
		raw, _, err := h.store.Get(ctx, n.path.Key(path+"/"+documentName), store.Request{Limit: l.document()}, nil)
		if err != nil {
			return nil, err
		}
		if err := n.notPending(ctx, journal, path); err != nil {
			return nil, err
		}
		if c, err = c.With(path, bytes.TrimSpace(raw), l.metadata()); err != nil {
			return nil, err
		}
	}
	if c == g.Consolidated {
		return nil, nil
	}
	doc, err := g.WithConsolidated(c).Marshal(l.metadata())
	return &publish.Change{Document: doc}, err
}

// pendingMember says that a member of a group is part of an unfinished change of several nodes.
type pendingMember struct {
	member node
	err    error
}

func (p *pendingMember) Error() string { return p.err.Error() }
func (p *pendingMember) Unwrap() error { return p.err }

// notPending refuses a member of n that is part of an unfinished change of several nodes with another journal.
func (n node) notPending(ctx context.Context, journal store.Key, path string) error {
	var err error
	if n.path, err = n.path.Join(path); err != nil {
		return err
	}
	if err = publish.Pending(ctx, n.publisher(), journal); errors.Is(err, publish.ErrPending) {
		err = &pendingMember{n, err}
	}
	return err
}

// finishMember finishes the change of several nodes that err is about, if it is about one. The error stays.
func finishMember(ctx context.Context, err error) error {
	var p *pendingMember
	if errors.As(err, &p) {
		_, othersErr := p.member.finishTogether(ctx)
		return errors.Join(othersErr, err)
	}
	return err
}

// changeConsolidated publishes a change of a group that has consolidated metadata, if one is to be made.
func (h *Hierarchy) changeConsolidated(ctx context.Context, n node, change func(*metadata.Group) (*publish.Change, error)) error {
	plan := func(d publish.Document) (*publish.Change, error) {
		g, err := metadata.ParseGroup(d.Bytes, n.options.Limits.metadata())
		if err != nil || g.Consolidated == nil {
			return nil, err
		}
		return change(g)
	}
	document, _, err := h.store.Get(ctx, n.path.Key(documentName), store.Request{Limit: n.options.Limits.document()}, nil)
	if err != nil {
		return err
	}
	if c, err := plan(publish.Document{Bytes: document}); err == nil && c == nil || err != nil && !errors.Is(err, publish.ErrPending) {
		return err
	}
	return retry(ctx, func() error { return finishMember(ctx, publish.Update(ctx, n.publisher(), plan)) })
}

// Consolidate stores a copy of the documents of all nodes below the group in the group's own document, so that a reader who
// uses it learns of all of them at once. Nodes that this package creates, changes and removes keep it up to date; after other
// programs have changed a node it has to be made anew. The group itself shows it when it is opened again.
//
// Source: zarr-python 3.4.1, whose form it has ("consolidated_metadata", kind "inline").
func (g *Group) Consolidate(ctx context.Context) error {
	if err := g.writable(); err != nil {
		return g.fail("consolidate", err)
	}
	return g.fail("consolidate", retry(ctx, func() error {
		return finishMember(ctx, publish.Update(ctx, g.publisher(), func(d publish.Document) (*publish.Change, error) {
			l := g.options.Limits.metadata()
			doc, err := metadata.ParseGroup(d.Bytes, l)
			if err != nil {
				return nil, err
			}
			var failed error
			c, err := metadata.NewConsolidated(g.documents(ctx, &failed), l)
			if err = errors.Join(failed, err); err != nil {
				return nil, err
			}
			raw, err := doc.WithConsolidated(c).Marshal(l)
			return &publish.Change{Document: raw}, err
		}))
	}))
}

// documents yields paths and documents of all nodes below the group, as they are stored.
func (g *Group) documents(ctx context.Context, failed *error) iter.Seq2[string, []byte] {
	plain := &Group{node: g.node, doc: g.doc.WithConsolidated(nil)}
	return func(yield func(string, []byte) bool) {
		for m, err := range plain.Members(ctx, true) {
			var raw []byte
			if err == nil {
				raw, _, err = g.hierarchy.store.Get(ctx, g.path.Key(m.Path+"/"+documentName), store.Request{Limit: g.options.Limits.document()}, nil)
			}
			if err == nil {
				err = g.notPending(ctx, store.Key{}, m.Path)
			}
			if err != nil {
				*failed = err
				return
			}
			if !yield(m.Path, raw) {
				return
			}
		}
	}
}

// withMember returns the change of a group whose consolidated metadata is to have another document at path, or none.
func withMember(g *metadata.Group, path string, raw []byte, l Limits) (*publish.Change, error) {
	c := g.Consolidated.Without(path)
	var below []string
	for name := range c.Nodes() {
		if strings.HasPrefix(name, path+"/") {
			below = append(below, name)
		}
	}
	for _, name := range below {
		c = c.Without(name)
	}
	if raw != nil {
		var err error
		if c, err = c.With(path, raw, l.metadata()); err != nil {
			return nil, err
		}
	}
	doc, err := g.WithConsolidated(c).Marshal(l.metadata())
	return &publish.Change{Document: doc}, err
}
