// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestMarshalLayout(t *testing.T) {
	name := "x\n"
	a := &Array{
		Shape:            []int64{10, math.MaxInt64},
		DataType:         Extension{Name: "int8"},
		ChunkGrid:        Extension{Name: "rectilinear", Configuration: []byte(`{"kind":"inline","chunk_shapes":[[1,[2,3]],4]}`)},
		ChunkKeyEncoding: DefaultSlash.Extension(),
		FillValue:        []byte("0"),
		Codecs:           []Extension{{Name: "bytes"}, {Name: "maybe", Optional: true}},
		DimensionNames:   []*string{nil, &name},
	}
	const want = `{
  "zarr_format": 3,
  "node_type": "array",
  "shape": [10, 9223372036854775807],
  "data_type": "int8",
  "chunk_grid": {
    "name": "rectilinear",
    "configuration": {
      "kind": "inline",
      "chunk_shapes": [
        [1, [2, 3]],
        4
      ]
    }
  },
  "chunk_key_encoding": {
    "name": "default",
    "configuration": {
      "separator": "/"
    }
  },
  "fill_value": 0,
  "codecs": [
    {
      "name": "bytes"
    },
    {
      "name": "maybe",
      "must_understand": false
    }
  ],
  "dimension_names": [null, "x\n"],
  "attributes": {}
}
`
	if got := mustMarshal(t, a); got != want {
		t.Errorf("got %s", got)
	}
	if got := mustMarshal(t, &Group{}); got != "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {}\n}\n" {
		t.Errorf("got %s", got)
	}
}

func TestMarshalKeepsSpelling(t *testing.T) {
	doc := arrayDoc(`,"storage_transformers":[],"attributes":{"\u0061":1.50e+0,"z":[NUL]},"later":{"must_understand":false,"v":1E5}`)
	doc = strings.NewReplacer("NUL", "null", `"fill_value":0`, `"fill_value":-0.0`).Replace(doc)
	a := mustArray(t, doc)
	out := mustMarshal(t, a)
	for _, want := range []string{`"\u0061": 1.50e+0`, `"fill_value": -0.0`, `"codecs": ["bytes"]`, `"storage_transformers": []`,
		`"chunk_key_encoding": "default"`, `"v": 1E5`, `"data_type": "int8"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	b := mustArray(t, out)
	b.ChunkKeyEncoding.Optional, b.DataType.Name = true, "int16"
	changed := mustMarshal(t, b)
	for _, want := range []string{`"must_understand": false`, `"data_type": "int16"`, `"codecs": ["bytes"]`} {
		if !strings.Contains(changed, want) {
			t.Errorf("%s is missing in\n%s", want, changed)
		}
	}
}

func TestMarshalRefuses(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		change  func(a *Array)
		pointer string
	}{
		"negative extent":  {func(a *Array) { a.Shape = []int64{-1} }, "/shape/0"},
		"no codecs":        {func(a *Array) { a.Codecs = nil }, "/codecs"},
		"no fill value":    {func(a *Array) { a.FillValue = nil }, "/fill_value"},
		"two values":       {func(a *Array) { a.FillValue = []byte(`0,"shape":[1]`) }, "/fill_value"},
		"attributes":       {func(a *Array) { a.Attributes = []byte("[]") }, "/attributes"},
		"attributes break": {func(a *Array) { a.Attributes = []byte(`{},"x":{"must_understand":false}`) }, "/attributes"},
		"configuration":    {func(a *Array) { a.ChunkGrid.Configuration = []byte("3") }, "/chunk_grid/configuration"},
		"broken grid":      {func(a *Array) { a.ChunkGrid.Configuration = []byte(`{},"name":"y"`) }, "/chunk_grid/configuration"},
		"broken codec":     {func(a *Array) { a.Codecs = []Extension{{Name: "a"}, {Name: "b", Configuration: []byte("{")}} }, "/codecs/1/configuration"},
		"empty name":       {func(a *Array) { a.DataType = Extension{} }, "/data_type"},
		"dimension names":  {func(a *Array) { a.DimensionNames = []*string{nil, nil} }, "/dimension_names"},
		"invalid UTF-8":    {func(a *Array) { s := "\xff"; a.DimensionNames = []*string{&s} }, "/dimension_names/0"},
		"transformers":     {func(a *Array) { a.StorageTransformers = []Extension{{Name: "x"}} }, "/storage_transformers"},
		"too long":         {func(a *Array) { a.DimensionNames = []*string{&long} }, ""},
	} {
		a := *mustArray(t, arrayDoc(""))
		c.change(&a)
		_, err := a.Marshal(Limits{Document: 2000})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Pointer != c.pointer || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMarshalLimit marshals a document that exceeds the limit only when it is indented.
func TestMarshalLimit(t *testing.T) {
	g, err := new(Group).WithAttributes([]byte(`{"a":` + strings.Repeat(`{"a":`, 20) + "0" + strings.Repeat("}", 21)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Marshal(Limits{Document: 400}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

func TestChangedCopies(t *testing.T) {
	a := mustArray(t, arrayDoc(`,"attributes":{"a":1}`))
	before := mustMarshal(t, a)
	b := a.Resized([]int64{9}, Extension{Name: "regular", Configuration: []byte(`{"chunk_shape":[3]}`)})
	b, err := b.WithKeyEncoding(V2Dot).WithAttributes([]byte(` {"b":2} `))
	if err != nil {
		t.Fatal(err)
	}
	if mustMarshal(t, a) != before {
		t.Error("the original changed")
	}
	if again := mustArray(t, mustMarshal(t, b)); again.Shape[0] != 9 || string(again.Attributes) != "{\n    \"b\": 2\n  }" ||
		string(again.ChunkGrid.Configuration) == "" || again.ChunkKeyEncoding.Name != "v2" {
		t.Errorf("%+v", again)
	}
	for _, raw := range []string{"", "[]", "{", "{}{}"} {
		if _, err := a.WithAttributes([]byte(raw)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", raw, err)
		}
		if _, err := new(Group).WithAttributes([]byte(raw)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestExtension(t *testing.T) {
	for spelled, want := range map[string]string{
		`"a"`:                                  `"a"`,
		`{"name":"a"}`:                         `{"name":"a"}`,
		`{"configuration":{"x":1},"name":"a"}`: `{"name":"a","configuration":{"x":1}}`,
		`{"name":"\u0061","must_understand":false}`: `{"name":"a","must_understand":false}`,
		`{"name":"a","must_understand":true}`:       `{"name":"a"}`,
	} {
		e, err := ParseExtension([]byte(spelled), Limits{})
		if err != nil {
			t.Errorf("%s: %v", spelled, err)
			continue
		}
		if got := e.Append(nil); string(got) != spelled {
			t.Errorf("%s is written as %s", spelled, got)
		}
		made := Extension{Name: e.Name, Configuration: e.Configuration, Optional: e.Optional}
		if got := made.Append([]byte{}); string(got) != want && spelled != `"a"` {
			t.Errorf("%s is made as %s", spelled, got)
		}
	}
	for _, spelled := range []string{`""`, `1`, `{}`, `{"name":""}`, `{"name":"a","x":1}`, `{"name":"a","configuration":null}`,
		`{"name":"a","must_understand":0}`, `{"name":1}`, `[`} {
		if _, err := ParseExtension([]byte(spelled), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", spelled, err)
		}
	}
}

// TestParseChunkGrid compares a chunk grid alone with one in a document.
func TestParseChunkGrid(t *testing.T) {
	for spelled, want := range map[string]string{
		`{"name":"regular","configuration":{"chunk_shape":[4]}}`:            `regular {"chunk_shape":[4]}`,
		`{"type":"rectangular","chunk_shape":[[1,2]]}`:                      `rectangular {"chunk_shape":[[1,2]]}`,
		`{"type":"rectangular","separator":"/","chunk_shape":[[1,2]]}`:      `rectangular {"separator":"/","chunk_shape":[[1,2]]}`,
		`{"name":"rectangular","configuration":{"chunk_shape":[[1,2]]}}`:    `rectangular {"chunk_shape":[[1,2]]}`,
		`{"name":"regular","type":"regular","configuration":{}}`:            "",
		`{"type":"regular","chunk_shape":[4]}`:                              "",
		`{"type":"rectangular","type":"rectangular","chunk_shape":[[1,2]]}`: "",
		`{"type":"rectangular","chunk_shape":[[1,2]]`:                       "",
		`[]`: "",
	} {
		e, err := ParseChunkGrid([]byte(spelled), Limits{})
		if want == "" {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", spelled, err)
			}
			continue
		}
		if got := e.Name + " " + string(e.Configuration); err != nil || got != want {
			t.Errorf("%s: %s, %v", spelled, got, err)
		}
	}
}

func TestAttributes(t *testing.T) {
	raw := []byte(`{ "a" : 1.0 , "b":[1, 2],"c":null }`)
	for key, want := range map[string]string{"a": "1.0", "b": "[1, 2]", "c": "null"} {
		if got, ok, err := Attribute(raw, key); string(got) != want || !ok || err != nil {
			t.Errorf("%s: %s, %v, %v", key, got, ok, err)
		}
	}
	if got, ok, err := Attribute(raw, "d"); got != nil || ok || err != nil {
		t.Error(got, ok, err)
	}
	for _, c := range []struct{ raw, key, value, want string }{
		{string(raw), "a", `"x"`, `{ "a" : "x" , "b":[1, 2],"c":null }`},
		{string(raw), "c", ` 3e0 `, `{ "a" : 1.0 , "b":[1, 2],"c":3e0 }`},
		{string(raw), "d", `{}`, `{ "a" : 1.0 , "b":[1, 2],"c":null ,"d":{}}`},
		{`{}`, `"`, `1`, `{"\"":1}`},
		{` {"a":1} `, "b", `2`, ` {"a":1,"b":2}`},
	} {
		got, err := SetAttribute([]byte(c.raw), c.key, []byte(c.value))
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(c.want) {
			t.Errorf("set %q in %s: %s, %v", c.key, c.raw, got, err)
		}
	}
	for key, want := range map[string]string{
		"a": `{ "b":[1, 2],"c":null }`, "b": `{ "a" : 1.0,"c":null }`, "c": `{ "a" : 1.0 , "b":[1, 2] }`, "d": string(raw),
	} {
		if got, err := UnsetAttribute(raw, key); string(got) != want || err != nil {
			t.Errorf("unset %q: %s, %v", key, got, err)
		}
	}
	if got, err := UnsetAttribute([]byte(`{"a":{"a":1}}`), "a"); string(got) != "{}" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAttributesRefuse(t *testing.T) {
	if _, _, err := Attribute([]byte("[]"), "a"); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := UnsetAttribute([]byte("nil"), "a"); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	for _, c := range [][3]string{{"[]", "a", "1"}, {"{}", "a", "1,2"}, {"{}", "a", ""}, {"{}", "\xff", "1"}} {
		if got, err := SetAttribute([]byte(c[0]), c[1], []byte(c[2])); !errors.Is(err, ErrInvalid) || got != nil {
			t.Errorf("%q: %s, %v", c, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range hostileCases(f) {
		f.Add(c.document(f))
	}
	f.Add([]byte(arrayDoc(`,"dimension_names":[null],"x":{"must_understand":false}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Parse(data, Limits{})
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) {
				t.Fatal(err)
			}
			return
		}
		doc, err := n.Marshal(Limits{})
		if err != nil {
			t.Fatalf("%s is accepted, but not written: %v", data, err)
		}
		m, err := Parse(doc, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.Marshal(Limits{})
		if err != nil || !bytes.Equal(doc, again) {
			t.Fatalf("%s is written as %s and then as %s (%v)", data, doc, again, err)
		}
	})
}
