package lzma

import (
	"encoding/binary"
	"fmt"
	"math"
)

// aloneHeader is the number of bytes before the stream of a .lzma file: properties, size of the dictionary, size of the data.
const aloneHeader = 1 + 4 + 8

// AppendAlone appends what src, a .lzma file, decodes to, at most most bytes, to dst, which has room for them.
// The file has to be all of src. Errors wrap [ErrCorrupt].
func AppendAlone(dst, src []byte, most int) ([]byte, error) {
	if len(src) < aloneHeader {
		return dst, fmt.Errorf("%w: %d bytes are too few for a file", ErrCorrupt, len(src))
	}
	p, err := properties(src[0])
	if err != nil {
		return dst, err
	}
	size := unknown
	if n := binary.LittleEndian.Uint64(src[5:]); n != math.MaxUint64 {
		if n > uint64(most) {
			return dst, fmt.Errorf("%w: it claims to have %d bytes, want at most %d", ErrCorrupt, n, most)
		}
		size = int(n)
	}
	return appendLZMA(dst, src[aloneHeader:], most, size, p)
}
