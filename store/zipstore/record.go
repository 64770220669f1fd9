// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"encoding/binary"
	"math"
)

// Signatures and lengths of the records of an archive (section 4.3).
const (
	localSignature     = 0x04034b50
	centralSignature   = 0x02014b50
	endSignature       = 0x06054b50
	wideEndSignature   = 0x06064b50
	locatorSignature   = 0x07064b50
	localLength        = 30
	centralLength      = 46
	endLength          = 22
	wideEndLength      = 56
	locatorLength      = 20
	wideField          = 0x0001 // the ZIP64 extra field (section 4.5.3)
	unicodePathField   = 0x7075 // the extra field with a name in UTF-8 (section 4.6.9)
	encryptedFlags     = 1 | 1<<6 | 1<<13
	descriptorFlag     = 1 << 3
	unicodeFlag        = 1 << 11
	stored, deflated   = 0, 8
	full16, full32     = math.MaxUint16, math.MaxUint32 // the number is in a ZIP64 record
	plain, wide        = 20, 45                         // versions of the format
	unixSystem         = 3 << 8
	macSystem          = 19 << 8
	kindMask           = 0o170000 // file type bits of a Unix mode
	regular, directory = 0o100000, 0o040000
)

// fields reads little-endian numbers one after the other. If the record is too short,
// they read as zeros, and ok becomes false.
type fields struct {
	b  []byte
	ok bool
}

func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.b, f.ok = nil, false
		return make([]byte, min(max(n, 0), 8))
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) u16() int    { return int(binary.LittleEndian.Uint16(f.take(2))) }
func (f *fields) u32() uint32 { return binary.LittleEndian.Uint32(f.take(4)) }

// u64 reads a number that must fit an int64.
func (f *fields) u64() int64 {
	n := binary.LittleEndian.Uint64(f.take(8))
	if n > math.MaxInt64 {
		f.ok = false
		return 0
	}
	return int64(n)
}

// text reads n bytes of text.
func (f *fields) text(n int) string {
	if n > len(f.b) {
		f.b, f.ok = nil, false
		return ""
	}
	return string(f.take(n))
}

// appender writes little-endian numbers.
type appender struct{ b []byte }

func (a *appender) u16(values ...int) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint16(a.b, uint16(v))
	}
}

func (a *appender) u32(values ...uint32) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint32(a.b, v)
	}
}

func (a *appender) u64(values ...int64) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint64(a.b, uint64(v))
	}
}

// short returns n as it appears in a record without ZIP64.
func short(n int64) uint32 { return uint32(min(n, full32)) }
