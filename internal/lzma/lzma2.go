package lzma

// Control bytes of chunks.
const (
	chunkEnd     = 0x00
	chunkFresh   = 0x01 // stored, behind a new dictionary
	chunkStored  = 0x02
	chunkPacked  = 0x80 // from here on the chunk is compressed
	chunkReset   = 0xa0 // and begins with even probabilities
	chunkChanged = 0xc0 // and with properties
	chunkFirst   = 0xe0 // and with a new dictionary
)

// Append2 appends what src, a raw LZMA2 stream, decodes to, at most most bytes, to dst, which has room for them.
// The stream has to be all of src. Errors wrap [ErrCorrupt].
func Append2(dst, src []byte, most int) ([]byte, error) {
	out, n, err := append2(dst, src, most)
	if err == nil && n < len(src) {
		err = (&rangeCoder{}).corrupt("something follows the end")
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// append2 is Append2 of the beginning of src. It returns how many bytes it used.
func append2(dst, src []byte, most int) (out []byte, used int, err error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.out, d.start = dst, len(dst)
	c := chunks{d: d, left: src, limit: len(dst) + most}
	for {
		done, err := c.next()
		if err != nil {
			return dst, 0, err
		}
		if done {
			return d.out, len(src) - len(c.left), nil
		}
	}
}

// chunks is the state between chunks.
type chunks struct {
	d       *decoder
	left    []byte
	limit   int  // of the length of what is decoded
	started bool // there is a dictionary
	known   bool // there are properties
}

// take returns the next n bytes.
func (c *chunks) take(n int) ([]byte, error) {
	if n > len(c.left) {
		return nil, (&rangeCoder{}).corrupt("the stream is cut off")
	}
	b := c.left[:n]
	c.left = c.left[n:]
	return b, nil
}

// next decodes a chunk. It returns true for the end.
func (c *chunks) next() (bool, error) {
	b, err := c.take(1)
	if err != nil || b[0] == chunkEnd {
		return true, err
	}
	control := b[0]
	if control == chunkFresh || control >= chunkFirst {
		c.started, c.known, c.d.start = true, false, len(c.d.out)
	}
	if !c.started || control > chunkStored && control < chunkPacked {
		return false, (&rangeCoder{}).corrupt("a chunk does not begin as it should")
	}
	if control < chunkPacked {
		return false, c.stored()
	}
	return false, c.packed(control)
}

// stored decodes a chunk that is not compressed.
func (c *chunks) stored() error {
	b, err := c.take(2)
	if err != nil {
		return err
	}
	n := (int(b[0])<<8 | int(b[1])) + 1
	if b, err = c.take(n); err != nil {
		return err
	}
	if n > c.limit-len(c.d.out) {
		return c.d.corrupt("it decodes to more bytes than there should be")
	}
	c.d.out = append(c.d.out, b...)
	return nil
}

// packed decodes a chunk that is compressed.
func (c *chunks) packed(control byte) error {
	b, err := c.take(4)
	if err != nil {
		return err
	}
	n := (int(control&0x1f)<<16 | int(b[0])<<8 | int(b[1])) + 1
	size := (int(b[2])<<8 | int(b[3])) + 1
	if control >= chunkChanged {
		if b, err = c.take(1); err != nil {
			return err
		}
		if c.d.properties, err = properties(b[0]); err != nil {
			return err
		}
		c.known = true
	}
	if !c.known {
		return c.d.corrupt("a chunk has no properties")
	}
	if control >= chunkReset {
		c.d.reset()
	}
	if b, err = c.take(size); err != nil {
		return err
	}
	if n > c.limit-len(c.d.out) {
		return c.d.corrupt("it decodes to more bytes than there should be")
	}
	return c.d.chunk(b, n)
}

// chunk decodes n bytes from src.
func (d *decoder) chunk(src []byte, n int) error {
	d.src, d.pos, d.limit = src, 0, len(d.out)+n
	if err := d.begin(); err != nil {
		return err
	}
	if err := d.run(); err != nil {
		return err
	}
	if d.ended || !d.finished() || d.pos != len(src) {
		return d.corrupt("a chunk does not end where it should")
	}
	return nil
}
