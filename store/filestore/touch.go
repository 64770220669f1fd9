// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"

	"varve.dev/zarr/store"
)

// Touch gives the file at key the modification time of now, as if its bytes had been
// written again. The value has a new version afterwards. The time is not made durable. If
// there is no value, the error is [io/fs.ErrNotExist].
func (s *Store) Touch(ctx context.Context, key store.Key) error {
	err := s.writable(ctx)
	if err != nil {
		return fail("touching", key.String(), err)
	}
	name, err := nameOf(key)
	if err == nil {
		err = s.fs.Touch(name, s.now())
	}
	if err != nil {
		return fail("touching", key.String(), err)
	}
	return nil
}
