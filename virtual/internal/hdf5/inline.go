// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// mostInline bounds the text of an array, and the references to it, in bytes.
const mostInline = 1 << 20

// inline copies the text of an array into its chunks. The file has only references in
// them, which no codec follows.
func (w *walk) inline(a *scan.Array, d *described) error {
	if len(d.filters) > 0 {
		return scan.Unsupportedf("its elements are text of variable length, and its chunks are encoded")
	}
	if d.typ.size != w.sequenceBytes() {
		return scan.Corruptf("references of %d bytes to the global heap", d.typ.size)
	}
	n, ok := checked.Product(append([]int64{d.typ.size, int64(len(a.Chunks))}, a.Chunk...)...)
	if !ok || n > mostInline {
		return scan.Unsupportedf("its elements are text of variable length, and more than %d bytes of references", mostInline)
	}
	left := int64(mostInline)
	for i := range a.Chunks {
		c := &a.Chunks[i]
		references := c.Data
		if references == nil {
			if err := w.spend(c.Length); err != nil {
				return err
			}
			var err error
			if references, err = w.file.Bytes(c.Offset, c.Length); err != nil {
				return err
			}
		}
		data, err := w.texts(d.typ, references, &left)
		if err != nil {
			return err
		}
		*c = scan.Chunk{Number: c.Number, Data: data}
	}
	a.Codecs = []metadata.Extension{{Name: "vlen-utf8"}}
	if d.fill.value == nil {
		return nil
	}
	fill, err := w.sequence(w.over(d.fill.value), 1)
	a.Fill = []byte(d.typ.trim(fill))
	return err
}

// texts returns texts as the codec "vlen-utf8" stores them: their number, and the length
// and the bytes of each.
func (w *walk) texts(d *datatype, references []byte, left *int64) ([]byte, error) {
	data := binary.LittleEndian.AppendUint32(nil, uint32(int64(len(references))/d.size))
	for b := range slices.Chunk(references, int(d.size)) {
		raw, err := w.sequence(w.over(b), 1)
		if err != nil {
			return nil, err
		}
		text := d.trim(raw)
		if *left -= int64(len(text)); *left < 0 {
			return nil, scan.Unsupportedf("its elements are text of variable length, and more than %d bytes of it", mostInline)
		}
		if !utf8.ValidString(text) {
			return nil, scan.Unsupportedf("its elements are text that is not UTF-8")
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(len(text)))
		data = append(data, text...)
	}
	return data, nil
}
