// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"github.com/klauspost/compress/s2"

	"varve.dev/zarr/internal/budget"
)

// snappyStreams decompresses Snappy blocks.
type snappyStreams struct{}

func (snappyStreams) decompress(dst, src []byte) error {
	n, err := s2.DecodedLen(src) // check before decoding allocates
	if err != nil {
		return err
	}
	if err := filled(dst, n); err != nil {
		return err
	}
	_, err = s2.Decode(dst, src)
	return err
}

func (snappyStreams) compress(dst, src []byte) int {
	most := s2.MaxEncodedLen(len(src))
	b := budget.Get(int64(most))
	defer b.Put()
	return fit(dst, s2.EncodeSnappy(b.Bytes(int64(most)), src))
}

// fit copies src to dst. It returns the length of src, 0 if dst is too short.
func fit(dst, src []byte) int {
	if len(src) > len(dst) {
		return 0
	}
	return copy(dst, src)
}
