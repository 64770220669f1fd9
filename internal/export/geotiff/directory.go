// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
)

// The tags of an image (section 8; section 15 for tiles; GeoTIFF 7.1.2; GDAL).
const (
	tagSubfileType   = 254
	tagWidth         = 256
	tagLength        = 257
	tagBitsPerSample = 258
	tagCompression   = 259
	tagPhotometric   = 262
	tagSamples       = 277
	tagPlanar        = 284
	tagPredictor     = 317
	tagTileWidth     = 322
	tagTileLength    = 323
	tagTileOffsets   = 324
	tagTileCounts    = 325
	tagExtraSamples  = 338
	tagSampleFormat  = 339
	tagPixelScale    = 33550
	tagTiepoint      = 33922
	tagMatrix        = 34264
	tagGeoKeys       = 34735
	tagGeoDoubles    = 34736
	tagGeoText       = 34737
	tagMetadata      = 42112
	tagNoData        = 42113
)

// The types of values (section 2).
const (
	typeText   = 2
	typeShort  = 3
	typeLong   = 4
	typeDouble = 12
	typeLong8  = 16
)

// entry is a field of an IFD. Its values are little endian.
type entry struct {
	tag, typ uint16
	count    int
	data     []byte
}

func shorts(tag uint16, values ...uint16) entry {
	e := entry{tag: tag, typ: typeShort, count: len(values)}
	for _, v := range values {
		e.data = binary.LittleEndian.AppendUint16(e.data, v)
	}
	return e
}

func longs(tag uint16, values ...uint32) entry {
	e := entry{tag: tag, typ: typeLong, count: len(values)}
	for _, v := range values {
		e.data = binary.LittleEndian.AppendUint32(e.data, v)
	}
	return e
}

func doubles(tag uint16, values ...float64) entry {
	e := entry{tag: tag, typ: typeDouble, count: len(values)}
	for _, v := range values {
		e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
	}
	return e
}

func text(tag uint16, text string) entry {
	return entry{tag: tag, typ: typeText, count: len(text) + 1, data: append([]byte(text), 0)}
}

// level is an image of a file: the array, or an overview of it.
type level struct {
	height, width int64
	rows, columns int64    // of tiles
	offsets       []uint64 // of tiles, plane by plane
	counts        []uint32 // the bytes of tiles
}

func (p *plan) newLevel(height, width int64) *level {
	l := &level{height: height, width: width, rows: checked.CeilDiv(height, p.tile), columns: checked.CeilDiv(width, p.tile)}
	n := l.rows * l.columns * p.planes()
	l.offsets, l.counts = make([]uint64, n), make([]uint32, n)
	return l
}

// structure is the note of GDAL about the order of a file: every tile has its length
// before it, and its last four bytes behind it once more.
const structure = "LAYOUT=IFDS_BEFORE_DATA\nBLOCK_ORDER=ROW_MAJOR\nBLOCK_LEADER=SIZE_AS_UINT4\nBLOCK_TRAILER=LAST_4_BYTES_REPEATED\n"

// note returns the note, or "" for a file whose tiles are not in order.
func (p *plan) note() string {
	if !p.ordered {
		return ""
	}
	list := structure
	if p.planes() > 1 {
		list += "INTERLEAVE=BAND\n"
	}
	// Programs that break the order write YES, which is one letter longer.
	list += "KNOWN_INCOMPATIBLE_EDITION=NO\n "
	return fmt.Sprintf("GDAL_STRUCTURAL_METADATA_SIZE=%06d bytes\n%s", len(list), list)
}

// head returns the bytes of a file before its tiles. Their number does not depend on the
// places of tiles.
func (p *plan) head(levels []*level) []byte {
	b, size := []byte("II*\x00"), 4
	if p.big {
		// The size of offsets, and a zero.
		b, size = []byte("II+\x00\x08\x00\x00\x00"), 8
	}
	link := len(b)
	b = append(b, make([]byte, size)...)
	b = append(b, p.note()...)
	for i, l := range levels {
		b = append(b, make([]byte, len(b)&1)...) // an IFD begins at an even offset
		p.putWord(b[link:], uint64(len(b)))
		b, link = p.appendDirectory(b, p.entries(l, i > 0))
	}
	return append(b, make([]byte, len(b)&1)...)
}

// putWord stores an offset or a count.
func (p *plan) putWord(b []byte, v uint64) {
	if p.big {
		binary.LittleEndian.PutUint64(b, v)
	} else {
		binary.LittleEndian.PutUint32(b, uint32(v))
	}
}

// appendDirectory appends an IFD and the values that its entries have no room for. It
// returns where the offset of the next IFD is.
func (p *plan) appendDirectory(b []byte, list []entry) (_ []byte, link int) {
	word, counter := 4, 2
	if p.big {
		word, counter = 8, 8
	}
	from, size := len(b)+counter, 4+2*word
	link = from + len(list)*size
	b = append(b, make([]byte, counter+len(list)*size+word)...)
	binary.LittleEndian.PutUint16(b[from-counter:], uint16(len(list)))
	for i, e := range list {
		at := from + i*size
		binary.LittleEndian.PutUint16(b[at:], e.tag)
		binary.LittleEndian.PutUint16(b[at+2:], e.typ)
		p.putWord(b[at+4:], uint64(e.count))
		if len(e.data) <= word {
			copy(b[at+4+word:], e.data)
			continue
		}
		p.putWord(b[at+4+word:], uint64(len(b)))
		b = append(b, e.data...)
		b = append(b, make([]byte, len(b)&1)...)
	}
	return b, link
}

// The values of Compression and SampleFormat.
const (
	compressionNone    = 1
	compressionDeflate = 8
	compressionZstd    = 50000

	formatUnsigned = 1
	formatSigned   = 2
	formatFloat    = 3
	formatComplex  = 6
)

// formatOf returns the SampleFormat of a type.
func formatOf(t dtype.Type) uint16 {
	switch t.Kind() {
	case dtype.KindInt:
		return formatSigned
	case dtype.KindFloat:
		return formatFloat
	case dtype.KindComplex:
		return formatComplex
	}
	return formatUnsigned
}

// entries returns the fields of an image, in the order of their tags.
func (p *plan) entries(l *level, overview bool) (list []entry) {
	bits, format := make([]uint16, p.bands), make([]uint16, p.bands)
	for i := range bits {
		bits[i], format[i] = uint16(8*p.sample.Size()), formatOf(p.sample)
	}
	planar := uint16(1)
	if !p.pixels {
		planar = 2
	}
	if overview {
		list = append(list, longs(tagSubfileType, 1)) // a smaller version of another image
	}
	photometric, extra := p.colours()
	list = append(
		list,
		longs(tagWidth, uint32(l.width)), longs(tagLength, uint32(l.height)), shorts(tagBitsPerSample, bits...),
		shorts(tagCompression, p.compression()), shorts(tagPhotometric, photometric), shorts(tagSamples, uint16(p.bands)),
		shorts(tagPlanar, planar),
	)
	if n := p.predictor(); n > 1 {
		list = append(list, shorts(tagPredictor, n))
	}
	list = append(list, longs(tagTileWidth, uint32(p.tile)), longs(tagTileLength, uint32(p.tile)), p.places(l), longs(tagTileCounts, l.counts...))
	if len(extra) > 0 {
		list = append(list, shorts(tagExtraSamples, extra...))
	}
	list = append(list, shorts(tagSampleFormat, format...))
	if !overview {
		list = append(list, p.georeference()...)
		if len(p.items) > 0 {
			list = append(list, text(tagMetadata, string(p.items)))
		}
	}
	if p.noData != nil {
		list = append(list, text(tagNoData, string(p.sample.AppendText(nil, p.noData))))
	}
	return list
}

// places returns where tiles are.
func (p *plan) places(l *level) entry {
	e := entry{tag: tagTileOffsets, typ: typeLong8, count: len(l.offsets)}
	for _, at := range l.offsets {
		if p.big {
			e.data = binary.LittleEndian.AppendUint64(e.data, at)
		} else {
			e.typ, e.data = typeLong, binary.LittleEndian.AppendUint32(e.data, uint32(at))
		}
	}
	return e
}

// colours returns the photometric interpretation and what samples beyond it are: three
// bytes are red, green and blue, and a fourth one is their opacity, as GDAL has it.
func (p *plan) colours() (photometric uint16, extra []uint16) {
	const (
		gray, rgb     = 1, 2
		opacity       = 2
		colours       = 3
		withOpacity   = 4
		unknownSample = 0
	)
	if p.sample == dtype.Uint8 && p.bands >= colours && p.bands <= withOpacity {
		if p.bands == withOpacity {
			extra = []uint16{opacity}
		}
		return rgb, extra
	}
	for range p.bands - 1 {
		extra = append(extra, unknownSample)
	}
	return gray, extra
}

// compression returns the value of Compression.
func (p *plan) compression() uint16 {
	switch {
	case p.Zstd > 0:
		return compressionZstd
	case p.Deflate > 0:
		return compressionDeflate
	}
	return compressionNone
}

// predictor returns the value of Predictor: differences of integers (section 14) or of
// floats (Adobe's Technical Note 3), and 1 for none.
func (p *plan) predictor() uint16 {
	switch k := p.sample.Kind(); {
	case p.compression() == compressionNone:
		return 1
	case k == dtype.KindInt || k == dtype.KindUint:
		return 2
	case k == dtype.KindFloat:
		return 3
	}
	return 1
}
