// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// New returns the manifest of a file that was scanned. Arrays that cannot be referenced
// and nodes with names that a manifest cannot have are left out and listed, and so is
// what the scanner has omitted.
func New(source Source, found *scan.Dataset) (*Manifest, []Refusal, error) {
	m := &Manifest{Sources: []Source{source}}
	var refused []Refusal
	for _, g := range found.Groups {
		if err := checkPath(g.Path); err != nil {
			refused = append(refused, Refusal{Path: g.Path, Err: err, Array: true})
			continue
		}
		attributes, err := attributesOf(g.Attributes)
		if err != nil {
			return nil, nil, fmt.Errorf("group %q: %w", g.Path, err)
		}
		m.Groups = append(m.Groups, Group{g.Path, &metadata.Group{Attributes: attributes}})
	}
	for _, a := range found.Arrays {
		if err := cmp.Or(a.Refused, checkPath(a.Path)); err != nil {
			refused = append(refused, Refusal{Path: a.Path, Err: err, Array: true})
			continue
		}
		// A limit concerns this array only. Any other error shows that the scan is wrong.
		made, err := fromScanned(a, source.Size)
		if errors.Is(err, ErrLimit) {
			refused = append(refused, Refusal{Path: a.Path, Err: err, Array: true})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", a.Path, err)
		}
		m.Arrays = append(m.Arrays, made)
	}
	for _, o := range found.Omitted {
		refused = append(refused, Refusal{Path: o.Path, Err: o.Reason})
	}
	m.sort()
	return m, refused, nil
}

// Refusal is an array that cannot be referenced, or another part of a file that is left
// out ([scan.Omission]), and why.
type Refusal struct {
	Path string
	Err  error
	// Array is set if it is an array or another node, and not an attribute, a link or a
	// part of one.
	Array bool
	// More counts values without documents that are not listed, after the last one that
	// is.
	More int64
}

// attributesOf returns attributes in the spelling of package metadata.
func attributesOf(a scan.Attributes) ([]byte, error) {
	text, err := a.JSON()
	if err != nil {
		return nil, err
	}
	return metadata.ParseAttributesV2(text, metadata.Limits{})
}

// fromScanned returns an array with the references of one file.
func fromScanned(s *scan.Array, size int64) (*Array, error) {
	s = inSlabs(s)
	cuts := make([]grid.Cut, len(s.Shape))
	for i, n := range s.Chunk {
		// Such as the last strip of a TIFF image, which has only the rows that are left.
		if cuts[i] = grid.Every(n); s.Short && s.Shape[i]%n != 0 {
			cuts[i] = shortEdges(s.Shape[i], n)
		}
	}
	g, err := grid.New(s.Shape, cuts...)
	if err != nil {
		return nil, err
	}
	doc, err := documentOf(s, g)
	if err != nil {
		return nil, err
	}
	if err := checkAbsent(g, int64(len(s.Chunks))); err != nil {
		return nil, err
	}
	a, err := newArray(s.Path, doc, g, 0)
	if err != nil {
		return nil, err
	}
	if a.points, err = pointsOf(s); err != nil {
		return nil, err
	}
	for _, c := range s.Chunks {
		switch {
		case c.Number < 0 || c.Number >= int64(a.refs.len()):
			return nil, scan.Corruptf("chunk %d of %d", c.Number, a.refs.len())
		case c.Data != nil:
			// Such as a chunk of text, which the file has only as references into a heap.
			a.setInline(c.Number, c.Data)
		case c.Offset < 0 || c.Length < 0 || size > 0 && c.Offset > size-c.Length:
			return nil, scan.Corruptf("chunk %d has %s at %d, in a file of %d", c.Number, quantity.Count(c.Length, "bytes"), c.Offset, size)
		default:
			a.refs.set(int(c.Number), reference{1, uint64(c.Offset), uint64(c.Length)})
		}
	}
	return a, nil
}

// shortEdges cuts an axis into edges of one length and a shorter last one.
func shortEdges(extent, edge int64) grid.Cut {
	if extent < edge {
		return grid.Edges(extent)
	}
	return grid.Runs(grid.Run{Length: edge, Count: extent / edge}, grid.Run{Length: extent % edge, Count: 1})
}

// documentOf returns the document of an array.
func documentOf(s *scan.Array, g *grid.Grid) (*metadata.Array, error) {
	fill := s.Fill
	if fill == nil {
		fill = s.Type.Default()
	}
	fillJSON, err := s.Type.FormatFill(fill)
	if err != nil {
		return nil, err
	}
	attributes, err := attributesOf(s.Attributes)
	if err != nil {
		return nil, err
	}
	if attributes, err = missingForXarray(s, attributes); err != nil {
		return nil, err
	}
	doc := &metadata.Array{
		Shape: s.Shape, DataType: metadata.Extension{Name: s.Type.Name(), Configuration: s.Type.Configuration()},
		ChunkGrid: snapshot.GridExtension(g, 0), ChunkKeyEncoding: metadata.DefaultSlash.Extension(),
		FillValue: fillJSON, Codecs: s.Codecs, Attributes: attributes,
	}
	for _, name := range s.Names {
		if name == "" {
			doc.DimensionNames = append(doc.DimensionNames, nil)
			continue
		}
		doc.DimensionNames = append(doc.DimensionNames, &name)
	}
	return doc, nil
}

// missingForXarray gives the attribute _FillValue the form that xarray expects in format
// 3, which is text for floats.
func missingForXarray(s *scan.Array, attributes []byte) ([]byte, error) {
	const name = "_FillValue"
	raw, ok, err := metadata.Attribute(attributes, name)
	if !ok || err != nil {
		return attributes, err
	}
	unsigned, _, err := metadata.Attribute(attributes, "_Unsigned")
	if err != nil {
		return nil, err
	}
	// xarray refuses to open the whole group because of one such attribute.
	if reason, wanted := missing.Refused(s.Type, unsigned, raw); reason != "" && wanted != nil {
		return metadata.SetAttribute(attributes, name, wanted)
	}
	return attributes, nil
}

// pointsOf returns the points of a scanned array.
func pointsOf(s *scan.Array) (list []point, err error) {
	for _, p := range s.Points {
		c := p.Coordinate
		if len(c.Chunks) != 1 || len(c.Chunks[0].Data) != c.Type.Size() {
			return nil, scan.Corruptf("the coordinate %s has no element", c.Path)
		}
		g, err := grid.New([]int64{1}, grid.Chunks(1)...)
		if err != nil {
			return nil, err
		}
		q := point{Axis: p.Axis, Name: c.Path, Value: bytes.Clone(c.Chunks[0].Data), Attributes: p.Attributes}
		if q.Document, err = documentOf(c, g); err != nil {
			return nil, err
		}
		text, err := q.Document.Marshal(metadata.Limits{})
		if err != nil {
			return nil, err
		}
		q.Text = string(text)
		if !byteorder.Little() {
			c.Type.Swap(q.Value, q.Value)
		}
		list = append(list, q)
	}
	return list, nil
}

// inSlabs cuts an array that its file has in one uncompressed piece into chunks along the
// first axis, if it is large: each is a range of the piece.
func inSlabs(s *scan.Array) *scan.Array {
	if len(s.Shape) == 0 || len(s.Codecs) != 1 || s.Codecs[0].Name != "bytes" || len(s.Chunks) != 1 || s.Chunks[0].Data != nil {
		return s
	}
	for i, n := range s.Shape {
		if s.Chunk[i] != n {
			return s
		}
	}
	row, ok := checked.Product(append([]int64{int64(s.Type.Size())}, s.Shape[1:]...)...)
	if whole := s.Chunks[0]; !ok || whole.Length <= largestPlain || row <= 0 || whole.Length != row*s.Shape[0] {
		return s
	}
	rows := max(1, slabBytes/row)
	cut := *s
	cut.Chunk = append([]int64{rows}, s.Shape[1:]...)
	// Rows that follow each other in the file are ranges of it, so the array can be cut
	// into chunks without a copy. The last one is shorter.
	cut.Short, cut.Chunks = true, nil
	for at := int64(0); at < s.Shape[0]; at += rows {
		n := min(rows, s.Shape[0]-at)
		cut.Chunks = append(cut.Chunks, scan.Chunk{Number: at / rows, Offset: s.Chunks[0].Offset + at*row, Length: n * row})
	}
	return &cut
}

const (
	// largestPlain is the size in bytes up to which values that a file has in one piece
	// are one chunk.
	largestPlain = 64 << 20
	// slabBytes is the size of the chunks that larger ones are cut into.
	slabBytes = 16 << 20
)
