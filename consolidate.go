package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// container returns the place of the consolidated metadata of the group at a path above
// the node: in format 3 the document of the group, in format 2 one of its own.
func (n node) container(p store.Path) node {
	if n.path = p; n.isV2() {
		n.document = metadata.V2Consolidated
	}
	return n
}

// record returns the document with which consolidated metadata is told of a change of the
// node.
func (n *node) record(ctx context.Context) (raw []byte, err error) {
	raw, format, err := n.hierarchy.reader(n.options.Limits).Record(ctx, n.path)
	if err == nil && format != n.Format() {
		err = fault.NotFound("the node is of another format by now")
	}
	return raw, err
}

// recordMember tells the groups above a node that have consolidated metadata what its
// record is now; nil is none.
func (h *hierarchy) recordMember(ctx context.Context, n node, raw []byte) error {
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		path := inside(p, n.path)
		err := h.changeConsolidated(ctx, n.container(p), func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			return withMember(c, path, raw, n.options.Limits)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inside returns the path of a node relative to a group above it.
func inside(group, p store.Path) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), group.String()), "/")
}

// refreshAbove makes the consolidated metadata of the groups above some nodes agree with
// the documents that these have now: one change of each group. Groups that do not list a
// node stay as they are. journal is that of the change that the nodes are part of, if
// they are.
func (h *hierarchy) refreshAbove(ctx context.Context, journal store.Key, members ...node) error {
	groups := map[store.Key][]node{}
	for _, m := range members {
		for p := m.path; !p.IsRoot(); {
			p = p.Parent()
			c := m.container(p)
			groups[c.key()] = append(groups[c.key()], m)
		}
	}
	for key, below := range groups {
		c := below[0].container(key.Dir())
		err := h.changeConsolidated(ctx, c, func(old *metadata.Consolidated) (*metadata.Consolidated, error) {
			return h.refreshed(ctx, old, c.path, journal, below)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: the consolidated metadata of %q is not up to date: %w", ErrIncomplete, "/"+c.path.String(), err)
		}
	}
	return nil
}

// refreshed returns the consolidated metadata of a group, with entries of some nodes that
// agree with their documents. A node must not be part of another pending transaction, whose
// other documents may not be published yet.
func (h *hierarchy) refreshed(
	ctx context.Context, c *metadata.Consolidated, group store.Path, journal store.Key, members []node,
) (*metadata.Consolidated, error) {
	for _, m := range members {
		path := inside(group, m.path)
		old, err := c.Entry(path, m.options.Limits.metadata())
		if old == nil && err == nil {
			continue // the group does not list it
		}
		raw, err := m.record(ctx)
		if err != nil {
			return nil, err
		}
		if err := m.notPending(ctx, journal); err != nil {
			return nil, err
		}
		if c, err = c.With(path, raw, m.options.Limits.metadata()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// pendingMember is the error for a member of a group that is part of a pending transaction.
type pendingMember struct {
	member node
	err    error
}

func (p *pendingMember) Error() string { return p.err.Error() }
func (p *pendingMember) Unwrap() error { return p.err }

// notPending returns an error if a node is part of a pending transaction with another
// journal.
func (n node) notPending(ctx context.Context, journal store.Key) error {
	err := publish.CheckPending(ctx, n.publisher(), journal)
	if errors.Is(err, publish.ErrPending) {
		err = &pendingMember{n, err}
	}
	return err
}

// finishMember completes the transaction that err is about, if any. It returns err.
func finishMember(ctx context.Context, err error) error {
	var p *pendingMember
	if errors.As(err, &p) {
		_, othersErr := p.member.finishTogether(ctx)
		return errors.Join(othersErr, err)
	}
	return err
}

// changeConsolidated publishes a change of consolidated metadata, if there is some and
// the change is one.
func (h *hierarchy) changeConsolidated(
	ctx context.Context, n node, change func(*metadata.Consolidated) (*metadata.Consolidated, error),
) error {
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := n.replan(d.Bytes, change)
		if doc == nil || err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	document, _, err := h.store.Get(ctx, n.key(), store.Request{Limit: n.options.Limits.document()}, nil)
	if n.isV2() && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if c, err := plan(publish.Document{Bytes: document}); err == nil && c == nil || err != nil && !errors.Is(err, publish.ErrPending) {
		return err
	}
	return retry(ctx, func() error { return finishMember(ctx, publish.Update(ctx, n.publisher(), plan)) })
}

// replan returns the document of a container after a change of its consolidated metadata,
// nil where nothing changes.
func (n node) replan(document []byte, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) ([]byte, error) {
	l := n.options.Limits.metadata()
	if n.isV2() {
		old, err := metadata.ParseConsolidatedV2(document, l)
		if errors.Is(err, metadata.ErrInvalid) {
			return nil, nil // nobody reads it as it is
		}
		if err != nil {
			return nil, err
		}
		c, err := change(old)
		if err != nil || c == old {
			return nil, err
		}
		return c.Marshal(l)
	}
	g, err := metadata.ParseGroup(document, l)
	if err != nil || g.Consolidated == nil {
		return nil, err
	}
	c, err := change(g.Consolidated)
	if err != nil || c == g.Consolidated {
		return nil, err
	}
	return g.WithConsolidated(c).Marshal(l)
}

// Consolidate stores copies of the documents of all nodes below the group in the document
// of the group, or in format 2 in a document of its own, so that one request tells a reader
// about all nodes. Changes by this package keep the copies up to date. After a change by
// another program, call Consolidate again. Nodes of the other format are left out. The
// group uses the copies after it is opened again.
//
// Source: zarr-python 3.4.1, whose form it has ("consolidated_metadata", kind "inline";
// ".zmetadata").
func (g *Group) Consolidate(ctx context.Context) error {
	if err := g.writable(); err != nil {
		return g.fail("consolidate", err)
	}
	n := g.container(g.path)
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := g.consolidate(ctx, d.Bytes)
		if err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return g.fail("consolidate", retry(ctx, func() error {
		err := finishMember(ctx, publish.Update(ctx, n.publisher(), plan))
		if !g.isV2() || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		doc, err := g.consolidate(ctx, nil)
		if err != nil {
			return finishMember(ctx, err)
		}
		_, err = publish.Create(ctx, n.publisher(), doc)
		return err
	}))
}

// consolidate returns the document that has the consolidated metadata of the group: in
// format 3 that of the group, which is now as given.
func (g *Group) consolidate(ctx context.Context, document []byte) ([]byte, error) {
	l := g.options.Limits.metadata()
	var failed error
	if g.isV2() {
		own, err := g.record(ctx)
		if err != nil {
			return nil, err
		}
		c, err := metadata.NewConsolidatedV2(own, g.documents(ctx, &failed), l)
		if err = errors.Join(failed, err); err != nil {
			return nil, err
		}
		return c.Marshal(l)
	}
	doc, err := metadata.ParseGroup(document, l)
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewConsolidated(g.documents(ctx, &failed), l)
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	return doc.WithConsolidated(c).Marshal(l)
}

// documents yields paths and records of all nodes of the group's format below the group,
// as they are stored.
func (g *Group) documents(ctx context.Context, failed *error) iter.Seq2[string, []byte] {
	plain := &Group{node: g.node, doc: g.doc.WithConsolidated(nil)}
	plain.options.Write = false // whoever opens to write finishes the changes of dead writers, and that would take a lock that is held
	return func(yield func(string, []byte) bool) {
		for m, err := range plain.Members(ctx, true) {
			var raw []byte
			format := 0
			n := g.node
			if err == nil {
				n.path, err = g.path.Join(m.Path)
			}
			if err == nil {
				raw, format, err = g.hierarchy.reader(g.options.Limits).Record(ctx, n.path)
			}
			if err == nil {
				err = n.notPending(ctx, store.Key{})
			}
			if err != nil {
				*failed = err
				return
			}
			if format == g.Format() && !yield(m.Path, raw) {
				return
			}
		}
	}
}

// withMember returns consolidated metadata that has another record at path, and nothing
// of what was below it.
func withMember(c *metadata.Consolidated, path string, raw []byte, l Limits) (*metadata.Consolidated, error) {
	b := c.Without(path)
	var gone []string
	for name := range b.Nodes() {
		if strings.HasPrefix(name, path+"/") {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		b = b.Without(name)
	}
	if raw == nil {
		return b, nil
	}
	return b.With(path, raw, l.metadata())
}
