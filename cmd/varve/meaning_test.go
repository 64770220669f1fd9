package main

import "testing"

// TestAlike compares records by what they mean.
func TestAlike(t *testing.T) {
	array := func(more string) string {
		return `{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"float32","codecs":[{"name":"bytes","configuration":{"endian":"little"}}]` + more + `}`
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{array(``), array(`,"storage_transformers":[],"attributes":{},"dimension_names":null`), true},
		{array(``), array(`,"dimension_names":[null]`), true},
		{array(``), array(`,"dimension_names":["x"]`), false},
		{array(`,"fill_value":"NaN"`), array(`,"fill_value":"0x7fc00000"`), true},
		{array(`,"fill_value":"NaN"`), array(`,"fill_value":NaN`), true},
		{array(`,"fill_value":0`), array(`,"fill_value":0.0`), true},
		{array(`,"fill_value":0.0`), array(`,"fill_value":-0.0`), false},
		{array(`,"attributes":{"a":1,"b":[NaN,"NaN, \""]}`), array(`,"attributes":{"b":["NaN","NaN, \""],"a":1.0e0}`), true},
		{array(`,"attributes":{"a":9007199254740993}`), array(`,"attributes":{"a":9007199254740992}`), false},
		{array(`,"attributes":{"a":{"name":"x"}}`), array(`,"attributes":{"a":"x"}`), false},
		{array(`,"attributes":{"a":null}`), array(``), false},
		{array(`,"attributes":{"a":1e999}`), array(`,"attributes":{"a":1e998}`), false},
		{array(`,"chunk_key_encoding":"default"`), array(`,"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}}`), true},
		{array(`,"chunk_key_encoding":"default"`), array(`,"chunk_key_encoding":{"name":"default","configuration":{"separator":"."}}`), false},
		{array(``), array(`,"consolidated_metadata":{"metadata":{}}`), true},
		{`{".zarray":{"filters":null,"fill_value":null}}`, `{".zarray":{"filters":[],"fill_value":null,"dimension_separator":"."},".zattrs":{}}`, true},
		{`{".zarray":{"fill_value":null}}`, `{".zarray":{"fill_value":0}}`, false},
		{`{"zarr_format":3`, `{"zarr_format":4`, false},
	} {
		if got := alike([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s\n%s: %v", c.a, c.b, got)
		}
		if got := alike([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%s\n%s: %v", c.b, c.a, got)
		}
	}
}
