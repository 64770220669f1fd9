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
	"sort"
	"strings"
	"time"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/scheme"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// CreateArray creates an array at a location, as [Location.CreateArray] does. If no
// parent is a node, the root of the store is the highest directory of the location whose
// name ends in ".zarr", or else the directory of the node.
//
// A name that ends in .zip, or in .ozx for a hierarchy of OME-Zarr, makes a new archive
// ([varve.dev/zarr/store/zipstore.Create]).
// Close the node and check the error: Close publishes the archive, and without it there
// is none and all that was written is lost.
func CreateArray(ctx context.Context, location string, spec Spec, opt *CreateOptions) (*Array, error) {
	// Check the spec before the store is created, so that an invalid one leaves nothing.
	if spec.Format == 0 {
		spec.Format = opt.orZero().Format
	}
	if _, err := spec.array(node{hierarchy: new(hierarchy), options: opt.orZero().Options}); err != nil {
		return nil, fail("create", scheme.Shown(location), err)
	}
	return createAt(ctx, location, opt, func(l *Location) (*Array, error) { return l.CreateArray(ctx, spec, opt) })
}

// CreateGroup creates a group at a location, as [Location.CreateGroup] does. See
// [CreateArray] for the forms of a location. A new zip archive exists only once Close of
// this group has returned; close it after its members are written.
func CreateGroup(ctx context.Context, location string, attributes any, opt *CreateOptions) (*Group, error) {
	return createAt(ctx, location, opt, func(l *Location) (*Group, error) { return l.CreateGroup(ctx, attributes, opt) })
}

// createAt opens or creates the store of a location and calls create.
func createAt[N Node](
	ctx context.Context, location string, opt *CreateOptions, create func(*Location) (N, error),
) (n N, err error) {
	if opt.orZero().Overwrite {
		// Overwriting through a link would delete data that has another name.
		if err := scheme.RefuseLink(location); err != nil {
			return n, fail("create", scheme.Shown(location), err)
		}
	}
	if ledger := opt.orZero().Rehearsal; ledger != nil {
		l, err := rehearse(ctx, location, ledger)
		if err != nil {
			return n, err
		}
		return done(l, create)
	}
	return in(ctx, location, store.Create, "create", create)
}

// rehearse opens the store for a dry run of creating a node. The store, or the directory
// that will be its root, may not exist yet.
func rehearse(ctx context.Context, location string, ledger *rehearsal.Ledger) (*Location, error) {
	l, err := locate(ctx, location, store.ReadOnly, "create")
	dir, isLocal := scheme.LocalDir(location)
	if isLocal && scheme.ArchiveOn(dir, store.ReadOnly) == "" {
		// The path in the store decides which groups are created above the node, so it
		// has to be the one that creating would use.
		root, p, err := scheme.RootOf(dir, store.Create)
		if err != nil {
			return nil, fail("create", location, err)
		}
		if l == nil || l.path != p {
			l, err = rehearsedAt(ctx, root, l, ledger)
		}
		if err != nil {
			return nil, fail("create", location, err)
		}
		return &Location{hierarchy: l.hierarchy, path: p}, nil
	}
	// The store does not exist yet, so an empty one stands in for it.
	if errors.Is(err, fs.ErrNotExist) {
		return rehearsed(scheme.Shown(location), ledger), nil
	}
	return l, err
}

// rehearsed returns the root of a store that does not exist, for a dry run.
func rehearsed(name string, ledger *rehearsal.Ledger) *Location {
	return &Location{hierarchy: &hierarchy{store: rehearsal.New(nil, ledger), location: name, ledger: ledger}}
}

// rehearsedAt opens the store at root, which may not exist yet, in place of another one.
func rehearsedAt(ctx context.Context, root string, other *Location, ledger *rehearsal.Ledger) (*Location, error) {
	if other != nil {
		_ = store.Close(other.hierarchy.store) // nothing was written
	}
	l, err := locate(ctx, root, store.ReadOnly, "create")
	if errors.Is(err, fs.ErrNotExist) {
		return rehearsed(root, ledger), nil
	}
	return l, err
}

// creating returns the hierarchy and the options of a call that creates nodes.
func (l *Location) creating(opt *CreateOptions) (*hierarchy, CreateOptions, error) {
	o := opt.orZero()
	o.Options = o.Options.over(l.options)
	if l.illegal != nil {
		return nil, o, l.fail("create", l.illegal)
	}
	if l.readOnly {
		return nil, o, l.fail("create", ErrReadOnly)
	}
	return l.hierarchy.as(o.Options), o, nil
}

// CreateArray creates an array, and the groups above it that are missing. Only its
// document is written: every element is the fill value. If anything is at the location,
// the error wraps [fs.ErrExist].
func (l *Location) CreateArray(ctx context.Context, spec Spec, opt *CreateOptions) (*Array, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createArray(ctx, l.path, spec, o)
}

// CreateGroup creates a group, and the groups above it that are missing. attributes is
// anything that encodes to a JSON object, or nil. If a node is at the location, the error
// wraps [fs.ErrExist].
func (l *Location) CreateGroup(ctx context.Context, attributes any, opt *CreateOptions) (*Group, error) {
	h, o, err := l.creating(opt)
	if err != nil {
		return nil, err
	}
	return h.createGroup(ctx, l.path, attributes, o)
}

// createArray creates an array and the groups above it that are missing.
func (h *hierarchy) createArray(ctx context.Context, p store.Path, spec Spec, o CreateOptions) (*Array, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	if spec.Format == 0 {
		spec.Format = o.Format
	}
	// Check the spec before the store is asked for the groups above.
	a, err := spec.array(base)
	if err != nil {
		return nil, base.fail("create", err)
	}
	if err := a.core.State().CheckShards(o.Limits.innerChunks()); err != nil {
		return nil, base.fail("create", err)
	}
	above, err := base.place().LookAbove(ctx, spec.Format)
	if err == nil && above.Format != a.Format() { // the group above decides the format
		// The spec was checked for the default format and must be valid in this one, too.
		spec.Format = above.Format
		a, err = spec.array(base)
	}
	if err != nil {
		return nil, base.fail("create", err)
	}
	s := a.core.State() // not shared with another goroutine yet
	s.Confirm(time.Now())
	if s.Version, err = h.create(ctx, a.node, s.Doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return a, nil
}

// createGroup creates a group and the groups above it that are missing.
func (h *hierarchy) createGroup(ctx context.Context, p store.Path, attributes any, o CreateOptions) (*Group, error) {
	h = h.as(o.Options)
	base := node{hierarchy: h, path: p, options: o.Options}
	raw, err := attributesJSON(attributes)
	if err != nil {
		return nil, base.fail("create", err)
	}
	above, err := base.place().LookAbove(ctx, o.Format)
	if err != nil {
		return nil, base.fail("create", err)
	}
	g := newGroup(base, raw, above.Format)
	if _, err := h.create(ctx, g.node, g.doc, above, o.Overwrite); err != nil {
		return nil, base.fail("create", err)
	}
	return g, nil
}

// create publishes the documents of a new node. It creates the groups above it and checks
// that the path is free first.
func (h *hierarchy) create(ctx context.Context, n node, doc metadata.Node, up *tree.Above, overwrite bool) (version store.Version, err error) {
	h.sweep(ctx)
	raw, beside, err := tree.NewDocuments(doc, n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	record, err := metadata.Record(doc, n.options.Limits.metadata())
	if err != nil {
		return version, err
	}
	// Marshal everything before this first change, so that an invalid document leaves
	// nothing. Neither does a name that the place does not hold.
	if err := store.CheckKey(h.store, n.key()); err != nil {
		return version, err
	}
	if err := n.place().MakeParents(ctx, up); err != nil {
		return version, err
	}
	if overwrite {
		version, err = h.replace(ctx, n, raw, beside)
	} else if err = n.place().CheckFree(ctx, doc); err == nil {
		version, err = publish.Create(ctx, n.publisher(), raw, beside...)
	}
	// A conflict means that the document exists by now. A node that is held by a
	// reservation is another case, which ErrHeld explains.
	if errors.Is(err, store.ErrConflict) && !errors.Is(err, publish.ErrHeld) {
		return version, fmt.Errorf("a node is here already ("+remedy.CreateOverwrite+" replaces it, or choose another name): %w", fs.ErrExist)
	}
	if err != nil {
		return version, err
	}
	// The node exists from here on, so a failure is ErrIncomplete: the call must not be
	// repeated.
	if err := n.place().RecordMember(ctx, record); err != nil {
		return version, fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", ErrIncomplete, err)
	}
	return version, nil
}

// replace deletes everything at the path of a node and publishes a new document there. If
// there is no node, it deletes only the remains of an array.
func (h *hierarchy) replace(ctx context.Context, n node, raw []byte, beside []publish.File) (version store.Version, err error) {
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return version, err
	}
	if found == 0 {
		// There is no document. Delete what a crashed removal or copy has left, but never
		// foreign files.
		begun, err := n.place().Unfinished(ctx)
		if err == nil && !begun {
			err = n.place().CheckRemains(ctx)
		}
		if err != nil {
			return version, err
		}
	}
	err = n.removing(ctx, func() error {
		version, err = publish.Replace(ctx, n.publisher(), raw, beside...)
		return err
	})
	return version, err
}

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
			err = a.core.State().CheckShards(c.options.Limits.innerChunks())
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
			err := c.hierarchy.remove(ctx, c.base(p))
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
	list := slices.Collect(maps.Keys(places))
	sort.Slice(list, func(i, j int) bool { return list[i].String() < list[j].String() })
	return list
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
	_, err := b.Write(ctx, store.PutIf(key, value, store.IfAbsent()))
	if errors.Is(err, store.ErrUnsupported) {
		_, err = b.Write(ctx, store.Put(key, value))
	}
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
			n.document = nodename.V2Group
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
			raw, err := metadata.Record(document(c.nodes[p]), c.options.Limits.metadata())
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

// Delete removes the node at a location with everything below it, as [Location.Delete]
// does. It refuses a location that is a symbolic link or leads through one within its
// store, because the data has another name then.
func Delete(ctx context.Context, location string, opt *Options) error {
	if err := scheme.RefuseLink(location); err != nil {
		return fail("delete", scheme.Shown(location), err)
	}
	_, err := openAt(ctx, location, opt, func(l *Location) (Node, error) { return nil, l.Delete(ctx, opt) })
	// A store whose root was the node leaves an empty directory behind.
	if err == nil && opt.orZero().Rehearsal == nil {
		scheme.RemoveEmpty(location)
	}
	return err
}

// Delete removes the node with everything below it. If there is no node, the error wraps
// [fs.ErrNotExist]. It holds the locks of the node and of all nodes below it before it
// deletes anything. It deletes links, not what they lead to. While an array has a
// [Reservation], deleting it fails with [ErrConflict].
func (l *Location) Delete(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("delete", l.illegal)
	}
	h, o := l.merged(opt)
	return l.fail("delete", h.remove(ctx, node{hierarchy: h, path: l.path, options: o}))
}

// remove deletes a node if the check of ctx ([publish.WithCheck]) permits it.
func (h *hierarchy) remove(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	h.sweep(ctx)
	found, err := tree.Format(ctx, h.store, n.path)
	if err != nil {
		return err
	}
	if found == 0 {
		// There is no document, but a removal that crashed after it had deleted the
		// documents can be completed.
		begun, err := n.place().Unfinished(ctx)
		if err != nil {
			return err
		}
		if !begun {
			return tree.Describe(ctx, h.store, n.path)
		}
	}
	if found == 2 {
		n.document = nodename.V2Group // or V2Array: from here on only the format matters
	}
	return n.removing(ctx, func() error {
		return publish.Remove(ctx, n.publisher(), func(ctx context.Context, at publish.Node) error {
			if check := publish.CheckOf(ctx); check != nil {
				if err := check(ctx); err != nil {
					return err
				}
			}
			// Keep the record in the groups above until the removal is certain.
			// RecordMember locks the groups above. A link could lead it to a lock that
			// Remove holds, so pass those on.
			locked := n.place()
			locked.Held = at.Held
			return locked.RecordMember(ctx, nil)
		})
	})
}

// removing runs a removal of the node while no other call of this process changes it. If
// a reservation is published but not ended, because its writer crashed, it is ended here
// and does not prevent the removal.
//
// A pending transaction over several nodes is rolled forward or back before anything is
// deleted. Its journal may be below this node, and the other nodes need it to complete.
func (n *node) removing(ctx context.Context, remove func() error) error {
	for {
		err := n.alone(ctx, remove)
		var member *publish.MemberError
		switch {
		case !errors.As(err, &member):
			return err
		case errors.Is(err, publish.ErrPending):
			at := n.place()
			at.Path = member.Path
			// Then the loop tries the removal again.
			if err := at.FinishPending(ctx); err != nil {
				return err
			}
		case !n.endsAt(ctx, member):
			return err
		}
	}
}

// alone calls do while it holds the exclusive lock of the node.
func (n *node) alone(ctx context.Context, do func() error) error {
	lock, err := n.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return do()
}

// endsAt ends the reservation of a member of the node if its elements are published, and
// reports whether it did.
func (n *node) endsAt(ctx context.Context, held *publish.MemberError) bool {
	o := n.options
	o.Write, o.Finish = false, false // opening for writing could wait for locks
	a, err := n.hierarchy.at(held.Path).OpenArray(ctx, &o)
	if err != nil {
		return false
	}
	ended, err := a.core.EndPublished(ctx, "")
	return ended && err == nil
}
