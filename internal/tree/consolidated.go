// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Container returns the document with the consolidated metadata of the group at a path
// above the node. In format 3 it is the document of the group, in format 2 a separate
// one.
func (n Node) Container(p store.Path) Node {
	n.Path, n.Holder = p, "" // only arrays have reservations
	if n.IsV2() {
		n.Document = metadata.V2Consolidated
	}
	return n
}

// Record returns the entry of the node for consolidated metadata, as it is stored now.
func (n Node) Record(ctx context.Context) (raw []byte, err error) {
	raw, format, err := n.Reader().Record(ctx, n.Path)
	if err == nil && format != n.Format() {
		err = fault.NotFound("another writer replaced the node by one of another format")
	}
	return raw, err
}

// RecordMember stores the entry of a node in the consolidated metadata of all groups
// above it. A nil entry removes it. Groups without consolidated metadata stay without.
func (n Node) RecordMember(ctx context.Context, raw []byte) error {
	var groups []Node
	for p := n.Path; !p.IsRoot(); {
		p = p.Parent()
		groups = append(groups, n.Container(p))
	}
	return changeEach(ctx, groups, func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error) {
		return WithMember(c, Inside(group.Path, n.Path), raw, n.Limits)
	}, func(_ Node, err error) error { return err })
}

// Refresh returns the function that updates the consolidated metadata of the groups above
// the nodes that a transaction has changed.
func Refresh(l metadata.Limits) publish.After {
	return func(ctx context.Context, journal store.Key, changed []publish.Node) error {
		members := make([]Node, len(changed))
		for i, c := range changed {
			c.Holder = "" // the update is for any writer
			members[i] = Node{c, l}
		}
		return RefreshAbove(ctx, journal, members...)
	}
}

// Inside returns the path of a node relative to a group above it.
func Inside(group, p store.Path) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), group.String()), "/")
}

// RefreshAbove makes the consolidated metadata of the groups above some nodes agree with
// their documents. It changes each group once, and skips groups that do not list the
// nodes. journal is the journal of the transaction that the nodes are part of, if any.
func RefreshAbove(ctx context.Context, journal store.Key, members ...Node) error {
	below := map[store.Key][]Node{} // the nodes below each group, by its container
	var groups []Node
	for _, m := range members {
		for p := m.Path; !p.IsRoot(); {
			p = p.Parent()
			group := m.Container(p)
			if below[group.Key()] == nil {
				groups = append(groups, group)
			}
			below[group.Key()] = append(below[group.Key()], m)
		}
	}
	return changeEach(ctx, groups, func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error) {
		return refreshed(ctx, c, group.Path, journal, below[group.Key()])
	}, func(group Node, err error) error {
		// The store may have been opened below its root, and then a group above has no
		// document here.
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("%w: the consolidated metadata of %q is not up to date: %w", publish.ErrIncomplete, "/"+group.Path.String(), err)
	})
}

// refreshed returns the consolidated metadata of a group, with entries of some nodes that
// agree with their documents. A node must not be part of another pending transaction,
// whose other documents may not be published yet.
func refreshed(
	ctx context.Context, c *metadata.Consolidated, group store.Path, journal store.Key, members []Node,
) (*metadata.Consolidated, error) {
	var listed []Node
	for _, m := range members {
		old, err := c.Entry(Inside(group, m.Path), m.Limits)
		if old != nil || err != nil {
			listed = append(listed, m)
		}
	}
	records := make([][]byte, len(listed))
	reading, ctx := parallel.New(ctx)
	reading.SetLimit(mostRead)
	for i, m := range listed {
		reading.Go(func() (err error) {
			if records[i], err = m.Record(ctx); err != nil {
				return err
			}
			// Check this after reading the document. The other order would miss a
			// transaction that published it in between.
			return m.CheckPending(ctx, journal)
		})
	}
	if err := reading.Wait(nil); err != nil {
		return nil, err
	}
	for i, m := range listed {
		var err error
		if c, err = c.With(Inside(group, m.Path), records[i], m.Limits); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// mostRead is the number of documents that are read at once.
const mostRead = 16

// copying changes the consolidated metadata of a group. It returns the new one, or its
// argument if nothing changes.
type copying func(group Node, c *metadata.Consolidated) (*metadata.Consolidated, error)

// changeEach changes the consolidated metadata of groups, one after the other. It stops
// at the first error that failed returns for that of a group. In a store without locks,
// where a request is a round trip, it looks at all of them at once before: most groups
// have no consolidated metadata.
func changeEach(ctx context.Context, groups []Node, change copying, failed func(group Node, err error) error) error {
	of := func(i int) func(*metadata.Consolidated) (*metadata.Consolidated, error) {
		return func(c *metadata.Consolidated) (*metadata.Consolidated, error) { return change(groups[i], c) }
	}
	changes, errs := make([]bool, len(groups)), make([]error, len(groups))
	look := func(i int) { changes[i], errs[i] = groups[i].wouldChange(ctx, of(i)) }
	atOnce := len(groups) > 1 && groups[0].AtOnce() > 1
	if atOnce {
		looking, _ := parallel.New(ctx) // an error must not stop the other looks
		looking.SetLimit(groups[0].AtOnce())
		for i := range groups {
			looking.Go(func() error { look(i); return nil })
		}
		if err := looking.Wait(nil); err != nil {
			return err
		}
	}
	for i, g := range groups {
		if !atOnce {
			look(i)
		}
		err := errs[i]
		if err == nil && changes[i] {
			err = g.publishChange(ctx, of(i))
		}
		if err := failed(g, err); err != nil {
			return err
		}
	}
	return nil
}

// ChangeConsolidated publishes a change of the consolidated metadata in a container. It
// does nothing if there is none, or if change returns its argument.
func (n Node) ChangeConsolidated(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) error {
	changes, err := n.wouldChange(ctx, change)
	if !changes || err != nil {
		return err
	}
	return n.publishChange(ctx, change)
}

// wouldChange reports whether change changes the consolidated metadata in a container. It
// takes no lock.
func (n Node) wouldChange(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) (bool, error) {
	document, _, err := n.Store.Get(ctx, n.Key(), store.Request{Limit: n.Limit}, nil)
	if n.IsV2() && errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, err := n.replan(document, change)
	if errors.Is(err, publish.ErrPending) { // publishChange finishes what is pending
		return true, nil
	}
	return doc != nil, err
}

// publishChange publishes a change of the consolidated metadata in a container.
func (n Node) publishChange(ctx context.Context, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) error {
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := n.replan(d.Bytes, change)
		if doc == nil || err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return publish.Retry(ctx, func() error { return FinishMember(ctx, publish.Update(ctx, n.Node, plan)) })
}

// replan returns the document of a container after a change of its consolidated metadata.
// It returns nil if nothing changes.
func (n Node) replan(document []byte, change func(*metadata.Consolidated) (*metadata.Consolidated, error)) ([]byte, error) {
	l := n.Limits
	if n.IsV2() {
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

// WithMember returns consolidated metadata with another entry at path, and without the
// entries below it.
func WithMember(c *metadata.Consolidated, path string, raw []byte, l metadata.Limits) (*metadata.Consolidated, error) {
	// A removed group takes its members with it. A replaced one begins without members.
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
	return b.With(path, raw, l)
}

// Listed returns the node as the consolidated metadata of the group at a path above it
// describes it. It returns nil if the group does not list the node.
func (n Node) Listed(ctx context.Context, group store.Path) (metadata.Node, error) {
	s, err := n.Reader().Load(ctx, group)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	g, ok := s.Doc.(*metadata.Group)
	if !ok || g.Consolidated == nil {
		return nil, nil
	}
	return g.Consolidated.Entry(Inside(group, n.Path), n.Limits)
}
