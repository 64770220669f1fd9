// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// arrayDoc is a document of an array with more members after the required ones.
func arrayDoc(more string) string {
	return `{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"int8","chunk_grid":{"name":"regular",` +
		`"configuration":{"chunk_shape":[4]}},"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"]` + more + `}`
}

func groupDoc(more string) string { return `{"zarr_format":3,"node_type":"group"` + more + `}` }

func mustArray(t *testing.T, doc string) *Array {
	t.Helper()
	a, err := ParseArray([]byte(doc), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func mustGroup(t *testing.T, doc string) *Group {
	t.Helper()
	g, err := ParseGroup([]byte(doc), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustMarshal(t *testing.T, n Node) string {
	t.Helper()
	doc, err := n.Marshal(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

type hostileCase struct{ Name, Why, Expect, Doc, Base64 string }

func (c hostileCase) document(t testing.TB) []byte {
	if c.Base64 == "" {
		return []byte(c.Doc)
	}
	doc, err := base64.StdEncoding.DecodeString(c.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func hostileCases(t testing.TB) []hostileCase {
	data, err := os.ReadFile("testdata/hostile.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []hostileCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// verdict parses a document up to its key encoding and returns the outcome.
func verdict(doc []byte) (string, error) {
	n, err := Parse(doc, Limits{})
	if a, ok := n.(*Array); ok && err == nil {
		_, err = ParseKeyEncoding(a.ChunkKeyEncoding)
	}
	if g, ok := n.(*Group); ok && err == nil && g.Consolidated != nil {
		for path := range g.Consolidated.Nodes() {
			if _, entryErr := g.Consolidated.Entry(path, Limits{}); entryErr != nil {
				err = entryErr
			}
		}
		for _, entryErr := range g.Consolidated.Refused() {
			err = entryErr
		}
	}
	switch {
	case err == nil:
		return "ok", nil
	case errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrInvalid):
		return "unsupported", err
	case errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported):
		return "invalid", err
	}
	return "neither", err
}

func TestHostile(t *testing.T) {
	for _, c := range hostileCases(t) {
		got, err := verdict(c.document(t))
		if got != c.Expect {
			t.Errorf("%s (%s): %s (%v), want %s", c.Name, c.Why, got, err, c.Expect)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "metadata: ") {
			t.Errorf("%s: error %q does not name the package", c.Name, err)
		}
	}
}

func TestHostileLarge(t *testing.T) {
	deep := func(open, close string, n int) string { return strings.Repeat(open, n) + strings.Repeat(close, n) }
	for name, doc := range map[string]string{
		"deep arrays":    arrayDoc(`,"attributes":{"a":` + deep("[", "]", 100000) + `}`),
		"open brackets":  strings.Repeat("[", 100000),
		"deep objects":   arrayDoc(`,"attributes":` + strings.Repeat(`{"a":`, 15000) + "0" + strings.Repeat("}", 15001)),
		"many digits":    strings.Replace(arrayDoc(""), "[8]", "["+strings.Repeat("9", 100000)+"]", 1),
		"rank 1000":      strings.Replace(arrayDoc(""), "[8]", "[1"+strings.Repeat(",1", 999)+"]", 1),
		"many codecs":    strings.Replace(arrayDoc(""), `["bytes"]`, `["b"`+strings.Repeat(`,"b"`, 256)+"]", 1),
		"deep path":      groupDoc(`,"consolidated_metadata":{"kind":"inline","metadata":{"` + strings.Repeat("a/", 64) + `a":` + groupDoc("") + `}}`),
		"long path":      groupDoc(`,"consolidated_metadata":{"kind":"inline","metadata":{"` + strings.Repeat("a", 4097) + `":` + groupDoc("") + `}}`),
		"nested":         strings.Repeat(`{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","metadata":{"a":`, 700) + groupDoc("") + strings.Repeat("}}}", 700),
		"long name":      strings.Replace(groupDoc(""), "group", strings.Repeat("group", 10000), 1),
		"many unknown":   groupDoc(strings.Repeat(`,"aaaaaaaaa":1`, 10000)),
		"million shapes": strings.Replace(arrayDoc(""), "[8]", "["+strings.Repeat("1,", 1000000)+"1]", 1),
	} {
		_, err := verdict([]byte(doc))
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: message of %d bytes", name, len(err.Error()))
		}
	}
}

func TestLimits(t *testing.T) {
	doc := []byte(strings.Replace(arrayDoc(`,"attributes":{"a":[[1]]}`), "[8]", "[8,8]", 1))
	for _, c := range []struct {
		limits Limits
		ok     bool
	}{
		{Limits{}, true},
		{Limits{Document: int64(len(doc))}, true},
		{Limits{Document: int64(len(doc)) - 1}, false},
		{Limits{Rank: 2}, true},
		{Limits{Rank: 1}, false},
		{Limits{Depth: 4}, true},
		{Limits{Depth: 3}, false},
	} {
		if _, err := Parse(doc, c.limits); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse(doc, Limits{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		again := mustMarshal(t, n)
		if !reflect.DeepEqual(tree(t, []byte(again)), tree(t, doc)) {
			t.Errorf("%s: values changed:\n%s", file, again)
		}
	}
}

// tree returns the values of a document, with numbers as they are spelled and without
// members that are optional.
func tree(t testing.TB, doc []byte) map[string]any {
	d := json.NewDecoder(strings.NewReader(string(doc)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	if a, ok := m["attributes"].(map[string]any); ok && len(a) == 0 {
		delete(m, "attributes")
	}
	return m
}

func TestParseOneType(t *testing.T) {
	if _, err := ParseArray([]byte(groupDoc("")), Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := ParseGroup([]byte(arrayDoc("")), Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if a, err := ParseArray([]byte("{"), Limits{}); a != nil || err == nil {
		t.Error(a, err)
	}
	if g, err := ParseGroup([]byte("{"), Limits{}); g != nil || err == nil {
		t.Error(g, err)
	}
}

func TestUnsupportedIsDescribed(t *testing.T) {
	for _, more := range []string{`,"storage_transformers":[{"name":"crypt"}]`, `,"quantum":{}`, `,"consolidated_metadata":null`} {
		a, err := ParseArray([]byte(arrayDoc(more)), Limits{})
		if !errors.Is(err, ErrUnsupported) || a == nil || a.Shape[0] != 8 {
			t.Errorf("%s: %v, %v", more, a, err)
		}
		if _, err := a.Marshal(Limits{}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: written: %v", more, err)
		}
	}
	g, err := ParseGroup([]byte(groupDoc(`,"attributes":{"a":1},"quantum":7`)), Limits{})
	if !errors.Is(err, ErrUnsupported) || g == nil || string(g.Attributes) != `{"a":1}` {
		t.Error(g, err)
	}
	if doc, err := g.Marshal(Limits{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("written without what has to be understood: %s, %v", doc, err)
	}
}

func TestErrorPlace(t *testing.T) {
	_, err := Parse([]byte(strings.Replace(arrayDoc(""), "[8]", "[8,-1]", 1)), Limits{})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Pointer != "/shape/1" || e.Error() != "metadata: /shape/1: extent must not be negative, got -1" {
		t.Error(err)
	}
}

// TestDraftGrid reads the chunk grid of the ZEP 3 draft, which has no name, and writes it
// as it was.
func TestDraftGrid(t *testing.T) {
	with := func(grid string) []byte {
		return []byte(strings.Replace(arrayDoc(""), `{"name":"regular","configuration":{"chunk_shape":[4]}}`, grid, 1))
	}
	for _, grid := range []string{
		`{"type":"rectangular","separator":"/","chunk_shape":[[3,5]]}`,
		`{"separator":"/","chunk_shape":[[3,5]],"type":"rectangular"}`,
	} {
		a, err := ParseArray(with(grid), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if e := a.ChunkGrid; e.Name != "rectangular" || string(e.Configuration) != `{"separator":"/","chunk_shape":[[3,5]]}` {
			t.Errorf("%s was read as %q %s", grid, e.Name, e.Configuration)
		}
		if got := string(a.ChunkGrid.Append(nil)); got != grid {
			t.Errorf("%s was written as %s", grid, got)
		}
		again, err := ParseArray([]byte(mustMarshal(t, a)), Limits{})
		if err != nil || again.ChunkGrid.Name != "rectangular" {
			t.Errorf("written, it is read as %+v (%v)", again.ChunkGrid, err)
		}
	}
	for _, grid := range []string{`{"type":"regular","chunk_shape":[4]}`, `{"type":7}`, `{"type":"rectangular","name":"regular"}`, `{}`} {
		if _, err := ParseArray(with(grid), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", grid, err)
		}
	}
}
