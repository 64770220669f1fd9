// SPDX-License-Identifier: Apache-2.0

package metadata

// Marshal returns the canonical document of a. Its members are in a fixed order. It is
// indented by two spaces and ends with a newline. Marshal parses the document before it
// returns it, so its errors are those of [ParseArray].
//
// In format 2 it is the document [V2Array], as it was read except for shape, chunks and
// [Array.WithNullFill]. Other changes have no effect on it; see [Array.ToV2].
func (a *Array) Marshal(l Limits) ([]byte, error) {
	if a.v2 != nil {
		return a.marshalV2(l)
	}
	w := newWriter(l, "array")
	w.member(shape).shape(a.Shape)
	w.member(dataType).extension(a.DataType, Extension.appendType)
	w.member(chunkGrid).extension(a.ChunkGrid, Extension.Append)
	w.member(chunkKeyEncoding).extension(a.ChunkKeyEncoding, Extension.Append)
	w.member(fillValue).raw(a.FillValue)
	w.member(codecs).extensions(a.Codecs)
	if a.StorageTransformers != nil {
		w.member(storageTransformers).extensions(a.StorageTransformers)
	}
	if a.DimensionNames != nil {
		w.member(dimensionNames).names(a.DimensionNames)
	}
	w.member(attributes).object(a.Attributes)
	w.kept(a.kept)
	return w.document()
}

// Marshal returns the canonical document of g. Its members are in a fixed order. It is
// indented by two spaces and ends with a newline. Marshal parses the document before it
// returns it, so its errors are those of [ParseGroup]. In format 2 it is the document
// [V2Group]; attributes and consolidated metadata have documents of their own.
func (g *Group) Marshal(l Limits) ([]byte, error) {
	if g.v2 != nil {
		return g.marshalV2(l)
	}
	w := newWriter(l, "group")
	w.member(attributes).object(g.Attributes)
	if g.Consolidated != nil {
		w.member(consolidatedMetadata).consolidated(g.Consolidated)
	}
	w.kept(g.kept)
	return w.document()
}
