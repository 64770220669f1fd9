// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Consolidate stores copies of the documents of all nodes below the group in the document
// of the group, or in format 2 in a separate document. A reader then needs one request to
// learn about all nodes. Changes by this package keep the copies up to date. After a
// change by another program, call Consolidate again. Nodes of the other format are left
// out. The group uses the copies after it is opened again. Nodes with names that cannot
// be in such a document, such as ones made of periods, are left out, and a
// [store.UnusableError] names them. So are those that would lead out of their directory
// on Windows, and those that are no UTF-8.
//
// The form is that of zarr-python 3.4.1: "consolidated_metadata" of kind "inline", and
// ".zmetadata" in format 2.
func (g *Group) Consolidate(ctx context.Context) error {
	if err := g.writable(); err != nil {
		return g.fail("consolidate", err)
	}
	w := walked{dir: g.path}
	err := g.consolidateNow(ctx, &w)
	// A writer that published while the documents were read has found no copies to
	// update. One that publishes from now on will.
	if err == nil && !g.options.SingleWriter {
		if err = publish.Retry(ctx, func() error { return g.recopy(ctx) }); err != nil {
			err = fmt.Errorf("the copies are published, but may lack what other writers changed meanwhile; consolidate again: %w", err)
		}
	}
	return g.fail("consolidate", cmp.Or(err, w.unusable()))
}

// recopy updates the copies that differ from the documents, one by one: others are
// updated by their writers meanwhile.
func (g *Group) recopy(ctx context.Context) error {
	n := g.place().Container(g.path)
	document, _, err := n.Store.Get(ctx, n.Key(), store.Request{Limit: n.Limit}, nil)
	if err != nil {
		return err
	}
	fresh, err := g.consolidate(ctx, document, new(walked))
	if err != nil {
		return tree.FinishMember(ctx, err)
	}
	was, err := g.copiesIn(document)
	if err != nil {
		return err
	}
	is, err := g.copiesIn(fresh)
	if err != nil {
		return err
	}
	var changed []string
	for path, raw := range is.Nodes() {
		if !bytes.Equal(was.Raw(path), raw) {
			changed = append(changed, path)
		}
	}
	for path := range was.Nodes() {
		if is.Raw(path) == nil {
			changed = append(changed, path)
		}
	}
	for _, path := range changed {
		member := node{hierarchy: g.hierarchy, options: g.options, document: g.document}
		if member.path, err = g.path.Join(path); err == nil {
			err = g.hierarchy.recordAll(ctx, member)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copiesIn returns the consolidated metadata in a document.
func (g *Group) copiesIn(document []byte) (*metadata.Consolidated, error) {
	l := g.options.Limits.metadata()
	if g.isV2() {
		return metadata.ParseConsolidatedV2(document, l)
	}
	doc, err := metadata.ParseGroup(document, l)
	if err != nil || doc.Consolidated == nil { // another program has removed it
		return new(metadata.Consolidated), err
	}
	return doc.Consolidated, nil
}

// consolidateNow stores copies of the documents as they are now.
func (g *Group) consolidateNow(ctx context.Context, w *walked) error {
	n := g.place().Container(g.path)
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := g.consolidate(ctx, d.Bytes, w)
		if err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return publish.Retry(ctx, func() error {
		// FinishMember completes a pending transaction of a member. The error stays a
		// conflict, so Retry lists the members again.
		err := tree.FinishMember(ctx, publish.Update(ctx, n.Node, plan))
		if !g.isV2() || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// In format 2 the copies have a document of their own, .zmetadata, which does not
		// exist yet.
		doc, err := g.consolidate(ctx, nil, w)
		if err != nil {
			return tree.FinishMember(ctx, err)
		}
		_, err = publish.Create(ctx, n.Node, doc)
		return err
	})
}

// consolidate returns the document with the consolidated metadata of the group. In format
// 3 it is the given document of the group with that member replaced.
func (g *Group) consolidate(ctx context.Context, document []byte, w *walked) ([]byte, error) {
	l := g.options.Limits.metadata()
	w.failed, w.left = nil, nil
	if g.isV2() {
		own, err := g.place().Record(ctx)
		if err != nil {
			return nil, err
		}
		c, err := metadata.NewConsolidatedV2(own, g.documents(ctx, w), l)
		if err = errors.Join(w.failed, err); err != nil {
			return nil, err
		}
		return c.Marshal(l)
	}
	doc, err := metadata.ParseGroup(document, l)
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewConsolidated(g.documents(ctx, w), l)
	if err = errors.Join(w.failed, err); err != nil {
		return nil, err
	}
	return doc.WithConsolidated(c).Marshal(l)
}

// walked is what a walk over the documents below a group has met besides them.
type walked struct {
	dir    store.Path
	failed error
	left   []store.Entry // nodes that consolidated metadata cannot have
}

// unusable returns the [store.UnusableError] that names the nodes that were left out.
func (w *walked) unusable() error {
	entries := func(yield func(store.Entry, error) bool) {
		for _, e := range w.left {
			if !yield(e, nil) {
				return
			}
		}
	}
	for _, err := range store.Sift(w.dir, entries) {
		return err
	}
	return nil
}

// documents yields the paths and stored entries of all nodes below the group that have
// its format. It stops at an error and sets w.failed.
func (g *Group) documents(ctx context.Context, w *walked) iter.Seq2[string, []byte] {
	plain := &Group{node: g.node, doc: g.doc.WithConsolidated(nil)}
	// Opening members for writing would finish changes of crashed writers. That takes the
	// lock of the group, which this goroutine holds.
	plain.options.Write = false
	return func(yield func(string, []byte) bool) {
		for m, err := range plain.Members(ctx, true) {
			var raw []byte
			format := 0
			n := g.place()
			if why := nodename.CheckBelow(m.Path); err == nil && why != nil {
				w.left = append(w.left, store.Entry{Name: m.Path, Unusable: "left out of the consolidated metadata: " + why.Error()})
				continue
			}
			if err == nil {
				n.Path, err = g.path.Join(m.Path)
			}
			if err == nil {
				raw, format, err = n.Reader().Record(ctx, n.Path)
			}
			if err == nil {
				// A copy that was made in the middle of a transaction could show one
				// array grown and another one not.
				err = n.CheckPending(ctx, store.Key{})
			}
			if err != nil {
				w.failed = err
				return
			}
			if format == g.Format() && !yield(m.Path, raw) {
				return
			}
		}
	}
}

// updateConsolidated makes the consolidated metadata above a node agree with what is
// stored at the node and below it.
func (h *hierarchy) updateConsolidated(ctx context.Context, n node) error {
	if err := n.writable(); err != nil {
		return err
	}
	// Each format has consolidated metadata of its own, and a node may have documents of
	// both.
	for _, document := range []string{documentName, nodename.V2Array} {
		n.document = document
		if err := h.recordAll(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// recordAll stores the entries of a node and of all nodes below it in the consolidated
// metadata of the groups above that have the node's format.
func (h *hierarchy) recordAll(ctx context.Context, n node) error {
	raw, format, err := h.reader(n.options.Limits).Record(ctx, n.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || format != n.Format() {
		// There is no node of this format, so its entry is removed.
		raw = nil
	}
	for p := n.path; !p.IsRoot(); {
		p = p.Parent()
		path := tree.Inside(p, n.path)
		err := n.place().Container(p).ChangeConsolidated(ctx, func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			return h.withNode(ctx, n, c, path, raw)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// withNode returns consolidated metadata with the entry of a node at a path and those of
// the nodes below it.
func (h *hierarchy) withNode(ctx context.Context, n node, c *metadata.Consolidated, path string, raw []byte) (*metadata.Consolidated, error) {
	c, err := tree.WithMember(c, path, raw, n.options.Limits.metadata())
	if err != nil || raw == nil {
		return c, err
	}
	at, err := h.open(ctx, n.path, n.options)
	g, isGroup := at.(*Group)
	if err != nil || !isGroup {
		return c, nil // an array has nothing below it; a node that does not open has an entry all the same
	}
	var w walked
	for below, raw := range g.documents(ctx, &w) {
		if c, err = c.With(path+"/"+below, raw, n.options.Limits.metadata()); err != nil {
			return nil, fmt.Errorf("%s: %w", below, err)
		}
	}
	return c, w.failed
}

// UpdateConsolidated makes the consolidated metadata of the groups above the location
// agree with what is stored there and below it. It is for programs that store documents
// themselves, such as copies. Groups without consolidated metadata stay without.
func (l *Location) UpdateConsolidated(ctx context.Context, opt *Options) error {
	if l.illegal != nil {
		return l.fail("consolidate", l.illegal)
	}
	h, o := l.merged(opt)
	return l.fail("consolidate", h.updateConsolidated(ctx, node{hierarchy: h, path: l.path, options: o}))
}
