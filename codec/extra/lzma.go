// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
	"varve.dev/zarr/codec"
)

// largestDictionary is the dictionary of preset 9, in bytes. A header may claim no more,
// unless the configuration or the chunk has more. A dictionary never takes more memory
// than the chunk.
const largestDictionary = 64 << 20

// lzmaCoder is the codec numcodecs.lzma. The library reuses no memory. Every decoding
// allocates the dictionary (at most as long as the decoded bytes), about 30 kB of
// probabilities, and 16 bytes for every match.
type lzmaCoder struct {
	format     int
	check      byte // of .xz files
	chunked    bool // LZMA2; otherwise LZMA with an end marker
	dictionary int  // bytes
	properties lzma.Properties
	deltas     []int // distances, in bytes
}

// MaxEncoded implements [codec.BytesBytes]. Incompressible data is stored in chunks of
// 64 KiB, or as literals that are slightly longer. A file may have several blocks.
func (*lzmaCoder) MaxEncoded(n int64) int64 {
	const headers = 4 << 10
	n = min(n, math.MaxInt64/2)
	return n + n/16 + headers
}

// Guarded implements [codec.Guarded].
func (c *lzmaCoder) Guarded() bool { return c.format == formatXZ && c.check != 0 }

// Encode implements [codec.BytesBytes]. It uses only the dictionary size of a preset.
// The library also has a tree search for matches, but that takes hours for a chunk of
// zeros, and its streams do not decode.
func (c *lzmaCoder) Encode(dst, src []byte) ([]byte, error) {
	data := src
	if len(c.deltas) > 0 {
		// The filters work in place, and src must not change.
		data = bytes.Clone(src)
		for _, d := range c.deltas {
			delta(data, d)
		}
	}
	to := &sink{dst}
	w, err := c.writer(to, len(src))
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, fmt.Errorf("lzma: %w", err)
	}
	// The library wrote the header of a .lzma file, which a raw stream lacks.
	if c.format == formatRaw && !c.chunked {
		to.out = slices.Delete(to.out, len(dst), len(dst)+lzma.HeaderLen)
	}
	return to.out, nil
}

// writer returns a compressor for n bytes.
func (c *lzmaCoder) writer(to io.Writer, n int) (io.WriteCloser, error) {
	dictionary, err := lzma.DecodeDictCap(lzma.EncodeDictCap(int64(min(c.dictionary, n)))) // a size that liblzma accepts
	if err != nil {
		return nil, err
	}
	size, p := int(max(dictionary, lzma.MinDictCap)), c.properties
	switch {
	case c.format == formatXZ && len(c.deltas) > 0:
		return nil, fmt.Errorf("%w: filter %#x (delta) can only be read in .xz files, not written; write format 3", codec.ErrUnsupported, filterDelta)
	case c.format == formatXZ:
		return xz.WriterConfig{Properties: &p, DictCap: size, CheckSum: c.check, NoCheckSum: c.check == 0}.NewWriter(to)
	case c.chunked:
		return lzma.Writer2Config{Properties: &p, DictCap: size}.NewWriter2(to)
	}
	return lzma.WriterConfig{Properties: &p, DictCap: size}.NewWriter(to)
}

// Decode implements [codec.BytesBytes].
func (c *lzmaCoder) Decode(dst, src []byte, most int64) ([]byte, error) {
	out, err := c.decode(slices.Grow(dst, int(most)), src, int(most))
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, codec.ErrCorrupt), errors.Is(err, codec.ErrUnsupported):
		return dst, fmt.Errorf("lzma: %w", err)
	}
	return dst, fmt.Errorf("%w: lzma: %w", codec.ErrCorrupt, err)
}

func (c *lzmaCoder) decode(dst, src []byte, most int) (out []byte, err error) {
	switch {
	case c.format == formatXZ:
		return appendXZ(dst, src, most, c.allowed(most))
	case c.format == formatAlone:
		return appendAlone(dst, src, most, c.allowed(most))
	case c.chunked:
		used := 0
		if out, used, err = appendChunks(dst, src, most, c.dictionary); err == nil && used < len(src) {
			err = follows(len(src) - used)
		}
	default:
		out, err = appendStream(dst, src, most, header{c.properties.Code(), int64(c.dictionary), unknownSize})
	}
	for i := len(c.deltas) - 1; i >= 0 && err == nil; i-- {
		undelta(out[len(dst):], c.deltas[i])
	}
	return out, err
}

// allowed returns the largest dictionary that the header of a chunk of most bytes may
// claim.
func (c *lzmaCoder) allowed(most int) int64 { return int64(max(largestDictionary, c.dictionary, most)) }

// tooLarge returns the error for a dictionary that is larger than the metadata allows.
func tooLarge(claimed, allowed int64) error {
	return fmt.Errorf("%w: %w: a header claims a dictionary of %d bytes, but at most %d are possible", codec.ErrCorrupt, codec.ErrLimit, claimed, allowed)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", codec.ErrCorrupt, fmt.Errorf(format, args...))
}

func follows(n int) error { return corrupt("%d bytes follow the end", n) }

// unknownSize is the size in the header of a stream that ends with a marker.
const unknownSize = math.MaxUint64

// header is the header of a .lzma file.
type header struct {
	properties byte
	dictionary int64  // bytes
	size       uint64 // bytes that it decodes to
}

// appendAlone decodes src, a .lzma file, and appends the result.
func appendAlone(dst, src []byte, most int, allowed int64) ([]byte, error) {
	if len(src) < lzma.HeaderLen {
		return dst, corrupt("%d bytes are too few for a file", len(src))
	}
	h := header{src[0], int64(binary.LittleEndian.Uint32(src[1:])), binary.LittleEndian.Uint64(src[5:])}
	if !validProperties(h.properties) {
		return dst, corrupt("properties %#x", h.properties)
	}
	if h.dictionary > allowed {
		return dst, tooLarge(h.dictionary, allowed)
	}
	if h.size != unknownSize && h.size > uint64(most) {
		return dst, fmt.Errorf("%w: it claims %d bytes, but at most %d are possible", codec.ErrTooLong, h.size, most)
	}
	return appendStream(dst, src[lzma.HeaderLen:], most, h)
}

// appendStream decodes src, a raw LZMA stream, and appends the result. The library
// requires a header and allocates the dictionary that it claims. So appendStream passes a
// header whose dictionary is no larger than the decoded bytes.
func appendStream(dst, src []byte, most int, h header) ([]byte, error) {
	dictionary := min(h.dictionary, int64(max(most, lzma.MinDictCap)))
	header := binary.LittleEndian.AppendUint32([]byte{h.properties}, uint32(dictionary))
	header = binary.LittleEndian.AppendUint64(header, h.size)
	in := bytes.NewReader(append(header, src...))
	r, err := lzma.NewReader(in)
	if err != nil {
		return dst, err
	}
	out, err := codec.ReadAll(dst, r, most)
	if err == nil && in.Len() > 0 {
		err = follows(in.Len())
	}
	return out, err
}

// delta replaces every byte by its difference from the byte at the given distance
// before it.
func delta(data []byte, distance int) {
	for i := len(data) - 1; i >= distance; i-- {
		data[i] -= data[i-distance]
	}
}

// undelta reverts delta.
func undelta(data []byte, distance int) {
	for i := distance; i < len(data); i++ {
		data[i] += data[i-distance]
	}
}
