// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

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
		tag       tag
		otherwise int64
		into      *int64
	}{
		{imageLength, 0, &l.height}, {imageWidth, 0, &l.width},
		{samplesPerPixel, 1, &l.samples}, {planarConfig, 1, &plane},
		{tileLength, 0, &l.rows}, {tileWidth, 0, &l.columns},
	}
	if !l.tiled {
		fields = fields[:4]
	}
	for _, f := range fields {
		if *f.into, err = r.number(d, f.tag, f.otherwise); err != nil {
			return l, err
		}
		if *f.into <= 0 || *f.into > math.MaxUint32 {
			return l, scan.Corruptf("%s is %d", f.tag, *f.into)
		}
	}
	if plane > 2 {
		return l, scan.Corruptf("PlanarConfiguration is %d", plane)
	}
	l.planar = plane == 2 && l.samples > 1
	if l.tiled {
		return l, nil
	}
	l.columns = l.width
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
		return nil, scan.Corruptf("%d %s and %d %s for %d chunks", len(offsets), at, len(counts), size, n)
	}
	list, err := r.places(offsets[:n], counts[:n])
	if len(a.Codecs) == 1 {
		l.trim(list, bytes)
	}
	return list, err
}

// trim leaves out what some writers store behind the samples of chunks that are not
// compressed, of which a whole one has some bytes.
func (l layout) trim(list []scan.Chunk, bytes int64) {
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
		case off == 0 || off > end || n > end-off:
			return nil, scan.Corruptf("chunk %d has %d bytes at %d, in a file of %d", i, n, off, end)
		default:
			list = append(list, scan.Chunk{Number: int64(i), Offset: int64(off), Length: int64(n)})
		}
	}
	return list, nil
}
