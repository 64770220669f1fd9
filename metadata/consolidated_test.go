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
	"varve.dev/zarr/internal/nodename"
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

// refusals returns the paths of refused entries. Their errors must name them.
func refusals(t interface{ Errorf(string, ...any) }, c *Consolidated) []string {
	var list []string
	for path, err := range c.Refused() {
		list = append(list, path)
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrInvalid) || !strings.HasPrefix(e.Pointer, "/") || !strings.HasSuffix(e.Pointer, strings.ReplaceAll(path, "/", "~1")) {
			t.Errorf("%q: %v", path, err)
		}
	}
	slices.Sort(list)
	return list
}

// TestRefused reads groups with entries that are not part of the tree. They are reported
// one by one, and all other entries are present. Writing and reading keeps all of them.
func TestRefused(t *testing.T) {
	group, array := groupDoc(""), arrayDoc("")
	for bad, entries := range map[string][]string{
		"../b":          {"../b", array},
		"..":            {"..", group},
		"sound/../../b": {"sound/../../b", array},
		"/etc":          {"/etc", group},
		"":              {"", group},
		"a/zarr.json":   {"a/zarr.json", group},
		"sound/":        {"sound/", group},
		"twice":         {"twice", array, "twice", group},
		"p":             {"p", group, "p", group, "p", array},
		"array/b/c":     {"array/b/c", group},
		"array/x":       {"array/x", array},
	} {
		doc := consolidatedDoc(append(append(entries, "sound", group, "array", array), entries...)...)
		if len(entries) == 2 {
			doc = consolidatedDoc(append(entries, "sound", group, "array", array)...)
		}
		for range 2 {
			c := mustGroup(t, doc).Consolidated
			if got := refusals(t, c); !slices.Equal(got, []string{bad}) || paths(c) != "array sound" {
				t.Errorf("%q: refused %q, there are %s", bad, got, paths(c))
			}
			if n, err := c.Entry(bad, Limits{}); n != nil || err != nil {
				t.Errorf("%q is read: %v, %v", bad, n, err)
			}
			doc = mustMarshal(t, mustGroup(t, doc))
		}
	}
}

// TestUnusable reads groups with entries whose names may be stored but cannot be used.
// All others are there, and writing keeps the names as they are.
func TestUnusable(t *testing.T) {
	for name, want := range map[string]error{
		"__varve": nodename.ErrUnusable, "a/__varve/b": nodename.ErrUnusable, `\udcff`: nodename.ErrUnusable, `s/x\ud800`: nodename.ErrUnusable, "...": nodename.ErrUnusable,
		"../x": nil, `..\\x`: nil, "a//b": nil, `x\u0000`: nil,
	} {
		doc := groupDoc(`,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"sound":` + arrayDoc("") + `,"` + name + `":` + arrayDoc("") + `}}`)
		for range 2 {
			c := mustGroup(t, doc).Consolidated
			n := 0
			for path, err := range c.Refused() {
				if n++; errors.Is(err, nodename.ErrUnusable) != (want != nil) || !errors.Is(err, ErrInvalid) {
					t.Errorf("%q: %v", path, err)
				}
			}
			if n != 1 || paths(c) != "sound" {
				t.Errorf("%s: %d refused, there are %s", name, n, paths(c))
			}
			if doc = mustMarshal(t, mustGroup(t, doc)); !strings.Contains(doc, `"`+name+`":`) {
				t.Errorf("%s is not written", name)
			}
		}
		document := `{"zarr_consolidated_format":1,"metadata":{"` + name + `/.zarray":{},"b/.zgroup":{}}}`
		c, err := ParseConsolidatedV2([]byte(document), Limits{})
		if err != nil || len(refusals(t, c)) != 1 || paths(c) != "b" {
			t.Errorf("format 2, %s: %v", name, err)
			continue
		}
		if raw, err := c.Marshal(Limits{}); err != nil || !strings.Contains(string(raw), `"`+name+`/.zarray"`) {
			t.Errorf("format 2, %s: %s, %v", name, raw, err)
		}
	}
}

// TestRefusedElsewhere repeats members outside the entries, which makes the document
// invalid.
func TestRefusedElsewhere(t *testing.T) {
	for _, doc := range []string{
		groupDoc(`,"attributes":{"a":1,"a":1}`),
		groupDoc(`,"consolidated_metadata":{"kind":"inline","kind":"inline","metadata":{}}`),
		groupDoc(`,"consolidated_metadata":{"kind":"inline","metadata":{"a":1,"a":1},"metadata":{"a":1,"a":1}}`),
		groupDoc(`,"consolidated_metadata":{"kind":"inline","metadata":{"a":{"b":1,"b":1}}}`),
	} {
		if _, err := ParseGroup([]byte(doc), Limits{}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

// TestRefusedChanged changes consolidated metadata that has refused entries.
func TestRefusedChanged(t *testing.T) {
	group, array := groupDoc(""), arrayDoc("")
	c := mustGroup(t, consolidatedDoc("../b", group, "s/a", array, "s/a/x", group, "s/../y", group, "t", group, "t", array, "s", group)).Consolidated
	below := c.Below("s")
	if got := refusals(t, below); !slices.Equal(got, []string{"../y", "a/x"}) || paths(below) != "a" {
		t.Errorf("refused %q, there are %s", got, paths(below))
	}
	if got := refusals(t, c.Without("s/a")); !slices.Equal(got, []string{"../b", "s/../y", "t"}) {
		t.Errorf("without the array: %q", got)
	}
	d, err := c.With("t", []byte(group), Limits{})
	if err != nil || !slices.Equal(refusals(t, d), []string{"../b", "s/../y", "s/a/x"}) || paths(d) != "s s/a t" {
		t.Errorf("%v, %s", err, paths(d))
	}
	if _, err := c.With("../b", []byte(group), Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if len(refusals(t, c)) != 4 {
		t.Error("a change shows in the original")
	}
}

// TestRefusedModel reads random entries and compares what is refused with a plain rule.
func TestRefusedModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var doc, list []string
		arrays, number := map[string]bool{}, map[string]int{}
		for range rapid.IntRange(1, 10).Draw(t, "entries") {
			path := rapid.StringMatching(`[a.!](/[a.]){0,2}/?`).Draw(t, "path")
			n := groupDoc("")
			if number[path]++; rapid.Bool().Draw(t, "array") {
				n, arrays[path] = arrayDoc(""), true
			}
			doc, list = append(doc, path, n), append(list, path)
		}
		var refused, sound []string
		slices.Sort(list)
		for _, path := range slices.Compact(list) {
			inArray := false
			for a := range arrays {
				inArray = inArray || number[a] == 1 && nodename.CheckBelow(a) == nil && isBelow(path, a) && !belowAny(a, arrays, number)
			}
			if number[path] > 1 || nodename.CheckBelow(path) != nil || inArray {
				refused = append(refused, path)
			} else {
				sound = append(sound, path)
			}
		}
		g, err := ParseGroup([]byte(consolidatedDoc(doc...)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(paths(g.Consolidated))
		if slices.Sort(got); !slices.Equal(refusals(t, g.Consolidated), refused) || !slices.Equal(got, sound) {
			t.Fatalf("%q: there are %q, refused are %q; want %q and %q", doc, got, refusals(t, g.Consolidated), sound, refused)
		}
	})
}

// belowAny reports whether a path lies below an array that is listed only once.
func belowAny(path string, arrays map[string]bool, number map[string]int) bool {
	for a := range arrays {
		if number[a] == 1 && isBelow(path, a) {
			return true
		}
	}
	return false
}

// TestRefusedMany reads many refused entries, which must not take more than linear time.
func TestRefusedMany(t *testing.T) {
	var entries []string
	for i := range 100000 {
		entries = append(entries, fmt.Sprintf("../%d", i/2), `{"node_type":"array"}`)
	}
	if c := mustGroup(t, consolidatedDoc(entries...)).Consolidated; c.Len() != 0 || len(refusals(t, c)) != 50000 {
		t.Error(c.Len())
	}
}
