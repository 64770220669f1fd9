package bzip2

import "encoding/binary"

// bitReader reads bits, the highest of a byte first. Behind the end it reads zeros.
type bitReader struct {
	src []byte
	pos int    // bytes that are in acc, or were; more than src has, behind the end
	acc uint64 // bits to come, from the highest on
	n   uint   // how many of them count
}

// fill makes at least 56 bits count.
func (b *bitReader) fill() {
	if b.pos+8 <= len(b.src) {
		b.acc |= binary.BigEndian.Uint64(b.src[b.pos:]) >> b.n
		k := (63 - b.n) >> 3
		b.pos += int(k)
		b.n += k << 3
		return
	}
	for b.n <= 56 {
		if b.pos < len(b.src) {
			b.acc |= uint64(b.src[b.pos]) << (56 - b.n)
		}
		b.pos++
		b.n += 8
	}
}

// take returns the next bits, at most 32.
func (b *bitReader) take(n uint) uint64 {
	if b.n < n {
		b.fill()
	}
	v := b.acc >> (64 - n)
	b.skip(n)
	return v
}

// skip passes bits that count.
func (b *bitReader) skip(n uint) {
	b.acc <<= n
	b.n -= n
}

// over reports whether bits were used that src does not have.
func (b *bitReader) over() bool { return b.left() < 0 }

// left returns how many bytes of src have not been used.
func (b *bitReader) left() int {
	return (len(b.src)*8 - (b.pos*8 - int(b.n))) >> 3
}

// align passes what is left of a byte.
func (b *bitReader) align() { b.skip(b.n % 8) }
