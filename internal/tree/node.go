// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Node is a node in a store: the document that makes it, and how the document is changed.
type Node struct {
	publish.Node
	Limits metadata.Limits // Document must be set
}

// IsV2 reports whether the node is of format 2.
func (n Node) IsV2() bool { return n.Document != nodename.V3Node }

// Format returns the version of the Zarr format of the node, 2 or 3.
func (n Node) Format() int {
	if n.IsV2() {
		return 2
	}
	return 3
}

// Key returns the key of the document that makes the node.
func (n Node) Key() store.Key { return n.Path.MustKey(n.Document) }

// Reader returns a reader of documents in the store of the node.
func (n Node) Reader() Reader { return Reader{Store: n.Store, Limits: n.Limits} }

// IsChunkKey reports whether a name in the folder of an array of a rank is the key of a
// chunk in any encoding of keys.
func IsChunkKey(name string, rank int) bool {
	for _, keys := range []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash} {
		if _, ok := keys.ParseKey(name, rank, nil); ok {
			return true
		}
	}
	return false
}

// CheckNames refuses to create nodes with names that are not legal for a new node, or
// that format 3 reserves. Existing nodes with such names are read, because other programs
// write them.
func CheckNames(format int, paths ...store.Path) error {
	for _, p := range paths {
		if p.IsRoot() {
			continue
		}
		if err := nodename.CheckNew(p.Name()); err != nil {
			return fault.Argument("%v: choose another name", err)
		}
		if format == 3 && own.Reserved(p.Name()) {
			return fault.Argument("node name %q begins with \"__\", which is reserved in format 3: choose another name, or format 2", p.Name())
		}
	}
	return nil
}

// NameNotes returns a note on a node whose name its format reserves.
func NameNotes(format int, p store.Path) []string {
	if format == 2 || !own.Reserved(p.Name()) {
		return nil
	}
	return []string{fmt.Sprintf("the name %q begins with \"__\", which format 3 reserves (zarr-python writes such names): "+
		"it is read, copied and converted, and not created", p.Name())}
}

// PublishAttributes publishes attributes of a node of format 2, which have a document of
// their own, and returns them.
func (n Node) PublishAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) (object []byte, err error) {
	at, l := n.Node, n.Limits
	at.Document = nodename.V2Attributes
	err = publish.Retry(ctx, func() error {
		var refused error // from change; it may wrap any error, fs.ErrNotExist too
		err := publish.Update(ctx, at, func(d publish.Document) (*publish.Change, error) {
			old, err := metadata.ParseAttributesV2(d.Bytes, l)
			if err != nil {
				return nil, err
			}
			if object, refused = change(bytes.Clone(old)); refused != nil {
				return nil, refused
			}
			document, err := metadata.MarshalAttributesV2(object, l)
			return &publish.Change{Document: document}, err
		})
		switch {
		// Return an error of the caller's function as it is. It may match any of the
		// errors below.
		case refused != nil:
			return err
		case errors.Is(err, publish.ErrPending):
			_, othersErr := n.FinishTransaction(ctx)
			return errors.Join(othersErr, err)
		case errors.Is(err, fs.ErrNotExist):
			// A node without attributes has no .zattrs yet.
			return n.beginAttributes(ctx, at)
		}
		return err
	})
	return object, err
}

// beginAttributes creates the document of the attributes. It returns a conflict, so that
// Retry changes the new document.
func (n Node) beginAttributes(ctx context.Context, at publish.Node) error {
	if _, err := store.Stat(ctx, n.Store, n.Key()); err != nil {
		return err // the node was removed
	}
	if _, err := publish.Create(ctx, at, []byte("{}\n")); err != nil {
		return err
	}
	return store.ErrConflict
}

// RefreshGroup makes the consolidated metadata of the groups above a group agree with its
// documents. In format 2 the group's own consolidated metadata has a copy of them, too.
func (n Node) RefreshGroup(ctx context.Context) error {
	var err error
	if n.IsV2() {
		err = n.Container(n.Path).ChangeConsolidated(ctx, func(c *metadata.Consolidated) (*metadata.Consolidated, error) {
			// .zmetadata also has an entry for the group itself.
			raw, err := n.Record(ctx)
			return c.WithOwn(raw), err
		})
	}
	if err != nil {
		err = fmt.Errorf("%w: the consolidated metadata of the group is not up to date: %w", publish.ErrIncomplete, err)
	}
	return errors.Join(err, RefreshAbove(ctx, store.Key{}, n))
}
