// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// container returns the document with the consolidated metadata of the group at a path
// above the node. In format 3 it is the document of the group, in format 2 a separate one.
func (n node) container(p store.Path) node {
	if n.path = p; n.isV2() {
		n.document = metadata.V2Consolidated
	}
	return n
}

// record returns the entry of the node for consolidated metadata.
func (n *node) record(ctx context.Context) (raw []byte, err error) {
	raw, format, err := n.hierarchy.reader(n.options.Limits).Record(ctx, n.path)
	if err == nil && format != n.Format() {
		err = fault.NotFound("another writer replaced the node by one of another format")
	}
	return raw, err
}

// recordMember stores the entry of a node in the consolidated metadata of all groups above
// it. A nil entry removes it. Groups without consolidated metadata stay without.
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

// refreshAll returns the function that updates consolidated metadata for several nodes.
func (h *hierarchy) refreshAll(opt Options) publish.After {
	return func(ctx context.Context, journal store.Key, changed []publish.Node) error {
		members := make([]node, len(changed))
		for i, c := range changed {
			members[i] = node{hierarchy: h, path: c.Path, options: opt, document: c.Document, held: c.Held}
		}
		return h.refreshAbove(ctx, journal, members...)
	}
}

// inside returns the path of a node relative to a group above it.
func inside(group, p store.Path) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), group.String()), "/")
}

// refreshAbove makes the consolidated metadata of the groups above some nodes agree with
// their documents. It changes each group once, and skips groups that do not list the
// nodes. journal is the journal of the transaction that the nodes are part of, if any.
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

// changeConsolidated publishes a change of consolidated metadata. It does nothing if the
// group has none, or if change returns its argument.
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

// replan returns the document of a container after a change of its consolidated metadata.
// It returns nil if nothing changes.
func (n node) replan(document []byte, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) ([]byte, error) {
	l := n.options.Limits.metadata()
	if n.isV2() {
		old, err := metadata.ParseConsolidatedV2(document, l)
		if errors.Is(err, metadata.ErrInvalid) {
			return nil, nil // readers ignore a damaged .zmetadata, so leave it
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

// withMember returns consolidated metadata with another entry at path, and without the
// entries below it.
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

// finishTogether rolls a pending transaction that this node is part of forward or back. It
// reports whether there was one, or whether the node is held by a reservation.
func (n *node) finishTogether(ctx context.Context) (found bool, err error) {
	if found, err = publish.Recover(ctx, n.publisher(), n.hierarchy.refreshAll(n.options)); err != nil {
		err = &othersError{err}
	}
	return found, err
}

// othersError is an error while completing a change of another writer. It does not match
// errors about the outcome of a change, because the caller's own change has not begun.
type othersError struct{ err error }

func (o *othersError) Error() string {
	return "finishing a change that another writer began: " + o.err.Error()
}

func (o *othersError) Is(target error) bool {
	return target != ErrIncomplete && target != ErrDecided && target != ErrOutcomeUnknown && errors.Is(o.err, target)
}
