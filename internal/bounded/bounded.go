// Package bounded takes from a decompressor no more bytes than there may be.
package bounded

import (
	"fmt"
	"io"
	"sync"

	"varve.dev/zarr/codec"
)

// Append appends all bytes of r, at most most, to dst, which has room for them. One more
// is [codec.ErrTooLong]; other errors are those of r.
func Append(dst []byte, r io.Reader, most int) ([]byte, error) {
	limit := len(dst) + most
	for len(dst) < limit {
		n, err := r.Read(dst[len(dst):limit])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, ended(err)
		}
	}
	one := ones.Get().(*[1]byte)
	defer ones.Put(one)
	for {
		switch n, err := r.Read(one[:]); {
		case n > 0:
			return dst, fmt.Errorf("%w: it decodes to more than %d bytes", codec.ErrTooLong, most)
		case err != nil:
			return dst, ended(err)
		}
	}
}

// ones has room for what should not follow.
var ones = sync.Pool{New: func() any { return new([1]byte) }}

// ended returns nil for the end.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
