// SPDX-License-Identifier: Apache-2.0

package bytescodec

import (
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/codec"
)

// checkBools returns a [codec.ErrCorrupt] with the offset of the first byte that is
// neither 0 nor 1. As a Go bool such a byte would have no defined meaning.
func checkBools(data []byte) error {
	const notBits = 0xfefefefefefefefe
	i := 0
	// Fast path: check 32 bytes at a time.
	for ; i+32 <= len(data); i += 32 {
		w := data[i : i+32]
		all := binary.NativeEndian.Uint64(w) | binary.NativeEndian.Uint64(w[8:]) |
			binary.NativeEndian.Uint64(w[16:]) | binary.NativeEndian.Uint64(w[24:])
		if all&notBits != 0 {
			// The next loop finds the byte.
			break
		}
	}
	for ; i < len(data); i++ {
		if data[i] > 1 {
			return fmt.Errorf("%w: bytes: bool at offset %d is stored as %d, want 0 or 1", codec.ErrCorrupt, i, data[i])
		}
	}
	return nil
}
