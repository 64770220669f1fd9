// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math/bits"
)

// field is a field of a message: the sections that it consists of. Sections 2 to 7 may
// repeat, and a field has those before its section 7 (regulation 92.1.3).
type field struct {
	grid    []byte // section 3
	packing []byte // section 5
	masked  bool   // there is a bitmap
	bitmap  []byte // of section 6
	data    []byte // of section 7, without its header
}

const (
	headBytes    = 16 // of section 0
	endBytes     = 4  // of section 8
	sectionBytes = 5  // length and number of a section
)

// find returns a field of a message.
func find(src []byte, want int) (f field, err error) {
	if len(src) < headBytes+endBytes || string(src[:4]) != "GRIB" {
		return f, corrupt("no GRIB message: it has %d bytes", len(src))
	}
	if src[7] != 2 {
		return f, unsupported("edition %d of GRIB", src[7])
	}
	if n := binary.BigEndian.Uint64(src[8:]); n != uint64(len(src)) {
		return f, corrupt("the message says that it has %d bytes, and has %d", n, len(src))
	}
	if end := src[len(src)-endBytes:]; string(end) != "7777" {
		return f, corrupt("the message ends with %q", end)
	}
	seen := 0
	for rest := src[headBytes : len(src)-endBytes]; len(rest) > 0; {
		s, err := section(rest)
		if err != nil {
			return f, err
		}
		rest = rest[len(s):]
		if err := f.take(s); err != nil {
			return f, err
		}
		if s[4] != 7 {
			continue
		}
		if seen == want {
			return f, f.check()
		}
		seen++
	}
	return f, corrupt("the message has %d fields, the one wanted is %d", seen, want)
}

// section returns the first section of some bytes.
func section(b []byte) ([]byte, error) {
	if len(b) < sectionBytes {
		return nil, corrupt("%d bytes where a section begins", len(b))
	}
	n := binary.BigEndian.Uint32(b)
	if n < sectionBytes || int64(n) > int64(len(b)) {
		return nil, corrupt("section %d says that it has %d bytes, of %d", b[4], n, len(b))
	}
	return b[:n], nil
}

// take sets what a section tells about this field and those after it.
func (f *field) take(s []byte) error {
	switch s[4] {
	case 1, 2, 4:
	case 3:
		f.grid = s
	case 5:
		f.packing = s
	case 6:
		return f.takeBitmap(s)
	case 7:
		f.data = s[sectionBytes:]
	default:
		return corrupt("a section %d", s[4])
	}
	return nil
}

// takeBitmap reads section 6 (code table 6.0).
func (f *field) takeBitmap(s []byte) error {
	const follows, sameAgain, none = 0, 254, 255
	if len(s) < 6 {
		return corrupt("section 6 has %d bytes", len(s))
	}
	switch s[5] {
	case follows:
		f.bitmap, f.masked = s[6:], true
	case sameAgain:
		if f.masked = true; f.bitmap == nil {
			return corrupt("section 6 means an earlier bitmap, and there is none")
		}
	case none:
		f.masked = false
	default:
		return unsupported("the predefined bitmap %d", s[5])
	}
	return nil
}

func (f *field) check() error {
	if f.grid == nil || f.packing == nil {
		return corrupt("the message lacks section 3 or 5")
	}
	return nil
}

// count returns how many of the points have values according to the bitmap.
func (f *field) count(points int64) (n int64, err error) {
	if int64(len(f.bitmap)) < (points+7)/8 {
		return 0, corrupt("a bitmap of %d bytes for %d points", len(f.bitmap), points)
	}
	for _, b := range f.bitmap[:points/8] {
		n += int64(bits.OnesCount8(b))
	}
	if rest := points % 8; rest > 0 {
		n += int64(bits.OnesCount8(f.bitmap[points/8] >> (8 - rest)))
	}
	return n, nil
}
