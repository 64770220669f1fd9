// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// hasMissing reports whether chunks of an array are not stored.
func (m *Manifest) hasMissing(ctx context.Context, a *Array) (bool, error) {
	all, _ := a.Grid.NumChunks()
	for k := range all {
		r, data, err := m.reference(ctx, a, k)
		if err != nil {
			return false, err
		}
		if data == nil && r.source == 0 {
			return true, nil
		}
	}
	return false, nil
}

// withScalars returns the manifest with the elements of arrays without axes that are not
// stored, as those of grid mappings often are. VirtualiZarr fails on references to an
// array without a chunk, and xarray takes such an element for a missing value.
func (m *Manifest) withScalars(ctx context.Context) (*Manifest, error) {
	whole := *m
	whole.Arrays = slices.Clone(m.Arrays)
	for i, a := range m.Arrays {
		typ, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
		if a.Grid.Rank() > 0 || err != nil || typ.Variable() {
			continue
		}
		absent, err := m.hasMissing(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		elem, err := typ.ParseFill(a.Document.FillValue)
		if err != nil || !absent {
			continue
		}
		if !dtype.LittleEndian() {
			typ.Swap(elem, elem)
		}
		doc := *a.Document
		doc.Codecs = []metadata.Extension{scan.Plain(typ, false)}
		if whole.Arrays[i], err = newArray(a.Path, &doc, a.Grid, 0); err != nil {
			return nil, err
		}
		whole.Arrays[i].setInline(0, elem)
	}
	return &whole, nil
}

// withMask returns the document of an array with missing chunks in a form that keeps its
// fill value in format 2. There the fill value is null unless the attribute _FillValue
// has it, because xarray takes elements that are equal to it for missing ones. With the
// attribute, those of missing chunks are.
func withMask(doc *metadata.Array) (*metadata.Array, error) {
	typ, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil || !missing.Coded(typ) {
		return doc, nil // collectV2 checks it
	}
	if _, ok, err := metadata.Attribute(doc.Attributes, missing.FillValue); ok || err != nil {
		return doc, err
	}
	fill, err := typ.ParseFill(doc.FillValue)
	if err != nil || bytes.Equal(fill, typ.Default()) { // null is read as the default
		return doc, err
	}
	text, err := missing.Format(typ, fill)
	if err != nil {
		return nil, err
	}
	masked := *doc
	if masked.Attributes == nil {
		masked.Attributes = []byte("{}")
	}
	masked.Attributes, err = metadata.SetAttribute(masked.Attributes, missing.FillValue, metadata.PlainText(text))
	return &masked, err
}

// checkFill returns an error if missing chunks of an array would have other elements by
// its document of format 2.
func checkFill(a *Array, doc *metadata.Array) error {
	typ, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	if err != nil {
		return nil // nobody reads such elements
	}
	want, err := typ.ParseFill(a.Document.FillValue)
	if err != nil {
		return err
	}
	got, err := typ.ParseFill(doc.FillValue)
	if err != nil || bytes.Equal(got, want) {
		return err
	}
	return fmt.Errorf("%w: %s has chunks that are missing, whose elements are %s; in format 2 they would be %s, which is what marks missing values there; write a manifest (%s)",
		zarr.ErrUnsupported, a.Path, a.Document.FillValue, doc.FillValue, Suffix)
}
