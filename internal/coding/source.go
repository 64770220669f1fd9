// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"

	"varve.dev/zarr/store"
)

// Source is one version of a stored chunk, which is read range by range.
type Source interface {
	// Key returns the key of the chunk. A codec may cache what it learned about this
	// version under the key.
	Key() store.Key
	// Expect makes reads of any version but that of info fail with [store.ErrConflict].
	// After the zero Info, the next read decides on the version.
	Expect(info store.Info)
	// Read appends the bytes that q selects to dst. All reads come from one version. It
	// fails with [fs.ErrNotExist] if the chunk is not stored, and with
	// [store.ErrConflict] if it was replaced after the first read.
	Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error)
}

// Stored is a stored chunk, or an inner chunk, that is in memory. A caller that passes it
// as a Source holds a core ([Work.Cores]).
type Stored []byte

// Key returns the zero Key.
func (s Stored) Key() store.Key { return store.Key{} }

// Expect does nothing, because the bytes do not change.
func (s Stored) Expect(store.Info) {}

// Read appends the bytes that q selects to dst.
func (s Stored) Read(_ context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(int64(len(s)))
	if err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, s[off:off+n]...), store.Info{Size: int64(len(s))}, nil
}
