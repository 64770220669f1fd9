// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// documents compares what the documents of two arrays say, apart from attributes.
func (c *comparer) documents(path string, a, b *zarr.Array) {
	x, y := likeness.Complete(a.Metadata()), likeness.Complete(b.Metadata())
	c.compare(&c.Differences, path, dataType, a.Type().String(), b.Type().String())
	c.compare(&c.Differences, path, shape, jsonOf(a.Shape()), jsonOf(b.Shape()))
	c.compare(&c.Differences, path, fillValue, fillOf(a), fillOf(b))
	c.compare(&c.Differences, path, dimensionNames, jsonOf(a.DimensionNames()), jsonOf(b.DimensionNames()))

	c.compare(&c.Storage, path, zarrFormat, fmt.Sprint(x.Format()), fmt.Sprint(y.Format()))
	if !sameChunks(a, b) {
		c.compare(&c.Storage, path, chunkGrid, jsonOf(x.ChunkGrid), jsonOf(y.ChunkGrid))
	}
	if !x.ChunkKeyEncoding.Equal(y.ChunkKeyEncoding) {
		c.compare(&c.Storage, path, chunkKeyEncoding, jsonOf(x.ChunkKeyEncoding), jsonOf(y.ChunkKeyEncoding))
	}
	if !slices.EqualFunc(x.Codecs, y.Codecs, metadata.Extension.Equal) {
		c.compare(&c.Storage, path, codecs, jsonOf(x.Codecs), jsonOf(y.Codecs))
	}
}

// compare adds a difference to a list unless both texts are equal.
func (c *comparer) compare(list *[]Difference, path string, kind Kind, a, b string) {
	if a != b {
		*list = append(*list, Difference{Path: path, Kind: kind, A: a, B: b})
	}
}

// sameChunks reports whether two arrays are cut in the same way, whatever their extents.
func sameChunks(a, b *zarr.Array) bool {
	for i := range min(a.Rank(), b.Rank()) {
		if x, y := a.Grid().Axis(i), b.Grid().Axis(i); x.IsRegular() && y.IsRegular() && x.Step() == y.Step() {
			continue
		} else if !x.Equal(y) {
			return false
		}
	}
	return a.Rank() == b.Rank()
}

// fillOf returns the fill value in the one spelling that each value has.
func fillOf(a *zarr.Array) string {
	elem, err := a.FillValue().Element(a.Type())
	if err != nil {
		return string(a.Metadata().FillValue)
	}
	return string(a.Type().AppendJSON(nil, elem))
}

// jsonOf returns a value as JSON, and "" for null.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil || string(text) == "null" {
		return ""
	}
	return string(text)
}

// v2Dimensions is the attribute that has the names of dimensions in format 2.
const v2Dimensions = "_ARRAY_DIMENSIONS"

// attributes compares attributes by name.
func (c *comparer) attributes(ctx context.Context, path string, a, b zarr.Node) {
	x, y := members(a.Attributes()), members(b.Attributes())
	// Format 2 has the names of dimensions there, and they are compared as such.
	delete(x, v2Dimensions)
	delete(y, v2Dimensions)
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, q := x[name], y[name]
		if sameJSON(p, q) {
			continue
		}
		list := &c.Differences
		if strings.HasPrefix(name, own.Attributes) {
			// Varve's own attributes say how one array came to be and how it grows. A
			// copy that follows its source has others and the same data.
			list = &c.Storage
		} else if isMask(name) && sameMasks(ctx, a, b) {
			list = &c.Storage // a conversion writes it in another way
		}
		*list = append(*list, Difference{Path: path, Kind: attribute, Name: name, A: string(p), B: string(q)})
	}
}

// members returns the members of an object by their names.
func members(object []byte) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if len(object) > 0 && json.Unmarshal(object, &m) != nil || m == nil {
		// Not an object: its text stands for all of it.
		return map[string]json.RawMessage{"": object}
	}
	return m
}

// sameJSON reports whether two texts have one meaning. Numbers keep their spelling,
// because other languages tell 1 from 1.0.
func sameJSON(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return bytes.Equal(a, b) || reflect.DeepEqual(value(a), value(b))
}

func value(text []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text
	}
	return v
}
