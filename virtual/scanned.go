// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// Refusal is an array that cannot be referenced, or another part of a file that is left
// out ([scan.Omission]), and why.
type Refusal struct {
	Path string
	Err  error
	// Array is set if it is an array or another node, and not an attribute, a link or a
	// part of one.
	Array bool
}

// New returns the manifest of a file that was scanned. Arrays that cannot be referenced
// and nodes with names that a manifest cannot have are left out and listed, and so is
// what the scanner has omitted.
func New(source Source, found *scan.Dataset) (*Manifest, []Refusal, error) {
	m := &Manifest{Sources: []Source{source}}
	var refused []Refusal
	for _, g := range found.Groups {
		if err := checkPath(g.Path); err != nil {
			refused = append(refused, Refusal{g.Path, err, true})
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
			refused = append(refused, Refusal{a.Path, err, true})
			continue
		}
		made, err := fromScanned(a, source.Size)
		if errors.Is(err, ErrLimit) {
			refused = append(refused, Refusal{a.Path, err, true})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", a.Path, err)
		}
		m.Arrays = append(m.Arrays, made)
	}
	for _, o := range found.Omitted {
		refused = append(refused, Refusal{o.Path, o.Reason, false})
	}
	m.sort()
	return m, refused, nil
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
			a.setInline(c.Number, c.Data)
		case c.Offset < 0 || c.Length < 0 || size > 0 && c.Offset > size-c.Length:
			return nil, scan.Corruptf("chunk %d has %d bytes at %d, in a file of %d", c.Number, c.Length, c.Offset, size)
		default:
			a.refs.set(int(c.Number), reference{1, uint64(c.Offset), uint64(c.Length)})
		}
	}
	return a, nil
}

// checkAbsent returns an error if most chunks of a large array are not stored: a small
// file can declare any number of chunks that it does not have.
func checkAbsent(g *grid.Grid, stored int64) error {
	if n, ok := g.NumChunks(); !ok || !fewAbsent(n, stored) {
		return fmt.Errorf("%w: it has %v chunks, of which %d count as stored", ErrLimit, g.Chunks(), stored)
	}
	return nil
}

// fewAbsent reports whether an array may have so many chunks of which so many are stored.
// A manifest takes some 20 bytes of memory for each.
func fewAbsent(chunks, stored int64) bool { return chunks <= mostAbsent+64*stored }

// mostAbsent is the number of chunks that an array of a file may have without storing
// any.
const mostAbsent = 1 << 20

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
	if reason, wanted := missing.Refused(s.Type, unsigned, raw); reason != "" && wanted != nil {
		return metadata.SetAttribute(attributes, name, wanted)
	}
	return attributes, nil
}
