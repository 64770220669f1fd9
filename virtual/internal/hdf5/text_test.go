// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/scanned"
	"varve.dev/zarr/virtual/scan"
)

// TestTexts compares text of variable length, which is copied from the global heap.
func TestTexts(t *testing.T) {
	var all struct {
		Files map[string]struct {
			Variables map[string]struct{ Values []string }
		}
	}
	text, err := os.ReadFile("../../testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range scanned.Files(t, "hdf5") {
		for path, v := range all.Files[name].Variables {
			if v.Values == nil {
				continue
			}
			n++
			set, err := scanned.Scan(t, name, Scan)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(set.Arrays, func(a *scan.Array) bool { return a.Path == path })
			got, err := scanned.Values(t, set.Arrays[i], nil)
			if want := strings.Join(v.Values, "\x00"); err != nil || string(got) != want {
				t.Errorf("%s: %s is %q, want %q: %v", name, path, got, want, err)
			}
		}
	}
	if n != 7 {
		t.Errorf("%d variables with text, want 7", n)
	}
}

// vlenText is the type of text of variable length.
var vlenText = parts(byte(0x19), byte(1), byte(1), byte(0), uint32(16), byte(0x13), byte(0x10), byte(1), byte(0), uint32(1), "")

// TestLongText refuses text that is too long to be copied.
func TestLongText(t *testing.T) {
	for _, c := range []struct {
		length  int
		texts   int
		refused bool
	}{{1 << 19, 2, false}, {1 << 19, 3, true}, {1, 1 << 16, false}, {1, 1<<16 + 1, true}} {
		b := newBuilder()
		heap := b.put("GCOL", byte(1), "\x00\x00\x00", uint64(16+16+c.length), uint16(1), "\x01\x00\x00\x00\x00\x00", uint64(c.length), strings.Repeat("a", c.length))
		data := b.put("")
		for range c.texts {
			b.put(uint32(c.length), heap, uint32(1))
		}
		n := uint64(c.texts)
		a := scanOne(t, b.one(space([]uint64{n}, []uint64{n}), msg(kindDatatype, vlenText), msg(kindLayout, byte(3), byte(layoutContiguous), data, 16*n)))
		if refused := a.Refused != nil; refused != c.refused {
			t.Errorf("%d texts of %d bytes: %v", c.texts, c.length, a.Refused)
		} else if !refused && len(a.Chunks[0].Data) != 4+c.texts*(4+c.length) {
			t.Errorf("%d texts of %d bytes are %d", c.texts, c.length, len(a.Chunks[0].Data))
		}
	}
}
