// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// told returns the paths of refused entries. Their errors must name them.
func told(t interface{ Errorf(string, ...any) }, c *Consolidated) []string {
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
			if got := told(t, c); !slices.Equal(got, []string{bad}) || paths(c) != "array sound" {
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
		"__varve": ErrUnusable, "a/__varve/b": ErrUnusable, `\udcff`: ErrUnusable, `s/x\ud800`: ErrUnusable, "...": ErrUnusable,
		"../x": nil, `..\\x`: nil, "a//b": nil, `x\u0000`: nil,
	} {
		doc := groupDoc(`,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"sound":` + arrayDoc("") + `,"` + name + `":` + arrayDoc("") + `}}`)
		for range 2 {
			c := mustGroup(t, doc).Consolidated
			n := 0
			for path, err := range c.Refused() {
				if n++; errors.Is(err, ErrUnusable) != (want != nil) || !errors.Is(err, ErrInvalid) {
					t.Errorf("%q: %v", path, err)
				}
			}
			if n != 1 || paths(c) != "sound" {
				t.Errorf("%s: %d refused, there are %s", name, n, paths(c))
			}
			if kind := NodeType([]byte(doc)); kind != "group" {
				t.Errorf("%s: the node is of type %q", name, kind)
			}
			if doc = mustMarshal(t, mustGroup(t, doc)); !strings.Contains(doc, `"`+name+`":`) {
				t.Errorf("%s is not written", name)
			}
		}
		document := `{"zarr_consolidated_format":1,"metadata":{"` + name + `/.zarray":{},"b/.zgroup":{}}}`
		c, err := ParseConsolidatedV2([]byte(document), Limits{})
		if err != nil || len(told(t, c)) != 1 || paths(c) != "b" {
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
	if got := told(t, below); !slices.Equal(got, []string{"../y", "a/x"}) || paths(below) != "a" {
		t.Errorf("refused %q, there are %s", got, paths(below))
	}
	if got := told(t, c.Without("s/a")); !slices.Equal(got, []string{"../b", "s/../y", "t"}) {
		t.Errorf("without the array: %q", got)
	}
	d, err := c.With("t", []byte(group), Limits{})
	if err != nil || !slices.Equal(told(t, d), []string{"../b", "s/../y", "s/a/x"}) || paths(d) != "s s/a t" {
		t.Errorf("%v, %s", err, paths(d))
	}
	if _, err := c.With("../b", []byte(group), Limits{}); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if len(told(t, c)) != 4 {
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
				inArray = inArray || number[a] == 1 && checkPath(a) == nil && below(path, a) && !belowAny(a, arrays, number)
			}
			if number[path] > 1 || checkPath(path) != nil || inArray {
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
		if slices.Sort(got); !slices.Equal(told(t, g.Consolidated), refused) || !slices.Equal(got, sound) {
			t.Fatalf("%q: there are %q, refused are %q; want %q and %q", doc, got, told(t, g.Consolidated), sound, refused)
		}
	})
}

// belowAny reports whether a path lies below an array that is listed only once.
func belowAny(path string, arrays map[string]bool, number map[string]int) bool {
	for a := range arrays {
		if number[a] == 1 && below(path, a) {
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
	if c := mustGroup(t, consolidatedDoc(entries...)).Consolidated; c.Len() != 0 || len(told(t, c)) != 50000 {
		t.Error(c.Len())
	}
}
