// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Followed returns the name of the array, and of its store, that a follows ([Follow]), or
// "" if a follows none. Do not change the elements, the shape or the chunks of one that
// does: the next [Follow] refuses it, or does not notice what has changed. It makes no
// request for an array of format 3 without the attribute varve:follow.
func Followed(ctx context.Context, a *zarr.Array) (name string, err error) {
	s := newSessionIn(a, nil)
	if a.Format() == 2 {
		// No array of format 2 follows another one in a store without locks.
		if _, locks := store.As[store.Locker](s.at.Store); !locks {
			return "", nil
		}
	} else if _, found, err := metadata.Attribute(a.Attributes(), own.Follow); !found || err != nil {
		return "", s.Fail("inspect", err)
	}
	now, err := s.Fresh(ctx)
	if err != nil {
		return "", s.Fail("inspect", err)
	}
	o, err := readOrigin(ctx, s.at, now, mostFollowed)
	var not final
	if errors.As(err, &not) {
		return "", nil // a copy of one that does, or one that was changed already
	}
	if err != nil {
		return "", s.Fail("inspect", err)
	}
	return o.Source, nil
}

// mostFollowed bounds the record of an array that is followed in bytes.
const mostFollowed = 1 << 30
