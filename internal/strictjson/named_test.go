// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFewNames compares the ways of finding a name that is given twice, among few names
// and among many.
func TestFewNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spellings := rapid.SampledFrom([]string{"a", `\u0061`, "b", "é", `\u00e9`, "", `\n`, "name", "names"})
		var doc strings.Builder
		for i, name := range rapid.SliceOfN(spellings, 1, 20).Draw(t, "names") {
			fmt.Fprintf(&doc, `%c"%s":%d`, "{,"[min(i, 1)], name, i)
		}
		s := &scanner{data: []byte(doc.String() + "}"), depth: 9}
		root := (&document{s.data}).value(0, len(s.data))
		root.members(func(name, _ Value) bool {
			s.keys = append(s.keys, s.key(int(name.start), int(name.end)))
			return true
		})
		if few, many := s.twiceAmongFew(s.keys), s.twiceAmongMany(s.keys); few != many {
			t.Fatalf("%s: twice at %d, or at %d", s.data, few, many)
		}
	})
}

func TestNamed(t *testing.T) {
	v := mustParse(t, `{"a": 1, "\u0062\n": 2, "": 3, "é": 4}`)
	var names, named []string
	for name := range v.Members() {
		names = append(names, name)
	}
	for name := range v.Named() {
		named = append(named, string(name))
	}
	if fmt.Sprint(names) != fmt.Sprint(named) || len(names) != 4 {
		t.Errorf("%q, and as bytes %q", names, named)
	}
}

// TestScannersForget parses documents in turn: what is left of one does not matter to the
// next.
func TestScannersForget(t *testing.T) {
	for range 3 {
		for doc, ok := range map[string]bool{`{"a": {"b": 1}}`: true, `{"a": {"b": `: false, `{"a": 1, "a": 2}`: false, `{"b": 1}`: true, `[[`: false} {
			if _, err := Parse([]byte(doc), Limits{Depth: 2}); (err == nil) != ok {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}
