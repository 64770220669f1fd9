// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"

	"varve.dev/zarr/codec"
)

// chunk is a chunk of an LZMA2 stream.
type chunk struct {
	stored  int // bytes, its header included
	decoded int // bytes; 0 for the end
}

// nextChunk reads the header of the first chunk in src. It checks the properties, because
// the library allocates up to 6 MB for those that LZMA2 does not allow.
func nextChunk(src []byte) (chunk, error) {
	const (
		stored  = 0x02 // at most: the chunk is not compressed
		packed  = 0x80 // at least: the chunk is compressed
		changed = 0xc0 // at least: the chunk also has properties
	)
	b := append(make([]byte, 0, 6), src[:min(6, len(src))]...)[:6]
	high, low := int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	var c chunk
	switch control := b[0]; {
	case control == 0:
		c.stored = 1
	case control <= stored:
		c = chunk{3 + high + 1, high + 1}
	case control < packed:
		return c, corrupt("a chunk begins with %#x", control)
	case control < changed:
		c = chunk{5 + low + 1, (int(control)&0x1f)<<16 | high + 1}
	case !validProperties(b[5]):
		return c, corrupt("a chunk has the properties %#x", b[5])
	default:
		c = chunk{6 + low + 1, (int(control)&0x1f)<<16 | high + 1}
	}
	if c.stored > len(src) {
		return c, corrupt("the stream is truncated")
	}
	return c, nil
}

// validProperties reports whether a properties byte is valid. liblzma refuses the same
// bytes.
func validProperties(b byte) bool {
	p, err := lzma.PropertiesForCode(b)
	return err == nil && p.LC+p.LP <= 4
}

// chunksSize returns the bytes of the first LZMA2 stream in src, and its decoded bytes,
// at most most.
func chunksSize(src []byte, most int) (stored, decoded int, err error) {
	for {
		c, err := nextChunk(src[stored:])
		if err != nil {
			return 0, 0, err
		}
		stored += c.stored
		if c.decoded == 0 {
			return stored, decoded, nil
		}
		if decoded += c.decoded; decoded > most {
			return 0, 0, fmt.Errorf("%w: it decodes to more than %d bytes", codec.ErrTooLong, most)
		}
	}
}

// appendChunks decodes the first LZMA2 stream in src and appends the result. It also
// returns the bytes of the stream. It decodes chunk by chunk, because the library would
// take unused bytes of one chunk for the next.
func appendChunks(dst, src []byte, most, dictionary int) (out []byte, used int, err error) {
	stored, decoded, err := chunksSize(src, most)
	if err != nil || decoded == 0 {
		return dst, stored, err
	}
	in := bytes.NewReader(src[:stored])
	r, err := lzma.Reader2Config{DictCap: max(lzma.MinDictCap, min(dictionary, decoded))}.NewReader2(in)
	if err != nil {
		return dst, 0, err
	}
	for out = dst; ; {
		c, err := nextChunk(src[used:])
		if err != nil {
			return dst, 0, err
		}
		used += c.stored
		if c.decoded == 0 {
			return out, used, nil
		}
		n := len(out)
		out = out[:n+c.decoded]
		if _, err := io.ReadFull(r, out[n:]); err != nil {
			return dst, 0, err
		}
		// The library must have read this chunk exactly.
		if in.Len() != stored-used {
			return dst, 0, corrupt("a chunk does not end where it should")
		}
	}
}
