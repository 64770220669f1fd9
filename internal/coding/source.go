// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"

	"varve.dev/zarr/store"
)

// Source reads ranges of one version of a stored chunk.
type Source interface {
	// Key returns the key of the chunk. A codec may use it as the key of a cache.
	Key() store.Key
	// Expect pins the version of info: reads that find another version fail with
	// [store.ErrConflict]. With the zero Info, the next read pins the version it finds.
	Expect(info store.Info)
	// Read appends the bytes that q selects to dst. All reads come from one version. It
	// fails with [fs.ErrNotExist] if the chunk is not stored, and with
	// [store.ErrConflict] if it was replaced after the first read.
	Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error)
}

// Stored is a stored chunk or inner chunk in memory. A caller that passes it as a Source
// holds a core ([Work.Cores]).
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
