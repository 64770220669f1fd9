// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"slices"

	"varve.dev/zarr/internal/strictjson"
)

// predictors are the codecs whose configuration may have the shape of chunks.
var predictors = []string{imagecodecsPrefix + "delta", imagecodecsPrefix + "floatpred"}

// WithoutChunkShapes returns codecs for chunks of other shapes: the predictors of
// imagecodecs lose the shape in their configuration, and take that of each chunk.
func WithoutChunkShapes(codecs []Extension) []Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		if !slices.Contains(predictors, e.Name) || e.Configuration == nil {
			continue
		}
		// The codec reports a configuration that is no object.
		if c, err := UnsetAttribute(e.Configuration, "shape"); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// Recut returns a copy of a with another shape, in elements, and another chunk grid.
// Where a codec states the shape of chunks, it changes as well.
func (a *Array) Recut(shape []int64, grid Extension) (*Array, error) {
	b := a.Resized(shape, grid)
	b.Codecs = WithoutChunkShapes(a.Codecs)
	if a.v2 == nil || a.v2.filters == nil {
		return b, nil
	}
	chunks, err := b.chunksV2()
	if err != nil {
		return nil, err
	}
	filters, err := shapedV2(a.v2.filters, chunks)
	if err != nil {
		return nil, err
	}
	v2 := *a.v2
	v2.filters = filters
	b.v2 = &v2
	return b, nil
}

// shapedV2 returns filters of format 2 for chunks of another shape.
func shapedV2(filters, chunks []byte) ([]byte, error) {
	v, err := strictjson.Parse(filters, strictjson.Limits{Size: int64(len(filters))})
	if err != nil || v.Kind() != strictjson.Array {
		return filters, err
	}
	var list [][]byte
	same := true
	for _, f := range v.Elements() {
		raw := f.Raw()
		id, _ := f.Member("id")
		name, _ := id.Str()
		if _, ok := f.Member("shape"); ok && slices.Contains(predictors, name) {
			if raw, err = SetAttribute(raw, "shape", chunks); err != nil {
				return nil, err
			}
			same = false
		}
		list = append(list, raw)
	}
	if same {
		return filters, nil
	}
	return slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}), nil
}
