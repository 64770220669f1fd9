// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"fmt"

	"varve.dev/zarr"
)

// Share is a part of the values that [Sync] or [ConvertTo] copies: that of one of several
// processes. Each value belongs to one part, by a hash of its key below the node, in the
// destination. The hash is the same on every machine.
//
// The parts come in any order, at the same time, and more than once. Each lists all keys,
// copies the values that are its own and not up to date, and publishes nothing. When all
// have ended, the same call without a Share publishes: it copies what is missing or has
// changed since, writes the documents, and deletes what has to be deleted.
type Share struct {
	// Task and Of say which of how many parts, from 0 on. Of 0 is all values.
	Task, Of int64
}

func (p *Share) check() error {
	if p != nil && (p.Of < 0 || p.Task < 0 || p.Task >= max(1, p.Of)) {
		return fmt.Errorf("%w: part %d of %d; parts count from 0", zarr.ErrInvalidArgument, p.Task, p.Of)
	}
	return nil
}

// has reports whether the part has a key. All keys belong to a nil Share.
func (p *Share) has(key string) bool {
	return p == nil || p.Of <= 1 || int64(spread(key)%uint64(p.Of)) == p.Task
}

// spread returns a hash of a key, which must never change. It is FNV-1a with the last
// steps of MurmurHash3: the low bits of FNV-1a alone depend on little of a key.
func spread(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
