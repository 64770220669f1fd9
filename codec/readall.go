// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"io"
	"sync"

	"varve.dev/zarr/internal/quantity"
)

// ReadAll appends all bytes of r to dst, which must have the capacity for most bytes. It
// is for codecs whose decoder is an [io.Reader]. If r has more than most bytes, the error
// wraps [ErrTooLong]. Other errors are those of r.
func ReadAll(dst []byte, r io.Reader, most int) ([]byte, error) {
	limit := len(dst) + most
	for len(dst) < limit {
		n, err := r.Read(dst[len(dst):limit])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, ended(err)
		}
	}
	// dst is full. Any further byte is too much.
	one := ones.Get().(*[1]byte)
	defer ones.Put(one)
	for {
		switch n, err := r.Read(one[:]); {
		case n > 0:
			return dst, fmt.Errorf("%w: it decodes to more than %s", ErrTooLong, quantity.Count(most, "bytes"))
		case err != nil:
			return dst, ended(err)
		}
	}
}

// ones are buffers for the byte after the last, which should not come.
var ones = sync.Pool{New: func() any { return new([1]byte) }}

// ended returns err, or nil for io.EOF.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
