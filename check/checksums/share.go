// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"varve.dev/zarr"
)

// Share says which of how many parts of the values [WritePart] reads. A hash of the key
// decides, so a part stays the same when values are added or deleted.
type Share struct {
	Task int64 `json:"task"` // from 0 on
	Of   int64 `json:"of"`   // 0 counts as 1
}

// String returns the number of the part and that of all parts.
func (s Share) String() string { return fmt.Sprintf("part %d of %d", s.Task, s.Of) }

// valid returns an error unless the share is one of its parts.
func (s Share) valid() error {
	if s.Of < 0 || s.Task < 0 || s.Task >= max(1, s.Of) {
		return fmt.Errorf("%w: %v, and parts count from 0", zarr.ErrInvalidArgument, s)
	}
	return nil
}

// contains reports whether a value belongs to the share.
func (s Share) contains(key keyHash) bool {
	return s.Of <= 1 || binary.BigEndian.Uint64(key[:8])%uint64(s.Of) == uint64(s.Task)
}

// keyHash stands for a key. It takes less memory, and has as good as no collisions.
type keyHash [16]byte

// hashOf returns the hash of a key relative to the location.
func hashOf(key string) keyHash {
	sum := sha256.Sum256([]byte(key))
	return keyHash(sum[:16])
}
