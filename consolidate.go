// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Consolidate stores copies of the documents of all nodes below the group in the document
// of the group, or in format 2 in a separate document. A reader then needs one request to
// know all nodes. Changes by this package keep the copies up to date. After a change by
// another program, call Consolidate again. Nodes of the other format are left out. The
// group uses the copies after it is opened again.
//
// The form is that of zarr-python 3.4.1: "consolidated_metadata" of kind "inline", and
// ".zmetadata" in format 2.
func (g *Group) Consolidate(ctx context.Context) error {
	if err := g.writable(); err != nil {
		return g.fail("consolidate", err)
	}
	n := g.place().Container(g.path)
	plan := func(d publish.Document) (*publish.Change, error) {
		doc, err := g.consolidate(ctx, d.Bytes)
		if err != nil {
			return nil, err
		}
		return &publish.Change{Document: doc}, nil
	}
	return g.fail("consolidate", publish.Retry(ctx, func() error {
		err := tree.FinishMember(ctx, publish.Update(ctx, n.Node, plan))
		if !g.isV2() || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		doc, err := g.consolidate(ctx, nil)
		if err != nil {
			return tree.FinishMember(ctx, err)
		}
		_, err = publish.Create(ctx, n.Node, doc)
		return err
	}))
}

// consolidate returns the document with the consolidated metadata of the group. In format
// 3 it is the given document of the group with that member replaced.
func (g *Group) consolidate(ctx context.Context, document []byte) ([]byte, error) {
	l := g.options.Limits.metadata()
	var failed error
	if g.isV2() {
		own, err := g.place().Record(ctx)
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

// documents yields the paths and stored entries of all nodes below the group that have
// its format. It stops at an error and sets *failed.
func (g *Group) documents(ctx context.Context, failed *error) iter.Seq2[string, []byte] {
	plain := &Group{node: g.node, doc: g.doc.WithConsolidated(nil)}
	// Opening members for writing would finish changes of crashed writers. That takes the
	// lock of the group, which this goroutine holds.
	plain.options.Write = false
	return func(yield func(string, []byte) bool) {
		for m, err := range plain.Members(ctx, true) {
			var raw []byte
			format := 0
			n := g.place()
			if err == nil {
				n.Path, err = g.path.Join(m.Path)
			}
			if err == nil {
				raw, format, err = n.Reader().Record(ctx, n.Path)
			}
			if err == nil {
				err = n.CheckPending(ctx, store.Key{})
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
