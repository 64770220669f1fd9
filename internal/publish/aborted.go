// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// mostAborted bounds a journal that says only that its transaction is rolled back.
const mostAborted = 1 << 10 // bytes

// Aborted returns the journals beside a node whose transactions were rolled back. Such a
// journal keeps a writer from committing whose write is still on its way. It may be
// deleted once no write can be.
func Aborted(ctx context.Context, n Node) (found []store.Key, err error) {
	dir := n.Path.MustKey(own.Dir + "/-").Dir()
	for e, err := range store.List(ctx, n.Store, dir, false) {
		if err != nil {
			return nil, err
		}
		key := dir.MustKey(e.Name)
		if e.Dir || !isJournal(key) {
			continue
		}
		data, _, err := n.Store.Get(ctx, key, store.Request{Limit: mostAborted}, nil)
		// Another recovery has deleted it, or it has parts.
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrTooLarge) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var j journal
		if json.Unmarshal(data, &j) == nil && j.Aborted && len(j.Parts) == 0 {
			found = append(found, key)
		}
	}
	return found, nil
}
