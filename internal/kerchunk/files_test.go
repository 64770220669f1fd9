// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const folder = "../../virtual/testdata"

// expected is what is expected of references.
type expected struct {
	Of      []string
	Arrays  map[string]struct{ Shape []int64 }
	Absent  []string
	Wrong   []string
	Refused struct{ Array string }
}

// documents returns the references in JSON by name.
func documents(t testing.TB) map[string]expected {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ References map[string]expected }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all.References, func(name string, _ expected) bool { return !strings.HasSuffix(name, ".json") })
	if len(all.References) < 50 {
		t.Fatalf("%d documents", len(all.References))
	}
	return all.References
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func must(t testing.TB, text []byte) *References {
	t.Helper()
	r, err := Parse(text, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFiles checks keys and ranges. References that must be refused are so here only if
// no reader could make sense of them.
func TestFiles(t *testing.T) {
	refused := map[string]string{"refs_jinja.json": "only names", "refs_negative.json": "8 bytes at -8"}
	for name, want := range documents(t) {
		r, err := Parse(read(t, name), Limits{})
		if why := refused[name]; why != "" {
			if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), `reference "v/0"`) {
				t.Errorf("%s: %v, want %s", name, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for array := range want.Arrays {
			if x, ok := r.Find(array + "/.zarray"); !ok || !json.Valid(x.Data) {
				t.Errorf("%s: %s has the metadata %q", name, array, x.Data)
			}
		}
		for _, array := range want.Absent {
			if _, ok := r.Find(array + "/.zarray"); ok {
				t.Errorf("%s: %s is there", name, array)
			}
		}
		if want.Refused.Array == "" {
			checkRanges(t, name, r, want)
		}
		if got, want := r.Len(), countOf(t, read(t, name)); got != want {
			t.Errorf("%s: %d references, want %d", name, got, want)
		}
		checkWritten(t, name, r)
	}
}

// checkRanges checks that all bytes lie within the files.
func checkRanges(t *testing.T, name string, r *References, want expected) {
	t.Helper()
	for key, x := range r.All() {
		array, _, _ := strings.Cut(key, "/")
		if x.URL == "" || slices.Contains(want.Wrong, array) {
			continue
		}
		info, err := os.Stat(filepath.Join(folder, x.URL))
		if err != nil || !slices.Contains(append(want.Of, "refs_whole.bin"), x.URL) {
			t.Fatalf("%s: %s is in %q: %v", name, key, x.URL, err)
		}
		if x.Length != Whole && x.Offset+x.Length > info.Size() {
			t.Errorf("%s: %s is %d bytes at %d of %s", name, key, x.Length, x.Offset, x.URL)
		}
	}
}

// countOf counts the references of a document by other means.
func countOf(t *testing.T, text []byte) int {
	t.Helper()
	var d struct {
		Version int
		Refs    map[string]any
		Gen     []struct{ Dimensions map[string]any }
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil || json.Unmarshal(text, &d) != nil {
		t.Fatal("no JSON")
	}
	if d.Version == 0 {
		return len(all)
	}
	return len(d.Refs) + 7*len(d.Gen) // every generator of the files makes seven
}

// checkWritten reads what is written.
func checkWritten(t testing.TB, name string, r *References) {
	t.Helper()
	text := r.Append(nil)
	var b strings.Builder
	n, err := r.WriteTo(&b)
	if err != nil || n != int64(len(text)) || b.String() != string(text) {
		t.Errorf("%s: %d bytes are written, want %d: %v", name, n, len(text), err)
	}
	again, err := Parse(text, Limits{})
	if err != nil || !slices.Equal(again.list, r.list) {
		t.Errorf("%s: other references are read than were written: %v", name, err)
	}
}

// TestForms compares documents that say the same in different forms.
func TestForms(t *testing.T) {
	for _, of := range []string{"nc3_classic", "nc4_basic"} {
		want := must(t, read(t, of+".v1.json"))
		for _, form := range []string{"v0", "template", "templates", "gen"} {
			if of == "nc4_basic" && form == "gen" {
				continue
			}
			if got := must(t, read(t, of+"."+form+".json")); !slices.Equal(got.list, want.list) {
				t.Errorf("%s: %s differs from version 1", of, form)
			}
		}
	}
}

func TestValues(t *testing.T) {
	r := must(t, read(t, "refs_objects.json"))
	if x, _ := r.Find(".zgroup"); string(x.Data) != `{"zarr_format": 2}` {
		t.Errorf("%q", x.Data)
	}
	if x, _ := r.Find("v/1"); string(x.Data) != "\x48\xe1\x0a\xc1\xe1\x7a\x64\xc1" {
		t.Errorf("%x", x.Data)
	}
	if x, ok := must(t, read(t, "refs_text.json")).Find("v/0"); string(x.Data) != "a{b}" || !ok {
		t.Errorf("%q", x.Data)
	}
	r = must(t, read(t, "refs_whole_file.json"))
	if x, _ := r.Find("v/0"); x.URL != "refs_whole.bin" || x.Length != Whole || x.Offset != 0 {
		t.Errorf("%+v", x)
	}
	if x, _ := r.Find("v/1"); x.URL != "numpy_c.npy" || x.Length != 8 || x.Offset != 136 || x.Data != nil {
		t.Errorf("%+v", x)
	}
	if _, ok := r.Find("v/2"); ok {
		t.Error("v/2 is there")
	}
	var keys []string
	for key := range r.Below("v/") {
		keys = append(keys, key)
	}
	if got := strings.Join(keys, " "); got != "v/.zarray v/0 v/1" {
		t.Error(got)
	}
}
