// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// consolidatedDoc returns a group with consolidated metadata for pairs of a path and a
// document.
func consolidatedDoc(entries ...string) string {
	var b strings.Builder
	for i := 0; i < len(entries); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", entries[i], entries[i+1])
	}
	return groupDoc(`,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{` + b.String() + `}}`)
}

func paths(c *Consolidated) string {
	var list []string
	for path := range c.Nodes() {
		list = append(list, path)
	}
	return strings.Join(list, " ")
}

func TestConsolidated(t *testing.T) {
	broken := `{"zarr_format":3,"node_type":"array","shape":[-1]}`
	nested := consolidatedDoc("zarr.json", "null")
	c := mustGroup(t, consolidatedDoc("b", arrayDoc(""), "a/y", broken, "a-b", groupDoc(""), "a", nested, "a/x/z", arrayDoc(""), "p/q", groupDoc(""))).Consolidated
	if got := paths(c); got != "a a/x/z a/y a-b b p/q" || c.Len() != 6 {
		t.Error(got)
	}
	if n, err := c.Entry("a/x/z", Limits{}); err != nil || n.(*Array).Shape[0] != 8 {
		t.Error(n, err)
	}
	if n, err := c.Entry("a", Limits{}); err != nil || n.(*Group).Consolidated != nil {
		t.Error(n, err)
	}
	if n, err := c.Entry("a/x", Limits{}); n != nil || err != nil {
		t.Error(n, err)
	}
	_, err := c.Entry("a/y", Limits{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Pointer != "/consolidated_metadata/metadata/a~1y/shape/0" || !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	for path, want := range map[string]string{"a": "x/z y", "a/x": "z", "b": "", "": "", "p": "q", "zz": ""} {
		if got := paths(c.Below(path)); got != want {
			t.Errorf("below %q: %s", path, got)
		}
	}
}

// TestConsolidatedDamaged opens a group with damaged entries. Reading them fails; all
// other entries stay readable.
func TestConsolidatedDamaged(t *testing.T) {
	for _, damaged := range []string{"{}", `{"node_type":"table"}`, "null", "5", `[1]`} {
		g, err := ParseGroup([]byte(consolidatedDoc("a", damaged, "b", groupDoc(""))), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		n, err := g.Consolidated.Entry("a", Limits{})
		if e, ok := errors.AsType[*Error](err); n != nil || !ok || !strings.HasPrefix(e.Pointer, "/consolidated_metadata/metadata/a") {
			t.Errorf("%s: %v, %v", damaged, n, err)
		}
		if n, err := g.Consolidated.Entry("b", Limits{}); n == nil || err != nil {
			t.Errorf("beside %s: %v", damaged, err)
		}
	}
}

func TestConsolidatedRefused(t *testing.T) {
	for name, doc := range map[string]string{
		"no metadata":      groupDoc(`,"consolidated_metadata":{"kind":"inline"}`),
		"no kind":          groupDoc(`,"consolidated_metadata":{"metadata":{}}`),
		"number":           groupDoc(`,"consolidated_metadata":1`),
		"must understand?": groupDoc(`,"consolidated_metadata":{"kind":"inline","must_understand":"no","metadata":{}}`),
	} {
		if _, err := ParseGroup([]byte(doc), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := `,"consolidated_metadata":{"kind":"elsewhere"%s,"url":"x"}`
	if _, err := ParseGroup([]byte(groupDoc(fmt.Sprintf(other, ""))), Limits{}); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
	g := mustGroup(t, groupDoc(fmt.Sprintf(other, `,"must_understand":false`)))
	if g.Consolidated != nil || !strings.Contains(mustMarshal(t, g), `"elsewhere"`) {
		t.Error("consolidated metadata of another kind is not kept")
	}
	if g := mustGroup(t, groupDoc(`,"consolidated_metadata":null`)); g.Consolidated != nil {
		t.Error("null is something")
	}
}

func TestConsolidatedKept(t *testing.T) {
	entry := `{"node_type":"array","\u0061":[1.0,{"b":1e0}],"node":null}`
	doc := strings.Replace(consolidatedDoc("b", entry, "a", groupDoc("")), `"metadata":`, `"note":1.50,"metadata":`, 1)
	out := mustMarshal(t, mustGroup(t, doc))
	strip := strings.NewReplacer(" ", "", "\n", "")
	for _, want := range []string{`"b":` + entry + `,"a":`, `"note":1.50`} {
		if !strings.Contains(strip.Replace(out), want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	if g := mustGroup(t, out).WithConsolidated(nil); strings.Contains(mustMarshal(t, g), "consolidated") {
		t.Error("not removed")
	}
}

func TestConsolidatedChanged(t *testing.T) {
	c, err := new(Consolidated).With("b", []byte(arrayDoc("")+"\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.With("a", []byte(groupDoc("")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if paths(c) != "b" || paths(d) != "a b" || paths(d.Without("b")) != "a" || paths(d.Without("x")) != "a b" {
		t.Error(paths(c), "-", paths(d))
	}
	for path, raw := range map[string]string{"b/c": groupDoc(""), "../x": groupDoc(""), "x": "{}", "y": "[", "": groupDoc("")} {
		if e, err := d.With(path, []byte(raw), Limits{}); !errors.Is(err, ErrInvalid) || e != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := d.With("u", []byte(arrayDoc(`,"quantum":1`)), Limits{}); err != nil {
		t.Error("an entry that is not supported is refused:", err)
	}
	if again := mustGroup(t, mustMarshal(t, new(Group).WithConsolidated(d))); paths(again.Consolidated) != "a b" {
		t.Error(paths(again.Consolidated))
	}
	twice := func(yield func(string, []byte) bool) {
		for range 2 {
			if !yield("a", []byte(groupDoc(""))) {
				return
			}
		}
	}
	if _, err := NewConsolidated(twice, Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	bad := func(yield func(string, []byte) bool) { yield("a", nil) }
	if _, err := NewConsolidated(bad, Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// TestConsolidatedModel changes consolidated metadata at random and compares with a map.
func TestConsolidatedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.StringMatching(`[ab!-](/[ab!-]){0,2}`)
		model := map[string]bool{} // whether the node is an array
		c := new(Consolidated)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			path, array := names.Draw(t, "path"), rapid.Bool().Draw(t, "array")
			if rapid.IntRange(0, 3).Draw(t, "op") == 0 {
				delete(model, path)
				c = c.Without(path)
				continue
			}
			doc := groupDoc("")
			if array {
				doc = arrayDoc("")
			}
			if d, err := c.With(path, []byte(doc), Limits{}); (err == nil) != fits(model, path, array) {
				t.Fatalf("%s into %v: %v", path, model, err)
			} else if err == nil {
				model[path], c = array, d
			}
		}
		var got []string
		for path := range c.Nodes() {
			got = append(got, path)
		}
		want := slices.SortedFunc(maps.Keys(model), func(a, b string) int {
			return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func fits(model map[string]bool, path string, array bool) bool {
	for other, isArray := range model {
		if isArray && strings.HasPrefix(path, other+"/") || array && strings.HasPrefix(other, path+"/") {
			return false
		}
	}
	return true
}

// TestMemory parses documents that take the most memory for their size.
func TestMemory(t *testing.T) {
	var nodes []string
	for i := range 20000 {
		nodes = append(nodes, fmt.Sprintf("%x", i), `{"node_type":"group"}`)
	}
	for name, doc := range map[string]string{
		"entries": consolidatedDoc(nodes...),
		"kept":    groupDoc(strings.Join(repeat(20000, `,"k%x":{"must_understand":false}`), "")),
		"members": groupDoc(`,"attributes":{` + strings.Join(repeat(50000, `"%x":1`), ",") + `}`),
		"codecs":  strings.Replace(arrayDoc(""), `["bytes"]`, `["b"`+strings.Repeat(`,"b"`, 50000)+"]", 1),
		"edges":   strings.Replace(arrayDoc(""), `[4]`, `[1`+strings.Repeat(`,1`, 100000)+"]", 1),
	} {
		data := []byte(doc)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := Parse(data, Limits{})
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(12*len(data)+1<<16); got > most {
			t.Errorf("%s: %d bytes allocated for %d (%v)", name, got, len(data), err)
		}
		runtime.KeepAlive(n)
	}
}

func repeat(n int, format string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}
