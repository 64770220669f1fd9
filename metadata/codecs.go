// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"slices"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
)

// WithChecksums returns codecs in which every zstd says whether it stores checksums: as
// its configuration says, or else as on says. It looks into codecs that have a chain of
// their own, such as shards.
//
// A document without the member means no checksums. New arrays of format 3 have checksums
// unless the user opts out.
func WithChecksums(codecs []Extension, on bool) []Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		if _, ok, err := Attribute(configuration, checksum); ok || err != nil {
			return configuration, err
		}
		return SetAttribute(configuration, checksum, strconv.AppendBool(nil, on))
	})
}

// WithoutChecksums returns codecs in which every zstd says that it stores no checksums.
// They decode chunks that have them, and check them.
func WithoutChecksums(codecs []Extension) []Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		return SetAttribute(configuration, checksum, []byte("false"))
	})
}

const checksum = "checksum" // the member of zstd

// eachZstd returns codecs with another configuration of every zstd.
func eachZstd(codecs []Extension, change func(configuration []byte) ([]byte, error)) []Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		// The codec reports a configuration that cannot be read.
		if c, err := zstdConfiguration(e, change); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// zstdConfiguration returns the configuration of a codec, with that of every zstd
// changed.
func zstdConfiguration(e Extension, change func(configuration []byte) ([]byte, error)) ([]byte, error) {
	switch {
	case e.Name == "zstd" && e.Configuration == nil:
		return change([]byte("{}"))
	case e.Name == "zstd":
		return change(e.Configuration)
	}
	if e.Configuration == nil {
		return nil, nil
	}
	v, err := object(e.Configuration)
	if err != nil {
		return nil, err
	}
	// Shards have a chain of their own, and so may codecs that are not known here.
	chain, ok := v.Member("codecs")
	if !ok || chain.Kind() != strictjson.Array {
		return e.Configuration, nil
	}
	stored, err := newExtensions(chain)
	if err != nil {
		return nil, err
	}
	changed := eachZstd(stored, change)
	if slices.EqualFunc(stored, changed, Extension.Equal) {
		return e.Configuration, nil // in its own spelling
	}
	list := []byte{'['}
	for i, c := range changed {
		if i > 0 {
			list = append(list, ',')
		}
		list = c.Append(list)
	}
	return SetAttribute(e.Configuration, "codecs", append(list, ']'))
}

// predictors are the codecs whose configuration may have the shape of chunks.
var predictors = []string{ImagecodecsPrefix + "delta", ImagecodecsPrefix + "floatpred"}

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
