package numcodecs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/lzma"
	"varve.dev/zarr/metadata"
)

func init() { register("lzma", newLZMA) }

// LZMA returns the metadata of numcodecs.lzma with an .xz file for each chunk. The preset, 0 to 9, is the effort; beyond 6 it takes
// much memory. Writing takes an import of varve.dev/zarr/codec/extra. Further members, for other containers and filters, are
// those of the module lzma of Python.
func LZMA(preset int) metadata.Extension { return extension("lzma", `{"preset":%d}`, preset) }

// LZMAStream says how a raw stream is to be compressed.
type LZMAStream struct {
	Chunked    bool // LZMA2; otherwise LZMA with an end marker
	Dictionary int  // bytes, at least 4096, and no more than it takes for the data
	LC, LP, PB int  // literal context, literal position and position bits: 0 to 4 each, the first two together, too
	Preset     int  // 0 to 9: effort
}

// LZMAEncoder appends a raw stream of src to dst.
type LZMAEncoder func(dst, src []byte, s LZMAStream) ([]byte, error)

var lzmaEncoder atomic.Pointer[LZMAEncoder]

// ProvideLZMA makes e write for numcodecs.lzma, in place of an earlier one.
func ProvideLZMA(e LZMAEncoder) { lzmaEncoder.Store(&e) }

type lzmaCoder struct {
	format int
	check  lzma.Check
	stream LZMAStream
	deltas []int // distances, in bytes
}

// properties returns those of raw streams.
func (c *lzmaCoder) properties() lzma.Properties {
	return lzma.Properties{LC: c.stream.LC, LP: c.stream.LP, PB: c.stream.PB}
}

// MaxEncoded implements [codec.BytesBytes]. What does not shrink is stored in chunks of 64 KiB, or as literals that are all a
// little longer; a file may have several blocks.
func (*lzmaCoder) MaxEncoded(n int64) int64 {
	const headers = 4 << 10
	n = min(n, math.MaxInt64/2)
	return n + n/16 + headers
}

// Encode implements [codec.BytesBytes].
func (c *lzmaCoder) Encode(dst, src []byte) ([]byte, error) {
	e := lzmaEncoder.Load()
	if e == nil {
		return dst, fmt.Errorf("%w: LZMA is only read; to write it import varve.dev/zarr/codec/extra", codec.ErrUnsupported)
	}
	s, data := c.stream, src
	s.Dictionary = max(4096, min(s.Dictionary, len(src)))
	if len(c.deltas) > 0 {
		b := budget.Get(int64(len(src)))
		defer b.Put()
		data = append(b.B, src...)
		for _, d := range c.deltas {
			lzma.Delta(data, d)
		}
		b.B = data
	}
	if c.format == lzmaRaw {
		return (*e)(dst, data, s)
	}
	b := budget.Get(0)
	defer b.Put()
	packed, err := (*e)(b.B, data, s)
	if err != nil {
		return dst, err
	}
	b.B = packed
	if c.format == lzmaAlone {
		return lzma.WrapAlone(dst, packed, int64(s.Dictionary), c.properties()), nil
	}
	return lzma.WrapXZ(dst, packed, src, int64(s.Dictionary), c.deltas, c.check), nil
}

// Decode implements [codec.BytesBytes].
func (c *lzmaCoder) Decode(dst, src []byte, most int64) ([]byte, error) {
	out, err := c.decode(slices.Grow(dst, int(most)), src, int(most))
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, lzma.ErrChecksum):
		return dst, fmt.Errorf("%w: %w", codec.ErrChecksum, err)
	case errors.Is(err, lzma.ErrUnsupported):
		return dst, fmt.Errorf("%w: %w", codec.ErrUnsupported, err)
	}
	return dst, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
}

func (c *lzmaCoder) decode(dst, src []byte, most int) (out []byte, err error) {
	switch {
	case c.format == lzmaXZ:
		return lzma.AppendXZ(dst, src, most)
	case c.format == lzmaAlone:
		return lzma.AppendAlone(dst, src, most)
	case c.stream.Chunked:
		out, err = lzma.Append2(dst, src, most)
	default:
		out, err = lzma.Append(dst, src, most, c.properties())
	}
	for i := len(c.deltas) - 1; i >= 0 && err == nil; i-- {
		lzma.Undelta(out[len(dst):], c.deltas[i])
	}
	return out, err
}
