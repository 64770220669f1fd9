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

// Spec returns the description of an array like this one, without its elements: of the
// same shape, data type, grid, shards and codecs, fill value, chunk keys, dimension
// names, attributes and format. To create it elsewhere makes an array that differs in
// nothing but its elements; what is to differ can be changed before. Members of the
// document that are not known are not kept.
func (a *Array) Spec() Spec {
	s := a.state.Load()
	return spec(s.Document(), s.Type, s.Grid, s.Engine.Keys)
}

// SpecOf is [Array.Spec] for the metadata of an array. A data type, grid or key encoding
// that is not known wraps [ErrUnsupported], one that is not valid [ErrInvalidMetadata].
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
