// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"
	"slices"
)

// field is an entry of an IFD of tests. Its values are integers, or a text, or so many
// at an offset.
type field struct {
	tag    tag
	typ    fieldType
	values []uint64
	text   string
	shared [2]uint32
}

func short(t tag, v ...uint64) field { return field{tag: t, typ: typeShort, values: v} }
func long(t tag, v ...uint64) field  { return field{tag: t, typ: typeLong, values: v} }

// written is a little-endian TIFF file that a test writes.
type written struct{ b []byte }

func begin() *written { return &written{[]byte("II*\x00\x00\x00\x00\x00")} }

// add adds an IFD, to which the four bytes at link then point. It returns where the IFD
// has its own link.
func (w *written) add(link int, fields ...field) (next int) {
	slices.SortStableFunc(fields, func(a, b field) int { return int(a.tag) - int(b.tag) })
	at := len(w.b)
	binary.LittleEndian.PutUint32(w.b[link:], uint32(at))
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(len(fields)))
	next = len(w.b) + 12*len(fields)
	w.b = append(w.b, make([]byte, 12*len(fields)+4)...)
	for i, f := range fields {
		var v []byte
		for _, x := range f.values {
			v = append(v, binary.LittleEndian.AppendUint64(nil, x)[:f.typ.size()]...)
		}
		v = append(v, f.text...)
		e := w.b[at+2+12*i:]
		binary.LittleEndian.PutUint16(e, uint16(f.tag))
		binary.LittleEndian.PutUint16(e[2:], uint16(f.typ))
		binary.LittleEndian.PutUint32(e[4:], uint32(int64(len(v))/f.typ.size()))
		if f.shared != [2]uint32{} {
			binary.LittleEndian.PutUint32(e[4:], f.shared[0])
			binary.LittleEndian.PutUint32(e[8:], f.shared[1])
			continue
		}
		if len(v) <= 4 {
			copy(e[8:12], v)
			continue
		}
		binary.LittleEndian.PutUint32(e[8:], uint32(len(w.b)))
		w.b = append(w.b, v...)
	}
	return next
}

// gray returns the fields of an image of 4 x 4 bytes in one strip, with others in place
// of them.
func gray(others ...field) []field {
	list := []field{
		long(imageWidth, 4), long(imageLength, 4), short(bitsPerSample, 8), short(compression, 1),
		long(stripOffsets, 8), long(stripByteCounts, 16), long(rowsPerStrip, 4),
	}
	for _, o := range others {
		list = slices.DeleteFunc(list, func(f field) bool { return f.tag == o.tag })
		list = append(list, o)
	}
	return list
}

// single returns a file with one image.
func single(fields ...field) []byte {
	w := begin()
	w.b = append(w.b, "0123456789abcdef"...)
	w.add(4, fields...)
	return w.b
}

// hostile returns damaged files.
func hostile() map[string][]byte {
	loop := begin()
	next := loop.add(4, gray()...)
	binary.LittleEndian.PutUint32(loop.b[next:], 8)
	return map[string][]byte{
		"a cycle":             loop.b,
		"no IFD":              []byte("II*\x00\x00\x00\x00\x00"),
		"an IFD beyond":       []byte("II*\x00\xff\xff\xff\xff"),
		"no entries":          []byte("II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		"a strip beyond":      single(gray(long(stripByteCounts, 1000))...),
		"too few strips":      single(gray(long(rowsPerStrip, 1))...),
		"no rows":             single(gray(long(rowsPerStrip, 0))...),
		"no width":            single(gray(long(imageWidth, 0))...),
		"a huge image":        single(gray(long(imageWidth, 1<<32-1), long(imageLength, 1<<32-1), long(samplesPerPixel, 1<<32-1))...),
		"plane 3":             single(gray(short(planarConfig, 3))...),
		"a double as a width": single(gray(field{tag: imageWidth, typ: typeDouble, values: []uint64{0}})...),
		"values beyond":       single(gray(field{tag: imageWidth, typ: typeLong8, values: []uint64{4}})...)[:80],
	}
}
