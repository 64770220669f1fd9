// SPDX-License-Identifier: Apache-2.0

package scanned

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// Values returns the elements of an array of a file in C order, little endian, by making
// an array of Zarr of its chunks.
func Values(t *testing.T, a *scan.Array, file []byte) ([]byte, error) {
	t.Helper()
	spec := zarr.Spec{Shape: a.Shape, Type: a.Type, Codecs: a.Codecs}
	for i, n := range a.Shape {
		edges := []int64{}
		for at := int64(0); a.Short && at < n; at += a.Chunk[i] {
			edges = append(edges, min(a.Chunk[i], n-at))
		}
		if len(edges) > 0 {
			spec.Chunks = append(spec.Chunks, grid.Edges(edges...))
		} else {
			spec.Chunks = append(spec.Chunks, grid.Every(a.Chunk[i]))
		}
	}
	if a.Fill != nil {
		fill, err := a.Type.FormatFill(a.Fill)
		if err != nil {
			return nil, fmt.Errorf("fill value: %w", err)
		}
		spec.FillValue = zarr.FillJSON(string(fill))
	}
	s := memstore.New()
	made, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		return nil, err
	}
	count := a.Count()
	for _, c := range a.Chunks {
		data := c.Data
		if data == nil {
			if c.Offset < 0 || c.Length < 0 || c.Offset+c.Length > int64(len(file)) {
				return nil, fmt.Errorf("chunk %d is at %d, beyond the file", c.Number, c.Offset)
			}
			data = file[c.Offset:][:c.Length]
		}
		key := ""
		for i, rest := len(count)-1, c.Number; i >= 0; i-- {
			key = fmt.Sprintf("/%d", rest%count[i]) + key
			rest /= count[i]
		}
		if _, err := s.Put(t.Context(), store.MustKey("a/c"+key), data, store.Flush); err != nil {
			return nil, err
		}
	}
	elements := int64(1)
	for _, n := range a.Shape {
		elements *= n
	}
	if a.Type.Variable() {
		b, err := zarr.Read[string](t.Context(), made, nil)
		return []byte(strings.Join(b.Data, "\x00")), err
	}
	out := make([]byte, elements*int64(a.Type.Size()))
	if err := made.ReadBytes(t.Context(), nil, out); err != nil {
		return nil, err
	}
	if !dtype.LittleEndian() {
		a.Type.Swap(out, out)
	}
	return out, nil
}

// compareAttributes compares the attributes that are expected.
func compareAttributes(t *testing.T, where string, found scan.Attributes, want map[string]any) {
	t.Helper()
	for name, value := range want {
		got := found.Get(name)
		if got == nil {
			t.Errorf("%s lacks the attribute %q", where, name)
			continue
		}
		text, err := scan.Attributes{{Name: "a", Value: got}}.JSON()
		if err != nil {
			t.Errorf("%s: attribute %q: %v", where, name, err)
			continue
		}
		var is struct{ A any }
		if err := json.Unmarshal([]byte(text), &is); err != nil {
			continue // NaN
		}
		if !alike(is.A, value) {
			t.Errorf("%s: attribute %q is %v, want %v", where, name, is.A, value)
		}
	}
}

// alike compares values of JSON. A float32 has shorter digits than the double that it is.
func alike(a, b any) bool {
	x, ok := a.(float64)
	y, also := b.(float64)
	if ok && also {
		return x == y || float32(x) == float32(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	p, ok := a.([]any)
	q, also := b.([]any)
	if !ok || !also {
		return reflect.DeepEqual(a, b)
	}
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !alike(p[i], q[i]) {
			return false
		}
	}
	return true
}
