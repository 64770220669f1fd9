// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/zarrjson"
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
		nanDocument("1", `{"a":NaN}`): "array", `{"node_type":"group"}`: "group", `{"node_type" : "\u0061rray"}`: "array", `{"node_type":"tree"}`: "", `{"node_type":NaN}`: "", "": "", "[]": "",
	} {
		if got := zarrjson.NodeType([]byte(doc)); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
	// Names of consolidated metadata that cannot be used do not hide the type.
	for _, name := range []string{"__varve", `\udcff`, `s/x\ud800`, "...", "../x", `..\\x`, "a//b", `x\u0000`} {
		doc := `{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"` + name + `":{},"` + name + `":{}}}}`
		if got := zarrjson.NodeType([]byte(doc)); got != "group" {
			t.Errorf("%s: the node is of type %q", name, got)
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

// spelledText has texts that are spelled like the strings that stand for bare numbers,
// and bare numbers.
const spelledText = `{"a":"\u004eaN","b":["\u002dInfinity","\u0049nfinity"],"c":NaN,"d":-Infinity}`

// wantText is spelledText as it is written.
const wantText = `{"a":"NaN","b":["-Infinity","Infinity"],"c":NaN,"d":-Infinity}`

// noSpace removes white space between the tokens of a document.
func noSpace(doc []byte) string {
	return strings.NewReplacer(" ", "", "\n", "").Replace(string(doc))
}

// TestTextStaysText has texts in the spelling that stands for bare numbers.
func TestTextStaysText(t *testing.T) {
	doc := []byte(nanDocument(`"\u004eaN"`, spelledText))
	a, err := metadata.ParseArray(doc, metadata.Limits{})
	if err != nil || string(a.FillValue) != `"NaN"` {
		t.Fatal(a, err)
	}
	if out, err := a.Marshal(metadata.Limits{}); err != nil || !strings.Contains(noSpace(out), wantText) || !strings.Contains(noSpace(out), `"fill_value":"NaN"`) {
		t.Errorf("%v, %s", err, out)
	}
	object, err := metadata.ParseAttributesV2([]byte(spelledText), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := metadata.MarshalAttributesV2(object, metadata.Limits{}); err != nil || noSpace(out) != wantText {
		t.Errorf("format 2: %v, %s", err, out)
	}
	if got := string(nonfinite.Text([]byte(`{"x":"\"\u004eaN","\\u004eaN":"u\u004eaN"}`))); got != `{"x":"\"NaN","\\u004eaN":"u\u004eaN"}` {
		t.Errorf("plain text %s", got)
	}
}

// TestTextStaysTextConsolidated has such texts in consolidated metadata of both formats,
// which is taken apart and put together again.
func TestTextStaysTextConsolidated(t *testing.T) {
	v2 := []byte(`{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<f4","fill_value":"\u004eaN","order":"C","filters":null,"compressor":null}`)
	record, err := metadata.RecordV2(nodename.V2Array, v2, []byte(spelledText), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := metadata.RecordV2(nodename.V2Group, []byte(`{"zarr_format":2}`), []byte(spelledText), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pair := func(doc []byte) func(func(string, []byte) bool) {
		return func(yield func(string, []byte) bool) { yield("x", doc) }
	}
	c2, err := metadata.NewConsolidatedV2(own, pair(record), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c3, err := metadata.NewConsolidated(pair([]byte(nanDocument(`"\u004eaN"`, spelledText))), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*metadata.Consolidated{c2.WithOwn(c2.Own()), c3} {
		if c, err = c.WithAll(c.Nodes(), metadata.Limits{}); err != nil {
			t.Fatal(err)
		}
		n, err := c.Entry("x", metadata.Limits{})
		if err != nil || noSpace(nonfinite.Bare(n.(*metadata.Array).Attributes)) != wantText {
			t.Errorf("%v, %+v", err, n)
		}
		if !strings.Contains(noSpace(c.Raw("x")), wantText) {
			t.Errorf("raw %s", c.Raw("x"))
		}
	}
	out, err := c2.Marshal(metadata.Limits{})
	if again, againErr := metadata.ParseConsolidatedV2(out, metadata.Limits{}); err != nil || againErr != nil || strings.Count(noSpace(out), wantText) != 2 {
		t.Errorf("%v, %v, %s", err, againErr, out)
	} else if same, err := again.Marshal(metadata.Limits{}); err != nil || string(same) != string(out) {
		t.Errorf("%v, %s", err, same)
	}
}

// TestBareNumbersInToV2 takes bare numbers in attributes to format 2 and back.
func TestBareNumbersInToV2(t *testing.T) {
	doc := `{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int8","fill_value":0,"attributes":{"a":NaN,"m":[-Infinity,"NaN",1]},
	"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"v2"},"codecs":[{"name":"bytes"}]}`
	a, err := metadata.ParseArray([]byte(doc), metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.ToV2(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := metadata.MarshalAttributesV2(b.Attributes, metadata.Limits{})
	if want := `{"a":NaN,"m":[-Infinity,"NaN",1]}`; err != nil || noSpace(out) != want {
		t.Errorf("format 2 has %s (%v), want %s", out, err, want)
	}
	if back := noSpace(nonfinite.Bare(b.ToV3().Attributes)); back != `{"a":NaN,"m":[-Infinity,"NaN",1]}` {
		t.Errorf("format 3 has %s again", back)
	}
}
