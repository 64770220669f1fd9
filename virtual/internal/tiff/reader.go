// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// reader reads the structures of a file.
type reader struct {
	file  *scan.File
	order binary.ByteOrder
	big   bool           // BigTIFF
	seen  map[int64]bool // offsets of the IFDs that were read
	left  int64          // bytes that may still be read
}

// bytes reads a part of the file that no other structure shares. Files whose structures
// overlap a lot could otherwise take memory out of proportion to their size.
func (r *reader) bytes(off, n int64) ([]byte, error) {
	b, err := r.file.Bytes(off, n)
	if err != nil {
		return nil, err
	}
	if r.left -= n; r.left < 0 {
		return nil, scan.Corruptf("tiff: %s at %d: the IFDs and their values overlap", quantity.Count(n, "bytes"), off)
	}
	return b, nil
}

// ifd is an image file directory (section 2): the tags of one image.
type ifd struct {
	at      int64
	entries map[tag]entry
}

// entry is an entry of an IFD.
type entry struct {
	typ    fieldType
	count  int64
	inline []byte // the last bytes of the entry: the values, or their offset
}

// ifd reads the IFD at an offset, and the offset of the next one, 0 for none.
func (r *reader) ifd(at int64) (d *ifd, next int64, err error) {
	if r.seen[at] {
		return nil, 0, scan.Corruptf("tiff: the IFD at %d is reached twice", at)
	}
	r.seen[at] = true
	// Bytes of the number of entries, of an entry, and of the offset of the next IFD.
	counter, size, link := int64(2), int64(12), int64(4)
	if r.big {
		counter, size, link = 8, 20, 8
	}
	b, err := r.bytes(at, counter)
	if err != nil {
		return nil, 0, err
	}
	n := r.unsigned(b)
	// There are 65,536 tags. BigTIFF has a number of 8 bytes, which may be damaged.
	if n == 0 || n > math.MaxUint16 {
		return nil, 0, scan.Corruptf("tiff: the IFD at %d has %s", at, quantity.Count(n, "entries"))
	}
	if b, err = r.bytes(at+counter, int64(n)*size+link); err != nil {
		return nil, 0, err
	}
	d = &ifd{at, make(map[tag]entry, n)}
	for ; n > 0; n, b = n-1, b[size:] {
		if err := r.entry(d, b[:size]); err != nil {
			return nil, 0, err
		}
	}
	next, err = offset(r.unsigned(b[:link]))
	return d, next, err
}

// entry adds an entry to an IFD. The first one of a tag counts.
func (r *reader) entry(d *ifd, b []byte) error {
	t := tag(r.order.Uint16(b))
	if _, known := d.entries[t]; known {
		return nil
	}
	// The tag and the type take 2 bytes each. The rest is a count, and the values or
	// their offset, of 4 bytes each or of 8 in BigTIFF.
	word := (len(b) - 4) / 2
	count, err := offset(r.unsigned(b[4 : 4+word]))
	if err != nil {
		return scan.Corruptf("tiff: the IFD at %d: %s has too many values", d.at, t)
	}
	d.entries[t] = entry{fieldType(r.order.Uint16(b[2:])), count, b[4+word:]}
	return nil
}

// unsigned returns the integer that the bytes are.
func (r *reader) unsigned(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.order.Uint16(b))
	case 4:
		return uint64(r.order.Uint32(b))
	}
	return r.order.Uint64(b)
}

// offset returns an offset as a signed number, which no file exceeds.
func offset(x uint64) (int64, error) {
	if x > math.MaxInt64 {
		return 0, scan.Corruptf("tiff: an offset or a count of %d", x)
	}
	return int64(x), nil
}

// tag is the number of a field.
type tag uint16

// The tags that say where and how samples are stored (section 8; part 2 for tiles).
const (
	newSubfileType   tag = 254
	oldSubfileType   tag = 255
	imageWidth       tag = 256
	imageLength      tag = 257
	bitsPerSample    tag = 258
	compression      tag = 259
	photometric      tag = 262
	fillOrder        tag = 266
	imageDescription tag = 270
	stripOffsets     tag = 273
	samplesPerPixel  tag = 277
	rowsPerStrip     tag = 278
	stripByteCounts  tag = 279
	planarConfig     tag = 284
	predictor        tag = 317
	tileWidth        tag = 322
	tileLength       tag = 323
	tileOffsets      tag = 324
	tileByteCounts   tag = 325
	subIFDs          tag = 330
	sampleFormat     tag = 339
	subSampling      tag = 530
	imageDepth       tag = 32997
	gdalNoData       tag = 42113
)

// placing names the tags that the scanner evaluates.
var placing = map[tag]string{
	newSubfileType: "NewSubfileType", oldSubfileType: "SubfileType", imageWidth: "ImageWidth",
	imageLength: "ImageLength", bitsPerSample: "BitsPerSample", compression: "Compression",
	fillOrder: "FillOrder", stripOffsets: "StripOffsets", samplesPerPixel: "SamplesPerPixel",
	rowsPerStrip: "RowsPerStrip", stripByteCounts: "StripByteCounts", planarConfig: "PlanarConfiguration",
	predictor: "Predictor", tileWidth: "TileWidth", tileLength: "TileLength", tileOffsets: "TileOffsets",
	tileByteCounts: "TileByteCounts", subIFDs: "SubIFDs", sampleFormat: "SampleFormat",
	subSampling: "YCbCrSubSampling", imageDepth: "ImageDepth",
}

// described are the tags that become attributes, in this order: those of TIFF, of GeoTIFF
// (OGC 19-008r4, 7.1.2) and of GDAL.
var described = []struct {
	tag  tag
	name string
	list bool // also a single value is a list
}{
	{269, "DocumentName", false},
	{imageDescription, "ImageDescription", false},
	{271, "Make", false},
	{272, "Model", false},
	{274, "Orientation", false},
	{285, "PageName", false},
	{305, "Software", false},
	{306, "DateTime", false},
	{315, "Artist", false},
	{316, "HostComputer", false},
	{33432, "Copyright", false},
	{photometric, "PhotometricInterpretation", false},
	{338, "ExtraSamples", true},
	{320, "ColorMap", true},
	{282, "XResolution", false},
	{283, "YResolution", false},
	{296, "ResolutionUnit", false},
	{33550, "ModelPixelScale", true},
	{33922, "ModelTiepoint", true},
	{34264, "ModelTransformation", true},
	{34735, "GeoKeyDirectory", true},
	{34736, "GeoDoubleParams", true},
	{34737, "GeoAsciiParams", false},
	{42112, "GDAL_METADATA", false},
	{gdalNoData, "GDAL_NODATA", false},
}

// String returns the name of a tag.
func (t tag) String() string {
	if name, ok := placing[t]; ok {
		return name
	}
	for _, d := range described {
		if d.tag == t {
			return d.name
		}
	}
	return fmt.Sprintf("tag %d", uint16(t))
}

// isList reports whether a single value of the tag is a list, too.
func (t tag) isList() bool {
	for _, d := range described {
		if d.tag == t {
			return d.list
		}
	}
	return false
}

// layout says how the pixels of an image are cut.
type layout struct {
	height, width int64
	rows, columns int64 // of a tile or a strip
	samples       int64
	planar        bool // the samples are stored apart
	tiled         bool
}

// layout reads how an image is cut: into tiles (section 15) or strips (section 3).
func (r *reader) layout(d *ifd) (l layout, err error) {
	_, l.tiled = d.entries[tileWidth]
	plane := int64(1)
	fields := []struct {
		tag      tag
		fallback int64
		into     *int64
	}{
		{imageLength, 0, &l.height}, {imageWidth, 0, &l.width},
		{samplesPerPixel, 1, &l.samples}, {planarConfig, 1, &plane},
		{tileLength, 0, &l.rows}, {tileWidth, 0, &l.columns},
	}
	if !l.tiled {
		fields = fields[:4]
	}
	for _, f := range fields {
		if *f.into, err = r.number(d, f.tag, f.fallback); err != nil {
			return l, err
		}
		if *f.into <= 0 || *f.into > math.MaxUint32 {
			return l, scan.Corruptf("%s is %d", f.tag, *f.into)
		}
	}
	if plane > 2 {
		return l, scan.Corruptf("PlanarConfiguration is %d", plane)
	}
	// PlanarConfiguration means nothing for a single sample.
	l.planar = plane == 2 && l.samples > 1
	if l.tiled {
		return l, nil
	}
	l.columns = l.width
	// Without RowsPerStrip, or with its usual default 2^32 - 1, the image is one strip.
	l.rows, err = r.number(d, rowsPerStrip, l.height)
	if l.rows = min(l.rows, l.height); err == nil && l.rows == 0 {
		err = scan.Corruptf("RowsPerStrip is 0")
	}
	return l, err
}

// axes returns the shape of the array, that of its chunks, and the names of the axes.
// short reports whether the last strip has only the rows that are left.
func (l layout) axes() (shape, chunk []int64, names []string, short bool) {
	shape, chunk, names = []int64{l.height, l.width}, []int64{l.rows, l.columns}, []string{"y", "x"}
	switch {
	case l.planar:
		shape, chunk = append([]int64{l.samples}, shape...), append([]int64{1}, chunk...)
		names = []string{"band", "y", "x"}
	case l.samples > 1:
		shape, chunk, names = append(shape, l.samples), append(chunk, l.samples), append(names, "band")
	}
	return shape, chunk, names, !l.tiled
}

// chunks returns where tiles or strips are. bytes are those of a decoded one.
func (r *reader) chunks(d *ifd, l layout, a *scan.Array, bytes int64) ([]scan.Chunk, error) {
	n, ok := checked.Product(a.Count()...)
	if !ok {
		return nil, scan.Corruptf("an array of the shape %d in chunks of %d", a.Shape, a.Chunk)
	}
	at, size := stripOffsets, stripByteCounts
	if l.tiled {
		at, size = tileOffsets, tileByteCounts
		// Some writers use the tags of strips for tiles, too.
		if _, ok := d.entries[at]; !ok {
			at, size = stripOffsets, stripByteCounts
		}
	}
	offsets, err := r.numbers(d, at)
	if err != nil {
		return nil, err
	}
	counts, err := r.numbers(d, size)
	if err != nil {
		return nil, err
	}
	// Old writers leave the length out if there is one strip that is not compressed.
	if counts == nil && n == 1 && len(a.Codecs) == 1 {
		counts = []uint64{uint64(bytes)}
	}
	if int64(len(offsets)) < n || int64(len(counts)) < n {
		return nil, scan.Corruptf("%d %s and %d %s for %s", len(offsets), at, len(counts), size, quantity.Count(n, "chunks"))
	}
	list, err := r.places(offsets[:n], counts[:n])
	// Compressed chunks end by themselves. Bytes behind plain samples would be taken for
	// more of them.
	if len(a.Codecs) == 1 {
		l.trim(list, bytes)
	}
	return list, err
}

// trim leaves out what some writers store behind the samples of chunks that are not
// compressed, of which a whole one has some bytes.
func (l layout) trim(list []scan.Chunk, bytes int64) {
	// Strips are numbered plane by plane if samples are stored apart.
	down := checked.CeilDiv(l.height, l.rows)
	for i := range list {
		rows := l.rows
		if strip := list[i].Number % down; !l.tiled && strip == down-1 {
			rows = l.height - strip*l.rows
		}
		list[i].Length = min(list[i].Length, bytes/l.rows*rows)
	}
}

// places returns chunks by their places. One without bytes is missing.
func (r *reader) places(offsets, counts []uint64) (list []scan.Chunk, err error) {
	end := uint64(r.file.Size())
	for i, off := range offsets {
		n := counts[i]
		switch {
		case n == 0:
			// GDAL leaves out tiles without data (SPARSE_OK): both numbers are 0.
		case off == 0 || off > end || n > end-off:
			return nil, scan.Corruptf("chunk %d has %s at %d, in a file of %d", i, quantity.Count(n, "bytes"), off, end)
		default:
			list = append(list, scan.Chunk{Number: int64(i), Offset: int64(off), Length: int64(n)})
		}
	}
	return list, nil
}
