// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestTrail publishes and fences a document many times. The trail has the last
// publications and fence, whatever mark it has besides, and no document comes twice.
func TestTrail(t *testing.T) {
	document, seen := []byte(`{"a":1}`), map[string]bool{}
	on := trailOf(document).last()
	var ids []writeID
	for i := range 3 * mostPublished {
		fence, id := newID(), newID()
		raised := withFence(withMark(document), fence)
		if got := trailOf(raised); got.fence != fence || got.last() != trailOf(document).last() || !got.warned || !Warned(raised) {
			t.Fatalf("the trail of a fence is %+v", got)
		}
		document = withPublication([]byte(`{"a":1} `), raised, id)
		for _, d := range [][]byte{raised, document} {
			if seen[string(d)] || !Same(d, []byte(`{"a":1}`)) || !json.Valid(d) {
				t.Fatalf("the document is %q", d)
			}
			seen[string(d)] = true
		}
		ids = append(ids, id)
		got := trailOf(document)
		if got.last() != id || got.fence != 0 || got.warned || Warned(document) {
			t.Fatalf("the trail of a publication is %+v", got)
		}
		if want := min(i+2, mostPublished); len(got.published) != want {
			t.Errorf("%d publications, want %d", len(got.published), want)
		}
	}
	if longest := withFence(withMark(document), newID()); len(longest)-len(withoutTrail(longest)) != mostTrail {
		t.Errorf("the document has %d bytes, and its trail at most %d", len(longest), mostTrail)
	}
	now, last := trailOf(document), len(ids)-1
	for name, c := range map[string]struct {
		id, on writeID
		want   fate
	}{
		"the last one":                    {ids[last], ids[last-1], fateDone},
		"one before it":                   {ids[last-3], ids[last-4], fateDone},
		"another one, on the last one":    {newID(), ids[last], fateOpen},
		"another one, on one before":      {newID(), ids[last-3], fateLost},
		"another one, on a forgotten one": {newID(), ids[0], fateUnknown},
		"a forgotten one":                 {ids[0], on, fateUnknown},
	} {
		if got := now.fateOf(c.id, c.on); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestTrailOfOthers checks documents whose white space at the end is no trail: of other
// programs, and of older versions, which counted fences by newlines.
func TestTrailOfOthers(t *testing.T) {
	for name, end := range map[string]string{
		"none": "", "newlines": "\n\n\n", "a mark and newlines": " \n\n", "of Windows": "\r\n",
		"a short line": "\n" + strings.Repeat(" ", lengthOfLine-2) + "\t\n", "no tab": "\n" + strings.Repeat(" ", lengthOfLine) + "\n",
		"other bytes": "\n" + strings.Repeat("\r", lengthOfLine-1) + "\t\n",
	} {
		document := []byte("{}" + end)
		got := trailOf(document)
		if len(got.published) != 1 || got.last() != idOf([]byte("{}")) || got.fence != 0 {
			t.Errorf("%s: %+v", name, got)
		}
		next := trailOf(withPublication([]byte("{}"), document, 7))
		if len(next.published) != 2 || next.published[0] != got.last() || next.last() != 7 {
			t.Errorf("%s: then %+v", name, next)
		}
	}
	// Another program rewrites the document: what came before is not known.
	if got := trailOf([]byte(`{"b":1}`)).fateOf(1, 2); got != fateUnknown {
		t.Errorf("after another program: %v", got)
	}
	if old := []byte("{}\n"); !bytes.Equal(withoutTrail(old), []byte("{}")) {
		t.Errorf("the body is %q", withoutTrail(old))
	}
}

// TestRenewed renews a document again and again: it never has bytes that it had before.
func TestRenewed(t *testing.T) {
	document, seen := []byte("{}\n"), map[string]bool{}
	for range 100 {
		seen[string(document)] = true
		document = Renewed(document)
		if !Same(document, []byte("{}")) || len(document) > 3*lengthOfLine+8 {
			t.Fatalf("%q", document)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d documents, want 100", len(seen))
	}
}
