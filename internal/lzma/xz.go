package lzma

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
)

const (
	magic       = "\xfd7zXZ\x00"
	tail        = "YZ"
	flagSize    = 2
	crcSize     = 4
	streamHead  = len(magic) + flagSize + crcSize
	streamTail  = crcSize + 4 + flagSize + len(tail)
	filterDelta = 0x03
	filterLZMA2 = 0x21
)

// AppendXZ appends what src, one .xz file or several, decodes to, at most most bytes, to dst, which has room for them.
// The files have to be all of src, without anything between them. Errors wrap [ErrCorrupt], [ErrChecksum] or [ErrUnsupported].
func AppendXZ(dst, src []byte, most int) ([]byte, error) {
	x := xz{src: src, out: dst, limit: len(dst) + most}
	for {
		if err := x.stream(); err != nil {
			return dst, err
		}
		if x.pos == len(src) {
			return x.out, nil
		}
	}
}

// xz is the state of decoding .xz files.
type xz struct {
	src   []byte
	pos   int
	out   []byte
	limit int // of the length of out
}

// records is what an index has to say.
type records struct {
	count uint64
	sum   uint64 // of all sizes in order
}

// add notes a block with the bytes that it takes, padding aside, and those that it decodes to.
func (r *records) add(stored, decoded uint64) {
	const odd = 0x9e3779b97f4a7c15 // 2^64 times the golden ratio
	r.count++
	r.sum = (bits.RotateLeft64(r.sum*odd, 32)^stored)*odd ^ decoded
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// take returns the next n bytes.
func (x *xz) take(n int) ([]byte, error) {
	if n > len(x.src)-x.pos {
		return nil, wrong("the file is cut off")
	}
	x.pos += n
	return x.src[x.pos-n : x.pos], nil
}

// checked returns the next n bytes, which their CRC-32 has to follow.
func (x *xz) checked(n int) ([]byte, error) {
	b, err := x.take(n + crcSize)
	if err != nil {
		return nil, err
	}
	return b[:n], matches(b[:n], b[n:])
}

func matches(data, sum []byte) error {
	if crc32.ChecksumIEEE(data) != binary.LittleEndian.Uint32(sum) {
		return fmt.Errorf("%w: of a header", ErrChecksum)
	}
	return nil
}

// stream decodes one file.
func (x *xz) stream() error {
	b, err := x.take(len(magic))
	if err != nil || string(b) != magic {
		return errors.Join(err, wrong("it does not begin as an .xz file"))
	}
	flags, err := x.checked(flagSize)
	if err != nil {
		return err
	}
	check := Check(flags[1])
	if _, err := check.size(); err != nil || flags[0] != 0 {
		return errors.Join(err, wrong("flags %x", flags))
	}
	var blocks records
	for x.pos < len(x.src) && x.src[x.pos] != 0 {
		if err := x.block(check, &blocks); err != nil {
			return err
		}
	}
	size, err := x.index(blocks)
	if err != nil {
		return err
	}
	return x.footer(flags, size)
}

// footer checks the end of a file.
func (x *xz) footer(flags []byte, index int) error {
	b, err := x.take(streamTail)
	if err != nil {
		return err
	}
	fields := b[crcSize : streamTail-len(tail)]
	if err := matches(fields, b); err != nil {
		return err
	}
	if string(b[streamTail-len(tail):]) != tail || !bytes.Equal(fields[4:], flags) ||
		(int64(binary.LittleEndian.Uint32(fields))+1)*4 != int64(index) {
		return wrong("the end does not suit the beginning")
	}
	return nil
}

// index checks the list of blocks and returns the bytes that it takes.
func (x *xz) index(blocks records) (int, error) {
	from := x.pos
	if _, err := x.take(1); err != nil {
		return 0, err
	}
	count, err := x.number()
	if err != nil || count != blocks.count {
		return 0, errors.Join(err, wrong("the index has %d blocks, the file %d", count, blocks.count))
	}
	var listed records
	for range count {
		stored, err := x.number()
		if err != nil {
			return 0, err
		}
		decoded, err := x.number()
		if err != nil {
			return 0, err
		}
		listed.add(stored, decoded)
	}
	if listed != blocks {
		return 0, wrong("the index does not suit the blocks")
	}
	if err := x.padding(from); err != nil {
		return 0, err
	}
	n := x.pos - from
	x.pos = from
	_, err = x.checked(n)
	return x.pos - from, err
}

// padding passes zeros up to a multiple of four bytes from some place on.
func (x *xz) padding(from int) error {
	b, err := x.take(-(x.pos - from) & 3)
	if err != nil {
		return err
	}
	if len(bytes.Trim(b, "\x00")) > 0 {
		return wrong("padding is not zero")
	}
	return nil
}

// number reads a number of 63 bits, seven a byte, the lowest first.
func (x *xz) number() (uint64, error) {
	v := uint64(0)
	for i := range 9 {
		b, err := x.take(1)
		if err != nil {
			return 0, err
		}
		v |= uint64(b[0]&0x7f) << (7 * i)
		if b[0] < 0x80 {
			if b[0] == 0 && i > 0 {
				break
			}
			return v, nil
		}
	}
	return 0, wrong("a number is not spelled as it should be")
}
