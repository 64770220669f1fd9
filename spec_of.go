// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// Spec returns a description of the array for creating one like it: with the same shape,
// data type, grid, shards, codecs, fill value, chunk keys, dimension names, attributes
// and format. Change fields of the result to create a different array. Unknown members of
// the document are not kept.
func (a *Array) Spec() Spec {
	s := a.state.Load()
	return spec(s.Document(), s.Type, s.Grid, s.Engine.Keys)
}

// SpecOf is [Array.Spec] for the metadata of an array. If the data type, grid or key
// encoding is unknown, the error wraps [ErrUnsupported]. If it is invalid, the error
// wraps [ErrInvalidMetadata].
func SpecOf(doc *metadata.Array) (Spec, error) {
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/data_type", err)))
	}
	g, err := grid.ParseOptions{EncodedShapes: true}.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration)
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/chunk_grid", err)))
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/chunk_key_encoding", err)))
	}
	if len(doc.StorageTransformers) > 0 {
		return Spec{}, fail("describe", "", fmt.Errorf("%w: storage transformer %q", metadata.ErrUnsupported, doc.StorageTransformers[0].Name))
	}
	return spec(doc, t, g, keys), nil
}

func spec(doc *metadata.Array, t dtype.Type, g *grid.Grid, keys metadata.KeyEncoding) Spec {
	format, fill := doc.Format(), FillJSON(string(doc.FillValue))
	if doc.HasNullFill() {
		fill = FillJSON("null")
	}
	doc = doc.ToV3() // which has the names of the dimensions apart
	env := &codec.Environment{Unaligned: true}
	codecs, _ := specifiedCodecs(env, doc.Codecs, t, doc.FillValue, g.Rank())
	return Spec{
		Shape: g.Shape(), Type: t, Grid: g, FillValue: fill, Codecs: codecs, KeyEncoding: keys,
		DimensionNames: snapshot.NamesOf(doc), Attributes: json.RawMessage(doc.Attributes), Format: format,
	}
}
