// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// PublishAttributes publishes attributes of a node of format 2, which have a document of
// their own, and returns them.
func (n Node) PublishAttributes(ctx context.Context, change func(object []byte) ([]byte, error)) (object []byte, err error) {
	at, l := n.Node, n.Limits
	at.Document = metadata.V2Attributes
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
