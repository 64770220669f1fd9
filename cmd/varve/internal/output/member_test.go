// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// TestWriteJSON checks that writing structs member by member equals encoding/json.
func TestWriteJSON(t *testing.T) {
	type inner struct {
		Deep string `json:"deep"`
		Left *int   `json:"left,omitempty"`
		New  int    `json:"inner_new"`
	}
	type other struct {
		New int `json:"other_new"` // another member, though the fields have one name
	}
	type absent struct {
		Absent int `json:"never"`
	}
	type document struct {
		Plain string
		Raw   json.RawMessage `json:"raw"`
		NoRaw json.RawMessage `json:"no_raw"`
		inner                 // its members are the document's
		other
		*absent          // and these would be, if it were there
		Empty   []string `json:"empty,omitempty"`
		False   bool     `json:"false,omitempty"`
		List    []inner  `json:"list"`
		Hidden  int      `json:"-"`
		secret  int
		Last    map[string]any `json:"last"`
	}
	d := document{
		Plain: "<a>\u2028\x7f", Raw: json.RawMessage(`{"b" : [1,[2,3] ], "c":[]}`), inner: inner{Deep: "x"},
		List: []inner{{Deep: "é"}}, Hidden: 3, secret: 4, Last: map[string]any{"k": []any{}},
	}
	for _, v := range []any{d, &d, struct {
		One int `json:"one"`
	}{1}, map[string]int{"a": 1}, []int{1, 2}, "text"} {
		text, err := Encoded(v)
		if err != nil {
			t.Fatal(err)
		}
		want := string(strictjson.AppendIndent(nil, Safe(text))) + "\n"
		var got bytes.Buffer
		if err := WriteJSON(&got, v); err != nil || got.String() != want {
			t.Errorf("%T is %s (%v), want %s", v, got.String(), err, want)
		}
	}
	for _, v := range []any{d, map[string]any{"a": 1}} {
		var got bytes.Buffer
		if err := WriteJSON(&got, v, Member{"more", d.inner}); err != nil {
			t.Fatal(err)
		}
		var back struct{ More inner }
		if err := json.Unmarshal(got.Bytes(), &back); err != nil || back.More.Deep != "x" {
			t.Errorf("%T with a member behind is %s (%v)", v, got.String(), err)
		}
	}
}

// TestChunkSizes writes the lengths of chunks in the layout of the document around them.
func TestChunkSizes(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		cuts  []grid.Cut
		want  string
	}{
		{nil, nil, `[]`},
		{[]int64{0}, []grid.Cut{grid.Every(3)}, `[[]]`},
		{[]int64{0, 0}, []grid.Cut{grid.Every(3), grid.Every(1)}, `[[],[]]`},
		{[]int64{7}, []grid.Cut{grid.Every(3)}, `[[[3,2],[1,1]]]`},
		{[]int64{7, 0, 4}, []grid.Cut{grid.Edges(2, 5), grid.Every(1), grid.Edges(2, 3)}, `[[[2,1],[5,1]],[],[[2,2]]]`},
	} {
		g, err := grid.New(c.shape, c.cuts...)
		if err != nil {
			t.Fatal(err)
		}
		type document struct {
			Sizes any `json:"sizes"`
		}
		var got, want bytes.Buffer
		if err := WriteJSON(&got, document{SizesOf(g)}); err != nil {
			t.Fatal(err)
		}
		if err := WriteJSON(&want, document{json.RawMessage(c.want)}); err != nil || got.String() != want.String() {
			t.Errorf("%s is written as %s, want %s", c.want, got.String(), want.String())
		}
		if text, err := json.Marshal(SizesOf(g)); err != nil || string(text) != c.want {
			t.Errorf("%s is marshaled as %s (%v)", c.want, text, err)
		}
	}
	if text, err := json.Marshal(Sizes(nil)); err != nil || string(text) != "null" {
		t.Errorf("no sizes are %s (%v)", text, err)
	}
}
