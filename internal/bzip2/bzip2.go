// Package bzip2 decompresses bzip2 files in memory, straight to where the bytes belong.
//
// The package of the standard library takes up to 3.6 MB for every file, however short; chunks are short and many. This one keeps
// its tables between files, and they grow with the bytes that are wanted and not with what a file claims.
package bzip2

import (
	"errors"
	"fmt"
	"sync"
)

var (
	// ErrCorrupt says that bytes are no bzip2 file, or not all of it, or one that decodes to too many bytes.
	ErrCorrupt = errors.New("bzip2: corrupt data")
	// ErrChecksum says that the bytes of a block are not those that were compressed.
	ErrChecksum = errors.New("bzip2: checksum does not match")
)

const (
	blockMagic = 0x314159265359
	endMagic   = 0x177245385090
	unit       = 100_000 // bytes of a block, times the level
)

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Append appends what src decodes to, at most most bytes, to dst, which has room for them. One file or several have to be all of src.
// Errors wrap [ErrCorrupt] or [ErrChecksum].
func Append(dst, src []byte, most int) ([]byte, error) {
	d := decoders.Get().(*decoder)
	defer d.release()
	d.bits = bitReader{src: src}
	d.out, d.limit = dst, len(dst)+most
	for {
		if err := d.file(); err != nil {
			return dst, err
		}
		d.bits.align()
		if d.bits.over() {
			return dst, fmt.Errorf("%w: the file is cut off", ErrCorrupt)
		}
		if d.bits.left() == 0 {
			return d.out, nil
		}
	}
}

// decoder is the state of decoding a file.
type decoder struct {
	bits  bitReader
	out   []byte
	limit int // of the length of out
	block int // most bytes of a block

	table     []uint32 // one entry a byte of the block: the byte, and the place of the one that follows
	counts    [256]uint32
	front     [256]byte // symbols in use, the one that was used last first
	selectors []byte
	codes     [6]code
}

func (d *decoder) release() {
	d.bits, d.out = bitReader{}, nil
	decoders.Put(d)
}

// corrupt returns an error, which is that the file is cut off where it is.
func (d *decoder) corrupt(what string) error {
	if d.bits.over() {
		what = "the file is cut off"
	}
	return fmt.Errorf("%w: %s", ErrCorrupt, what)
}

// file decodes one file.
func (d *decoder) file() error {
	if d.bits.take(24) != 'B'<<16|'Z'<<8|'h' {
		return d.corrupt("it does not begin as a bzip2 file")
	}
	level := d.bits.take(8) - '0'
	if level < 1 || level > 9 {
		return d.corrupt("the level is not within 1 to 9")
	}
	d.block = int(level) * unit
	sum := uint32(0)
	for {
		switch d.bits.take(24)<<24 | d.bits.take(24) {
		case blockMagic:
			one, err := d.decodeBlock()
			if err != nil {
				return err
			}
			sum = sum<<1 | sum>>31
			sum ^= one
		case endMagic:
			if stored := uint32(d.bits.take(32)); d.bits.over() {
				return d.corrupt("")
			} else if stored != sum {
				return fmt.Errorf("%w: of the file it is %#08x, stored is %#08x", ErrChecksum, sum, stored)
			}
			return nil
		default:
			return d.corrupt("there is neither a block nor the end")
		}
	}
}

// decodeBlock decodes one block and returns its checksum.
func (d *decoder) decodeBlock() (uint32, error) {
	stored := uint32(d.bits.take(32))
	if d.bits.take(1) != 0 {
		return 0, d.corrupt("a block is randomized, which no current program writes")
	}
	first := int(d.bits.take(24))
	n, err := d.symbols()
	if err != nil {
		return 0, err
	}
	if first >= n {
		return 0, d.corrupt("a block does not have its first byte")
	}
	before := len(d.out)
	if err := d.untangle(first, n); err != nil {
		return 0, err
	}
	if sum := checksum(d.out[before:]); sum != stored {
		return 0, fmt.Errorf("%w: of a block it is %#08x, stored is %#08x", ErrChecksum, sum, stored)
	}
	return stored, nil
}

// room returns the most bytes that a block may have: five of them, four the same and a count of none, may stand for four.
func (d *decoder) room() int {
	left := d.limit - len(d.out)
	if left > d.block {
		return d.block
	}
	return min(d.block, left+left/4+5)
}
