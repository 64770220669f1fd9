// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"crypto/sha256"
	"encoding/binary"

	"varve.dev/zarr/transfer"
)

// share is a part of the values. A hash of the key decides, so a part stays the same when
// values are added or deleted.
type share transfer.Share

// has reports whether a value belongs to the share.
func (s share) has(key keyHash) bool {
	return s.Of <= 1 || binary.BigEndian.Uint64(key[:8])%uint64(s.Of) == uint64(s.Task)
}

// keyHash stands for a key. It takes less memory, and has as good as no collisions.
type keyHash [16]byte

// hashOf returns the hash of a key relative to the location.
func hashOf(key string) keyHash {
	sum := sha256.Sum256([]byte(key))
	return keyHash(sum[:16])
}
