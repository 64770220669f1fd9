// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io/fs"

	"varve.dev/zarr/internal/coding"
)

// Places returns where the encoded inner chunks of the shard at index are, or nil if it
// is not stored. It takes one request.
func (a *Array) Places(ctx context.Context, index []int64) (*coding.Places, error) {
	w := a.inChunk(index)
	src := w.source(w.key)
	p, err := w.Chain.Places(ctx, w.work(minBudget), w.Cell.Encoded, src)
	if _, closeErr := src.close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, w.fail(err)
}
