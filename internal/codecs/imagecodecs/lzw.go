// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

const lzwID = "lzw"

func init() { codec.Register(prefix+lzwID, newLZW) }

// LZW returns the metadata of imagecodecs_lzw: LZW as TIFF has it (section 13), with
// codes of 9 to 12 bits, the highest bit first.
func LZW() metadata.Extension { return metadata.Extension{Name: prefix + lzwID} }

func newLZW(configuration []byte) (any, error) {
	if err := decode(lzwID, configuration, &struct{}{}); err != nil {
		return nil, err
	}
	return lzw{}, nil
}

// lzw implements [codec.BytesBytes].
type lzw struct{}

// The codes that are not strings, and the sizes of codes.
const (
	clearCode = 256 // forget all strings
	endCode   = 257
	firstCode = 258 // of a string that is not a single byte
	minWidth  = 9   // bits
	maxWidth  = 12
	codes     = 1 << maxWidth
)

// MaxEncoded implements [codec.BytesBytes]. The worst choice of a simple writer is a code
// of 12 bits for each byte.
func (lzw) MaxEncoded(n int64) int64 {
	const header = 1 << 10
	return min(n, math.MaxInt64/2) + min(n, math.MaxInt64/2)/2 + header
}

// Decode implements [codec.BytesBytes]. As other readers of TIFF do, it accepts a strip
// without an end code if all bytes are there, and ignores what follows an end code.
func (lzw) Decode(dst, src []byte, most int64) ([]byte, error) {
	if len(src) > 1 && src[0] == 0 && src[1]&1 != 0 {
		return dst, corrupt(lzwID, "codes begin with their lowest bit, as very old programs wrote them; write the file again with tiffcp or gdal_translate")
	}
	from := len(dst)
	dst = slices.Grow(dst, int(most))
	d := lzwDecoders.Get().(*lzwDecoder)
	n, err := d.decode(dst[from:from+int(most)], src)
	lzwDecoders.Put(d)
	return dst[:from+n], err
}

// Encode implements [codec.BytesBytes].
func (lzw) Encode(dst, src []byte) ([]byte, error) {
	e := lzwEncoders.Get().(*lzwEncoder)
	dst = e.encode(dst, src)
	lzwEncoders.Put(e)
	return dst, nil
}

// tooLong returns a [codec.ErrTooLong].
func tooLong(id string, most int) error {
	return fmt.Errorf("%s%s: %w: more than %d", prefix, id, codec.ErrTooLong, most)
}

// lzwEncoders are shared by all arrays. An encoder takes 64 KiB.
var lzwEncoders = sync.Pool{New: func() any { return new(lzwEncoder) }}

// slots is the number of places for strings, four for each code, so that most strings
// are found at once.
const slots = 4 * codes

// lzwEncoder has the codes of strings in a hash table. A string is a code and the byte
// that follows: 20 bits, which stand above the 12 bits of its own code. An empty slot is
// 0.
type lzwEncoder struct {
	strings [slots]uint32
	out     []byte
	word    uint64 // bits that were not written yet, the last one lowest
	held    int    // their number, fewer than 8 between codes
	code    int    // the code of the next string
	width   int    // of the next code in bits
}

// encode appends the encoded form of src to dst.
func (e *lzwEncoder) encode(dst, src []byte) []byte {
	e.out, e.word, e.held = dst, 0, 0
	e.width = minWidth
	e.forget()
	if len(src) > 0 {
		code := uint32(src[0])
		for _, b := range src[1:] {
			code = e.add(code, b)
		}
		e.put(int(code))
		e.grow()
	}
	e.put(endCode)
	if e.held > 0 {
		e.out = append(e.out, byte(e.word<<(8-e.held)))
	}
	out := e.out
	// The pool must not keep the buffer of the caller.
	e.out = nil
	return out
}

// add returns the code of the string that code stands for and one more byte. If it has
// none yet, it writes code, gives the string the next one, and returns the byte.
func (e *lzwEncoder) add(code uint32, b byte) uint32 {
	key := code<<8 | uint32(b)
	at := key * 0x9e3779b1 >> (32 - 14) // by the golden ratio; there are 1<<14 slots
	for ; e.strings[at] != 0; at = (at + 1) % slots {
		if e.strings[at]>>maxWidth == key {
			return e.strings[at] & (codes - 1)
		}
	}
	e.strings[at] = key<<maxWidth | uint32(e.code)
	e.put(int(code))
	e.grow()
	return uint32(b)
}

// grow counts a string. It forgets all before the last two codes are used, as libtiff
// does; some decoders have no room for them.
func (e *lzwEncoder) grow() {
	e.code++
	switch {
	case e.code == codes-2:
		e.forget()
	case e.code == 1<<e.width:
		e.width++
	}
}

// forget writes a clear code and begins anew.
func (e *lzwEncoder) forget() {
	e.put(clearCode)
	clear(e.strings[:])
	e.code, e.width = firstCode, minWidth
}

// put writes a code.
func (e *lzwEncoder) put(code int) {
	e.word = e.word<<e.width | uint64(code)
	e.held += e.width
	for ; e.held >= 8; e.held -= 8 {
		e.out = append(e.out, byte(e.word>>(e.held-8)))
	}
}

// lzwDecoders are shared by all arrays. A decoder takes 32 KiB.
var lzwDecoders = sync.Pool{New: func() any { return new(lzwDecoder) }}

// lzwDecoder has the strings that codes stand for. Each is a range of the output: the
// string of the code before it in the source, and the byte that follows there.
type lzwDecoder struct {
	strings [codes]span
}

// span is a range of the output: its start, and its length in the lowest 16 bits. A
// string has fewer bytes than there are codes.
type span uint64

func spanOf(start, n int) span { return span(start)<<16 | span(n) }

func (s span) start() int { return int(s >> 16) }
func (s span) len() int   { return int(s & 0xffff) }

// decode fills out from the start, and returns how many bytes it has decoded.
func (d *lzwDecoder) decode(out, src []byte) (int, error) {
	in := bits{src: src}
	next, width := firstCode, minWidth
	last := span(0) // the string of the last code, empty after a clear code
	n := 0
	for {
		if in.held < maxWidth {
			in.fill()
			if in.held < width {
				return n, d.ended(n, len(out), &in)
			}
		}
		code := in.take(width)
		if code == clearCode {
			next, width, last = firstCode, minWidth, 0
			continue
		}
		if code == endCode {
			return n, nil
		}
		if n == len(out) {
			return n, tooLong(lzwID, len(out))
		}
		// The last string and the next byte get a code, which may be this one.
		if last != 0 && next < codes {
			d.strings[next] = last + 1
			next++
			// The code after the next one may need another bit (section 13).
			if next == 1<<width-1 && width < maxWidth {
				width++
			}
		}
		if code < clearCode {
			out[n] = byte(code)
			last = spanOf(n, 1)
			n++
			continue
		}
		if code >= next {
			return n, corrupt(lzwID, "code %d at bit %d, where codes are less than %d", code, in.at(), next)
		}
		from := d.strings[code]
		if from.len() > len(out)-n {
			return n, tooLong(lzwID, len(out))
		}
		repeat(out, n, from.start(), from.len())
		last = spanOf(n, from.len())
		n += from.len()
	}
}

// ended returns the error of a source that ends without an end code.
func (d *lzwDecoder) ended(n, most int, in *bits) error {
	if n == most && len(in.src) > 0 {
		return nil
	}
	return corrupt(lzwID, "%s no end code, and decode to %d of %d", quantity.Count(len(in.src), "bytes have"), n, most)
}

// repeat copies n bytes of b from one place to a later one, which may be the last of
// these bytes: it then is equal to the first one.
func repeat(b []byte, to, from, n int) {
	const word = 8
	// Most strings are short. What is written beyond the string is overwritten later.
	if n > 2*word || len(b)-to < 2*word {
		copy(b[to:to+n], b[from:from+n])
	} else {
		*(*[word]byte)(b[to:]) = *(*[word]byte)(b[from:])
		if n > word {
			*(*[word]byte)(b[to+word:]) = *(*[word]byte)(b[from+word:])
		}
	}
	if from+n > to {
		b[to+n-1] = b[to]
	}
}

// bits reads a source bit by bit, from the highest bit of each byte on.
type bits struct {
	src  []byte
	pos  int    // bytes that were read
	word uint64 // bits that were read and not taken, the next one highest
	held int    // their number
}

// fill reads bytes while there is room for them and the source has some.
func (b *bits) fill() {
	if len(b.src)-b.pos >= 8 {
		n := (64 - b.held) / 8
		b.word |= binary.BigEndian.Uint64(b.src[b.pos:]) >> (64 - 8*n) << (64 - 8*n - b.held)
		b.pos += n
		b.held += 8 * n
		return
	}
	for ; b.pos < len(b.src) && b.held <= 56; b.pos++ {
		b.word |= uint64(b.src[b.pos]) << (56 - b.held)
		b.held += 8
	}
}

// take returns the next n bits, which must be held.
func (b *bits) take(n int) int {
	code := int(b.word >> (64 - n))
	b.word <<= n
	b.held -= n
	return code
}

// at returns the number of bits that were taken.
func (b *bits) at() int { return 8*b.pos - b.held }
