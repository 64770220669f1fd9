// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"fmt"

	"varve.dev/zarr"
)

// CheckShare returns an error if there is no part with a number, counted from 0, among
// the parts. No parts count as one.
func CheckShare(task, of int64) error {
	if of < 0 || task < 0 || task >= max(1, of) {
		return fmt.Errorf("%w: part %d of %d; parts count from 0", zarr.ErrInvalidArgument, task, of)
	}
	return nil
}

// InShare reports whether a value with a key belongs to a part.
func InShare(key string, task, of int64) bool {
	return of <= 1 || int64(spread(key)%uint64(of)) == task
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
