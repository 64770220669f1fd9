// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strictjson"
)

// TestNestedRoundTrip checks that exported JSON can be read again.
func TestNestedRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(dtype.All()).Filter(func(d dtype.Type) bool { return d.Kind() != dtype.KindBool && !d.Variable() }).Draw(t, "type")
		shape := rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 3).Draw(t, "shape")
		n := typ.Size()
		for _, length := range shape {
			n *= int(length)
		}
		data := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
		typ.Normalize(data)
		text := nestedText(typ, shape, &data)
		doc, err := strictjson.Parse([]byte(text), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := nestedShape(doc, typ); fmt.Sprint(got) != fmt.Sprint(shape) {
			t.Fatalf("%s: shape %v, want %v", text, got, shape)
		}
		got := export.Values{Type: typ}
		err = appendNested(&got, doc, shape)
		if again := nestedText(typ, shape, &got.Data); err != nil || again != text {
			t.Fatalf("%s became %s: %v", text, again, err)
		}
	})
}

// nestedText writes elements as nested lists, and advances data.
func nestedText(t dtype.Type, shape []int64, data *[]byte) string {
	if len(shape) == 0 {
		elem := (*data)[:t.Size()]
		*data = (*data)[t.Size():]
		return string(t.AppendJSON(nil, elem))
	}
	parts := make([]string, shape[0])
	for i := range parts {
		parts[i] = nestedText(t, shape[1:], data)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func FuzzNested(f *testing.F) {
	f.Add([]byte("[[1,2],[3,4]]"))
	f.Add([]byte(`[[1,"NaN"],[]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, typ := range []dtype.Type{dtype.Int8, dtype.Float64, dtype.Complex64} {
			v := &Values{Type: typ, Name: "x", Reader: bytes.NewReader(text)}
			if err := v.openJSON(); err != nil {
				continue
			}
			n := int64(typ.Size())
			for _, length := range v.Shape {
				n *= length
			}
			if v.Total != n {
				t.Errorf("%d bytes for shape %v of %s", v.Total, v.Shape, typ)
			}
		}
	})
}
