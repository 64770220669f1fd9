// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

// predicted returns an array of format 3 with these codecs before and after "bytes".
func predicted(t *testing.T, endian, before, after string) *metadata.Array {
	t.Helper()
	a, err := metadata.ParseArray([]byte(`{"zarr_format":3,"node_type":"array","shape":[40,30],"data_type":"float32","fill_value":0,"attributes":{},`+
		`"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16,8]}},"chunk_key_encoding":{"name":"v2"},`+
		`"codecs":[`+before+`,{"name":"bytes","configuration":{"endian":"`+endian+`"}},`+after+`]}`), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// documentOf returns the document of an array without white space.
func documentOf(t *testing.T, a *metadata.Array) string {
	t.Helper()
	text, err := a.Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, text); err != nil {
		t.Fatal(err)
	}
	return plain.String()
}

// TestPredictorsToV2 converts predictors. Those of format 2 get bytes, and have the shape
// and the type of chunks.
func TestPredictorsToV2(t *testing.T) {
	for _, tt := range []struct{ endian, before, want string }{
		{"little", `{"name":"imagecodecs_delta","configuration":{"axis":-2}}`, `{"id":"imagecodecs_delta","axis":-2,"shape":[16,8],"dtype":"<f4"}`},
		{"big", `{"name":"imagecodecs_delta"}`, `{"id":"imagecodecs_delta","shape":[16,8],"dtype":">f4"}`},
		{"big", `{"name":"imagecodecs_delta","configuration":{"shape":null,"dtype":null,"axis":-1,"dist":1}}`,
			`{"id":"imagecodecs_delta","axis":-1,"dist":1,"shape":[16,8],"dtype":">f4"}`},
		{"little", `{"name":"imagecodecs_floatpred","configuration":{"shape":[16,8],"dtype":"<f4"}}`, `{"id":"imagecodecs_floatpred","shape":[16,8],"dtype":"<f4"}`},
		// virtual-tiff writes this for files of either byte order.
		{"big", `{"name":"imagecodecs_floatpred","configuration":{"shape":[16,8],"dtype":"<f4"}}`, `{"id":"imagecodecs_floatpred","shape":[16,8],"dtype":">f4"}`},
	} {
		a, err := predicted(t, tt.endian, tt.before, `{"name":"imagecodecs_lzw"}`).ToV2(metadata.Limits{})
		if err != nil {
			t.Errorf("%s: %v", tt.before, err)
			continue
		}
		text := documentOf(t, a)
		if !strings.Contains(text, `"filters":[`+tt.want+`]`) || !strings.Contains(text, `"compressor":{"id":"imagecodecs_lzw"}`) {
			t.Errorf("%s: %s, want %s", tt.before, text, tt.want)
		}
	}
}

// TestRecut gives arrays other chunks: what states their shape follows, or goes.
func TestRecut(t *testing.T) {
	const floats = `{"name":"imagecodecs_floatpred","configuration":{"shape":[16,8],"dtype":"<f4"}}`
	grid := metadata.Extension{Name: "regular", Configuration: []byte(`{"chunk_shape":[10,10]}`)}
	a := predicted(t, "little", floats, `{"name":"imagecodecs_lzw"}`)
	b, err := a.Recut([]int64{20, 20}, grid)
	if err != nil || string(b.Codecs[0].Configuration) != `{"dtype":"<f4"}` || b.Shape[0] != 20 {
		t.Errorf("%s, %v", chainText(b.Codecs), err)
	}
	if string(a.Codecs[0].Configuration) != `{"shape":[16,8],"dtype":"<f4"}` {
		t.Errorf("the source has become %s", chainText(a.Codecs))
	}
	old, err := a.ToV2(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b, err = old.Recut([]int64{20, 20}, grid)
	if err != nil {
		t.Fatal(err)
	}
	if text := documentOf(t, b); !strings.Contains(text, `"filters":[{"id":"imagecodecs_floatpred","shape":[10,10],"dtype":"<f4"}]`) {
		t.Error(text)
	}
	if text := documentOf(t, old); !strings.Contains(text, `"shape":[16,8]`) {
		t.Errorf("the source has become %s", text)
	}
}
