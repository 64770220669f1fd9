package lzma

const (
	probabilityBits = 11
	even            = 1 << probabilityBits / 2 // the probability of a bit of which nothing is known
	moveBits        = 5
	narrow          = 1 << 24 // of a range: it needs another byte
)

// rangeCoder decodes bits of known probability. Behind the end of src it reads zeros.
type rangeCoder struct {
	src         []byte
	pos         int // of the next byte; more than src has, behind the end
	width, code uint32
}

// begin reads the first bytes of a stream.
func (r *rangeCoder) begin() error {
	if len(r.src)-r.pos < 5 || r.src[r.pos] != 0 {
		return r.corrupt("a stream does not begin as it should")
	}
	r.width, r.code = 0xffffffff, 0
	for _, b := range r.src[r.pos+1 : r.pos+5] {
		r.code = r.code<<8 | uint32(b)
	}
	r.pos += 5
	return nil
}

// over reports whether bytes were used that src does not have.
func (r *rangeCoder) over() bool { return r.pos > len(r.src) }

// finished reports whether the encoder may have ended here.
func (r *rangeCoder) finished() bool {
	r.normalize()
	return r.code == 0 && !r.over()
}

func (r *rangeCoder) normalize() {
	if r.width < narrow {
		r.width <<= 8
		r.code <<= 8
		if r.pos < len(r.src) {
			r.code |= uint32(r.src[r.pos])
		}
		r.pos++
	}
}

// bit decodes a bit and learns from it.
func (r *rangeCoder) bit(p *uint16) uint32 {
	r.normalize()
	v := uint32(*p)
	bound := r.width >> probabilityBits * v
	if r.code < bound {
		r.width = bound
		*p = uint16(v + (1<<probabilityBits-v)>>moveBits)
		return 0
	}
	r.width -= bound
	r.code -= bound
	*p = uint16(v - v>>moveBits)
	return 1
}

// tree decodes a number of so many bits, the highest first, each of which has its probability by those above it.
func (r *rangeCoder) tree(p []uint16, bits int) uint32 {
	width, code, pos, src := r.width, r.code, r.pos, r.src
	m := uint32(1)
	for range bits {
		if width < narrow {
			width, code = width<<8, code<<8
			if pos < len(src) {
				code |= uint32(src[pos])
			}
			pos++
		}
		v := uint32(p[m])
		bound := width >> probabilityBits * v
		if code < bound {
			width = bound
			p[m] = uint16(v + (1<<probabilityBits-v)>>moveBits)
			m <<= 1
		} else {
			width, code = width-bound, code-bound
			p[m] = uint16(v - v>>moveBits)
			m = m<<1 | 1
		}
	}
	r.width, r.code, r.pos = width, code, pos
	return m - 1<<bits
}

// matched decodes a literal where a match might have been: while its bits are those of the byte there, that byte chooses
// the probabilities, too.
func (r *rangeCoder) matched(p []uint16, there byte) byte {
	m, low := uint32(1), uint32(there)
	for m < 0x100 {
		low <<= 1
		guess := low & 0x100
		b := r.bit(&p[0x100+guess+m])
		m = m<<1 | b
		if guess>>8 != b {
			for m < 0x100 {
				m = m<<1 | r.bit(&p[m])
			}
		}
	}
	return byte(m)
}

// reverse decodes a number as tree does, the lowest bit first. Probabilities begin at p[from+1].
func (r *rangeCoder) reverse(p []uint16, from int, bits int) uint32 {
	m, n := 1, uint32(0)
	for i := range bits {
		b := r.bit(&p[from+m])
		m = m<<1 | int(b)
		n |= b << i
	}
	return n
}

// direct decodes bits that are even.
func (r *rangeCoder) direct(bits int) uint32 {
	n := uint32(0)
	for range bits {
		r.normalize()
		r.width >>= 1
		b := uint32(0)
		if r.code >= r.width {
			r.code -= r.width
			b = 1
		}
		n = n<<1 | b
	}
	return n
}
