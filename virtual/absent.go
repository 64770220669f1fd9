// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/metadata"
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
