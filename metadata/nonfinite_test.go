package metadata_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/metadata"
)

const nanArray = `{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"float32","chunk_grid":{"name":"regular","configuration":` +
	`{"chunk_shape":[4]}},"chunk_key_encoding":{"name":"default"},"fill_value":FILL,"codecs":["bytes"],"attributes":ATTRIBUTES}`

func nanDocument(fill, attributes string) string {
	return strings.NewReplacer("FILL", fill, "ATTRIBUTES", attributes).Replace(nanArray)
}

// TestBareNonFinite reads attributes as Python's json module writes them, and writes them
// as they were.
func TestBareNonFinite(t *testing.T) {
	const attributes = `{"a":NaN,"b":[-Infinity,"NaN",Infinity],"NaN":1}`
	a, err := metadata.ParseArray([]byte(nanDocument(`"NaN"`, attributes)), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if n := a.Notes(); len(n) != 1 || !strings.Contains(n[0], "zarr.json has a bare NaN") {
		t.Errorf("notes %q", n)
	}
	doc, err := a.Marshal(metadata.Limits{})
	if text := string(doc); err != nil || !strings.Contains(text, `"a": NaN`) || !strings.Contains(text, `[-Infinity, "NaN", Infinity]`) ||
		!strings.Contains(text, `"fill_value": "NaN"`) {
		t.Errorf("%v, %s", err, text)
	}
	if again, err := metadata.ParseArray(doc, metadata.Limits{}); err != nil || string(again.Attributes) == "" || len(again.Notes()) != 1 {
		t.Errorf("%v, %v", again, err)
	}
	sound, err := metadata.ParseArray([]byte(nanDocument(`"NaN"`, `{"a":"NaN"}`)), metadata.Limits{})
	if err != nil || sound.Notes() != nil {
		t.Errorf("without: %v, %v", sound, err)
	}
}

// TestBareNonFiniteElsewhere checks that bare numbers are refused in members that
// describe the node.
func TestBareNonFiniteElsewhere(t *testing.T) {
	for _, attributes := range []string{`{}`, `{"a":NaN}`} {
		_, err := metadata.Parse([]byte(nanDocument("NaN", attributes)), metadata.Limits{})
		if !errors.Is(err, metadata.ErrInvalid) || !strings.Contains(err.Error(), "/fill_value") {
			t.Errorf("attributes %s: %v", attributes, err)
		}
	}
}

// TestBareNonFiniteConsolidated has bare numbers in a group and in its consolidated
// entries.
func TestBareNonFiniteConsolidated(t *testing.T) {
	nodes := map[string]string{"good": nanDocument("1.0", `{"a":NaN}`), "bad": nanDocument("NaN", `{}`)}
	doc := `{"zarr_format":3,"node_type":"group","attributes":{"g":Infinity},"consolidated_metadata":{"kind":"inline","must_understand":false,` +
		`"metadata":{"good":` + nodes["good"] + `,"bad":` + nodes["bad"] + `}}}`
	g, err := metadata.ParseGroup([]byte(doc), metadata.Limits{})
	if err != nil || len(g.Notes()) != 1 {
		t.Fatal(g, err)
	}
	if n, err := g.Consolidated.Entry("good", metadata.Limits{}); err != nil || n.(*metadata.Array).Shape[0] != 8 {
		t.Errorf("%v, %v", n, err)
	}
	if n, err := g.Consolidated.Entry("bad", metadata.Limits{}); !errors.Is(err, metadata.ErrInvalid) {
		t.Errorf("%v, %v", n, err)
	}
	c, err := metadata.NewConsolidated(func(yield func(string, []byte) bool) { yield("x", []byte(nodes["good"])) }, metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.WithConsolidated(c).Marshal(metadata.Limits{})
	if err != nil || !strings.Contains(string(out), `"g": Infinity`) || !strings.Contains(string(out), `"a": NaN`) {
		t.Errorf("%v, %s", err, out)
	}
}

func TestNodeType(t *testing.T) {
	for doc, want := range map[string]string{
		nanDocument("1", `{"a":NaN}`): "array", `{"node_type":"group"}`: "group", `{"node_type":"tree"}`: "", `{"node_type":NaN}`: "", "": "", "[]": "",
	} {
		if got := metadata.NodeType([]byte(doc)); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}

// TestBareFillV2 reads bare fill values and writes them in the form of format 2.
// Elsewhere such numbers are refused.
func TestBareFillV2(t *testing.T) {
	document := func(shape, fill string) []byte {
		return []byte(`{"zarr_format":2,"shape":[` + shape + `],"chunks":[2],"dtype":"<f4","fill_value":` + fill + `,"order":"C","filters":null,"compressor":null}`)
	}
	for _, fill := range []string{"NaN", "Infinity", "-Infinity"} {
		a, err := metadata.ParseArrayV2(document("4", fill), nil, metadata.Limits{})
		if err != nil || string(a.FillValue) != `"`+fill+`"` || len(a.Notes()) != 1 || !strings.Contains(a.Notes()[0], "bare NaN") {
			t.Errorf("%s: %v, %+v", fill, err, a)
			continue
		}
		if out, err := a.Marshal(metadata.Limits{}); err != nil || !strings.Contains(string(out), `"`+fill+`"`) {
			t.Errorf("%s is written as %s, %v", fill, out, err)
		}
	}
	for _, wrong := range [][]byte{document("NaN", "0"), document("4", "NaN NaN"), document("4", "nan")} {
		if _, err := metadata.ParseArrayV2(wrong, nil, metadata.Limits{}); !errors.Is(err, metadata.ErrInvalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
