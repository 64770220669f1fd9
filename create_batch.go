// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// NodeSpec describes a new node: it is a [Spec] or a [GroupSpec].
type NodeSpec interface{ isNodeSpec() }

// GroupSpec describes a new group.
type GroupSpec struct {
	// Attributes is anything that encodes to a JSON object. Nil is {}.
	Attributes any
}

func (Spec) isNodeSpec() {}

func (GroupSpec) isNodeSpec() {}

// Create creates several nodes, and the groups above them that are missing, and returns
// the nodes by their paths. Paths are relative to l. All nodes have one format: that of
// the options, the specs, or a group above, or else 3.
//
// Nothing is written unless every spec is valid and every path is free. If a path is not
// free, the error wraps [fs.ErrExist]. The documents are written in one batch, parents
// first, and made durable once. A crash during the batch leaves some of them, parents
// before members. The consolidated metadata of the groups above changes once.
func (l *Location) Create(ctx context.Context, nodes map[string]NodeSpec, opt *CreateOptions) (map[string]Node, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createAll(ctx, l, nodes, o)
}

// createAll creates nodes by their paths relative to a location.
func (h *hierarchy) createAll(ctx context.Context, base *Location, nodes map[string]NodeSpec, o CreateOptions) (map[string]Node, error) {
	c := &creation{hierarchy: h, options: o, nodes: map[store.Path]Node{}, specs: map[store.Path]NodeSpec{}, above: map[store.Path]metadata.Node{}}
	places := make(map[string]store.Path, len(nodes))
	for _, path := range slices.Sorted(maps.Keys(nodes)) {
		p, err := base.path.Join(path)
		if err == nil && c.specs[p] != nil {
			err = fault.Argument("the node is given twice")
		}
		if err == nil && nodes[path] == nil {
			err = fault.Argument("the description of the node is nil")
		}
		if err != nil {
			return nil, fail("create", path, err)
		}
		c.specs[p], places[path] = nodes[path], p
	}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	created := make(map[string]Node, len(nodes))
	for path, p := range places {
		created[path] = c.nodes[p]
	}
	return created, nil
}

// creation is one run of [Location.Create].
type creation struct {
	hierarchy *hierarchy
	options   CreateOptions
	specs     map[store.Path]NodeSpec
	format    int
	above     map[store.Path]metadata.Node // groups that are there, above all that is created
	nodes     map[store.Path]Node          // to be created, with the groups that are missing
}

func (c *creation) run(ctx context.Context) error {
	c.hierarchy.sweep(ctx)
	// The checks of all nodes come before the first change: clear may delete nodes, and
	// write stores the new ones.
	for _, step := range []func(context.Context) error{c.look, c.agree, c.make, c.clear, c.write, c.record} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// base returns the part of a node at p that arrays and groups share.
func (c *creation) base(p store.Path) node {
	return node{hierarchy: c.hierarchy, path: p, options: c.options.Options}
}

// look reads the groups above all new nodes, and finds the missing ones.
func (c *creation) look(ctx context.Context) error {
	for p := range c.specs {
		for !p.IsRoot() {
			p = p.Parent()
			if _, known := c.above[p]; known {
				// The groups above a known one are known, too.
				break
			}
			if spec, given := c.specs[p]; given {
				if _, isArray := spec.(Spec); isArray {
					return c.fail(p, fault.Argument("it will be an array, which cannot have nodes below it"))
				}
				continue
			}
			s, err := c.hierarchy.reader(c.options.Limits).Load(ctx, p)
			if _, isArray := s.Doc.(*metadata.Array); isArray {
				err = fault.Argument("%q is an array; it cannot have nodes below it", "/"+p.String())
			}
			// If there is no node, s.Doc is nil: the group is missing and will be
			// created.
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return c.fail(p, err)
			}
			c.above[p] = s.Doc
		}
	}
	return nil
}

func (c *creation) fail(p store.Path, err error) error {
	n := c.base(p)
	return n.fail("create", err)
}

// agree finds the format that all nodes have.
func (c *creation) agree(context.Context) error {
	c.format = c.options.Format
	want := func(p store.Path, format int) error {
		if format != 0 && c.format != 0 && format != c.format {
			return c.fail(p, fault.Argument("a node of format %d among nodes of format %d", format, c.format))
		}
		c.format = max(c.format, format)
		return nil
	}
	for p, spec := range c.specs {
		if s, ok := spec.(Spec); ok {
			if err := want(p, s.Format); err != nil {
				return err
			}
		}
	}
	for p, doc := range c.above {
		if doc != nil {
			if err := want(p, doc.Format()); err != nil {
				return err
			}
		}
	}
	if c.format == 0 {
		c.format = 3
	}
	if c.format != 2 && c.format != 3 {
		return fault.Argument("format %d; there are 2 and 3", c.format)
	}
	return nil
}

// make makes the nodes in memory. Nothing is stored yet.
func (c *creation) make(context.Context) error {
	for p, spec := range c.specs {
		n, err := c.node(p, spec)
		if err != nil {
			return c.fail(p, err)
		}
		c.nodes[p] = n
	}
	for p, doc := range c.above {
		if doc == nil {
			c.nodes[p] = newGroup(c.base(p), []byte("{}"), c.format)
		}
	}
	for p, n := range c.nodes {
		err := tree.CheckNames(c.format, p)
		if err == nil { // the place may hold fewer names
			err = store.CheckKey(c.hierarchy.store, n.base().key())
		}
		if err != nil {
			return c.fail(p, err)
		}
	}
	return nil
}

func (c *creation) node(p store.Path, spec NodeSpec) (Node, error) {
	if s, ok := spec.(Spec); ok {
		s.Format = c.format
		a, err := s.array(c.base(p))
		if err == nil {
			// Refuse a shard that this program could not read again.
			err = a.state.Load().CheckShards(c.options.Limits.innerChunks())
		}
		if err != nil {
			return nil, err
		}
		return a, nil
	}
	raw, err := attributesJSON(spec.(GroupSpec).Attributes)
	if err != nil {
		return nil, err
	}
	return newGroup(c.base(p), raw, c.format), nil
}

// lookers bounds the paths that are checked at the same time.
const lookers = 16

// clear checks that all paths are free, or deletes what is there if Overwrite is set.
func (c *creation) clear(ctx context.Context) error {
	if c.options.Overwrite {
		for _, p := range sorted(c.specs) {
			err := c.hierarchy.remove(ctx, c.base(p), nil)
			if errors.Is(err, fs.ErrNotExist) {
				err = c.clearRemains(ctx, p)
			}
			if err != nil {
				return c.fail(p, err)
			}
		}
		return nil
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(lookers)
	for p, n := range c.nodes {
		group.Go(func() error { return c.fail(p, n.base().place().CheckFree(ctx, document(n))) })
	}
	return group.Wait(nil)
}

// clearRemains deletes the chunks that an array without a document has left. They would
// become elements of the new array.
func (c *creation) clearRemains(ctx context.Context, p store.Path) error {
	n := c.base(p)
	if err := n.place().CheckRemains(ctx); err != nil {
		return err
	}
	return store.DeleteTree(ctx, c.hierarchy.store, p, store.TreeOrder{}, c.options.Durability)
}

// sorted returns the paths of a map, each before those below it.
func sorted[V any](places map[store.Path]V) []store.Path {
	return slices.SortedFunc(maps.Keys(places), func(a, b store.Path) int { return strings.Compare(a.String(), b.String()) })
}

// write stores all documents in one batch.
func (c *creation) write(ctx context.Context) error {
	return publish.Batch(ctx, c.hierarchy.store, c.options.Durability, func(ctx context.Context, b store.Batch) error {
		for _, p := range sorted(c.nodes) {
			raw, beside, err := tree.NewDocuments(document(c.nodes[p]), c.options.Limits.metadata())
			// The document that makes the node comes last, so that no reader sees the
			// node without the others.
			for _, f := range beside {
				if err == nil {
					err = putNew(ctx, b, p.MustKey(f.Name), f.Bytes)
				}
			}
			if err == nil {
				err = putNew(ctx, b, c.nodes[p].base().key(), raw)
			}
			if err != nil {
				return c.fail(p, err)
			}
		}
		return nil
	})
}

// putNew puts a value on the condition that none exists, if the batch supports that.
func putNew(ctx context.Context, b store.Batch, key store.Key, value []byte) error {
	err := store.BatchPutNew(ctx, b, key, value)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("another writer has created a node here: %w", fs.ErrExist)
	}
	return err
}

// record adds the nodes to the consolidated metadata of the groups above them.
func (c *creation) record(ctx context.Context) error {
	for p, doc := range c.above {
		// A group that is created here has no consolidated metadata.
		if doc == nil {
			continue
		}
		n := node{hierarchy: c.hierarchy, path: p, options: c.options.Options}
		if c.format == 2 {
			n.document = metadata.V2Group
		}
		err := n.place().Container(p).ChangeConsolidated(ctx, func(old *metadata.Consolidated) (*metadata.Consolidated, error) {
			var failed error
			next, err := old.WithAll(c.records(p, &failed), c.options.Limits.metadata())
			return next, errors.Join(failed, err)
		})
		if err != nil {
			return n.fail("create", fmt.Errorf("%w: the consolidated metadata is not up to date: %w", ErrIncomplete, err))
		}
	}
	return nil
}

// records yields the paths and records of the new nodes below a group.
func (c *creation) records(group store.Path, failed *error) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, p := range sorted(c.nodes) {
			// The slash keeps the group "a" from matching the node "ab".
			if !group.IsRoot() && !strings.HasPrefix(p.String(), group.String()+"/") {
				continue
			}
			raw, err := document(c.nodes[p]).Record(c.options.Limits.metadata())
			if err != nil {
				*failed = err
				return
			}
			if !yield(tree.Inside(group, p), raw) {
				return
			}
		}
	}
}
