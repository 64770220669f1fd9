// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// drawn returns references as files have them, and some that no file would have.
func drawn(r *rand.Rand, n int) references {
	refs := makeReferences(n)
	end := map[uint32]uint64{}
	for i := range n {
		if r.IntN(10) == 0 {
			continue // not stored
		}
		x := reference{uint32(1 + i/7), end[uint32(1+i/7)], uint64(r.IntN(1000))}
		if r.IntN(5) == 0 {
			x = reference{r.Uint32(), r.Uint64() >> 2, r.Uint64() >> 2}
		}
		if x.source == 0 {
			x = reference{}
		}
		end[x.source] = x.offset + x.length
		refs.set(i, x)
	}
	return refs
}

func TestBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 3000; n = n*3/2 + 1 {
		want := drawn(r, n)
		data := appendBlock([]byte("x"), want)
		got, err := parseBlock(data[1:], n)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d references: %v", n, err)
		}
		for _, other := range []int{n - 1, n + 1} {
			if _, err := parseBlock(data[1:], other); err == nil && other > 0 {
				t.Errorf("%d references were decoded as %d", n, other)
			}
		}
	}
}

// TestBlockSize stores the chunks of a file one after the other, as most files have them.
func TestBlockSize(t *testing.T) {
	refs := makeReferences(mostReferences)
	for i := range refs.len() {
		refs.set(i, reference{1, uint64(1000 + i*4000), 4000})
	}
	if n := len(appendBlock(nil, refs)); n > 100 {
		t.Errorf("%d references of one file take %d bytes", refs.len(), n)
	}
}

func TestSources(t *testing.T) {
	want := []Source{
		{Location: "../data/2020-01.nc", Size: 1 << 40, Modified: 1_600_000_000_000_000_001},
		{Location: "../data/2020-02.nc", Version: `"etag"`},
		{Location: "s3://bucket/ü", Modified: -5},
		{Location: ""},
	}
	data := appendSources(nil, want)
	got, err := parseSources(data, len(want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v (%v)", got, err)
	}
	if _, err := parseSources(data, len(want)+1); err == nil {
		t.Error("more sources than there are")
	}
	if _, err := parseSources(data, len(want)-1); err == nil {
		t.Error("fewer sources than there are")
	}
}

// FuzzBlock decodes arbitrary blocks. What is decoded has the same references when it is
// encoded again.
func FuzzBlock(f *testing.F) {
	f.Add(appendBlock(nil, drawn(rand.New(rand.NewPCG(3, 4)), 50)), 50)
	f.Add([]byte{}, 3)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		refs, err := parseBlock(data, n)
		if err != nil {
			return
		}
		again, err := parseBlock(appendBlock(nil, refs), n)
		if err != nil || !reflect.DeepEqual(again, refs) {
			t.Errorf("%v", err)
		}
	})
}

// FuzzSources does the same for sources.
func FuzzSources(f *testing.F) {
	f.Add(appendSources(nil, []Source{{Location: "a/b", Size: 3}, {Location: "a/c", Version: "v"}}), 2)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		list, err := parseSources(data, n)
		if err != nil {
			return
		}
		again, err := parseSources(appendSources(nil, list), n)
		if err != nil || !reflect.DeepEqual(again, list) {
			t.Errorf("%v: %v, %v", err, again, list)
		}
	})
}
