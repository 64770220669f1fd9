// Package lzma decompresses LZMA in memory, straight to where the bytes belong: raw streams of LZMA and LZMA2, and the
// containers .lzma and .xz (xz file format 1.2; the LZMA specification of Igor Pavlov).
//
// What is decoded is its own dictionary. So memory does not grow with what a header claims, and a chunk takes no more than the
// state of the decoder, which is kept for the next.
package lzma

import (
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrCorrupt says that bytes are not what they should be, not all of it, or decode to too many bytes.
	ErrCorrupt = errors.New("lzma: corrupt data")
	// ErrChecksum says that decoded bytes are not those that were compressed.
	ErrChecksum = errors.New("lzma: checksum does not match")
	// ErrUnsupported says that bytes went through something that this package does not know.
	ErrUnsupported = errors.New("lzma: not supported")
)

// Properties are how many bits of what stands before an element choose its probabilities.
type Properties struct {
	LC int // high bits of the byte before a literal, 0 to 4
	LP int // low bits of the position of a literal, 0 to 4, and no more than 4 together with LC
	PB int // low bits of the position of anything, 0 to 4
}

// Usual are the properties that encoders choose when they are not told.
var Usual = Properties{LC: 3, PB: 2}

// Valid reports whether a stream may have these properties. Larger ones than those were never in use: liblzma refuses them too.
func (p Properties) Valid() bool {
	return p.LC >= 0 && p.LP >= 0 && p.LC+p.LP <= 4 && p.PB >= 0 && p.PB <= 4
}

// Byte returns the properties as they are stored.
func (p Properties) Byte() byte { return byte((p.PB*5+p.LP)*9 + p.LC) }

// properties returns the properties that a byte stands for.
func properties(b byte) (Properties, error) {
	p := Properties{LC: int(b) % 9, LP: int(b) / 9 % 5, PB: int(b) / 45}
	if !p.Valid() {
		return p, fmt.Errorf("%w: properties %#x", ErrCorrupt, b)
	}
	return p, nil
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Append appends what src, a raw LZMA stream with an end marker, decodes to, at most most bytes, to dst, which has room for them.
// The stream has to be all of src. Errors wrap [ErrCorrupt].
func Append(dst, src []byte, most int, p Properties) ([]byte, error) {
	return appendLZMA(dst, src, most, unknown, p)
}

// unknown is the size of a stream that has an end marker instead.
const unknown = -1

func appendLZMA(dst, src []byte, most, size int, p Properties) ([]byte, error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.out, d.start, d.limit = dst, len(dst), len(dst)+most
	d.properties, d.src, d.pos = p, src, 0
	if size != unknown {
		d.limit = len(dst) + size
	}
	d.reset()
	if err := d.begin(); err != nil {
		return dst, err
	}
	if err := d.run(); err != nil {
		return dst, err
	}
	if !d.ended && (size == unknown || !d.finished() || d.pos != len(src)) {
		if err := d.expectEnd(); err != nil {
			return dst, err
		}
	}
	if !d.finished() || d.pos != len(src) || size != unknown && len(d.out) < d.limit {
		return dst, d.corrupt("the stream does not end where it should")
	}
	return d.out, nil
}
