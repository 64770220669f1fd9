// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"encoding/binary"
	"sync"
)

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
	return corrupt(lzwID, "%d bytes have no end code, and decode to %d of %d", len(in.src), n, most)
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
