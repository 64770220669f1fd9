// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/store"
)

// CheckUnmoved returns an error if a command runs again because others have committed to
// a repository of Icechunk, and they have changed or moved the elements of a view: the
// positions of the command would mean other elements. choose makes the same view of the
// array as it was when the command began.
func CheckUnmoved(cmd *cobra.Command, location string, now *zarr.View, choose func(context.Context, *zarr.Array) (*zarr.View, error)) error {
	former, repeats := session.Former(cmd, location)
	if !repeats {
		return nil
	}
	a, err := zarr.OpenArray(cmd.Context(), former, session.Reading(cmd))
	if err != nil {
		return fmt.Errorf("%s, as it was when the command began: %w", session.WithoutSecrets(location), err)
	}
	defer a.Close() // it was only read
	was, err := choose(cmd.Context(), a)
	if err == nil && was.Type() == now.Type() && slices.Equal(was.Shape(), now.Shape()) {
		var sums [2][sha256.Size]byte
		for i, v := range []*zarr.View{was, now} {
			if sums[i], err = sum(cmd.Context(), v); err != nil {
				return err
			}
		}
		if sums[0] == sums[1] {
			return nil
		}
	}
	return fmt.Errorf("%w: others have changed or moved the elements that were selected when the command began: look at them and repeat it", store.ErrConflict)
}

// sum returns a checksum of the elements of a view.
func sum(ctx context.Context, v *zarr.View) (sum [sha256.Size]byte, err error) {
	h, a, e := sha256.New(), v.Array(), export.Values{Type: v.Type()}
	slabs, err := a.Slabs(v.Selection(), export.SlabOf(e.Type))
	if err != nil {
		return sum, err
	}
	for slab := range slabs {
		part, err := a.Select(slab)
		if err != nil {
			return sum, err
		}
		e.Grow(int(part.Len()))
		if err := e.Read(ctx, a, slab); err != nil {
			return sum, err
		}
		h.Write(e.Data)
		for _, word := range e.Words {
			h.Write(binary.AppendUvarint(nil, uint64(len(word))))
			h.Write(word)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
