// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
)

// TestLayout has the numbers of some layouts.
func TestLayout(t *testing.T) {
	clipped := codec.Environment{Unaligned: true}
	for _, tt := range []struct {
		name, configuration    string
		shape                  []int64
		env                    codec.Environment
		chunks                 []int64
		n, index, inner, whole int64
	}{
		{"four inner chunks", sharded([]int64{2}, jsonBytes, jsonIndex, "end"), []int64{8}, codec.Environment{}, []int64{4}, 4, 68, 4, 84},
		{"without checksum", sharded([]int64{2}, jsonBytes, jsonBig, "start"), []int64{8}, codec.Environment{}, []int64{4}, 4, 64, 4, 80},
		{"a plane", sharded([]int64{2, 5}, jsonBytes, jsonIndex, "end"), []int64{6, 10}, codec.Environment{}, []int64{3, 2}, 6, 100, 20, 220},
		{"rank 0", sharded(nil, jsonBytes, jsonIndex, "end"), nil, codec.Environment{}, nil, 1, 20, 2, 22},
		{"clipped", sharded([]int64{8}, jsonBytes, jsonIndex, "end"), []int64{10}, clipped, []int64{2}, 2, 36, 16, 68},
		{"one that is longer than the shard", sharded([]int64{80}, jsonBytes, jsonIndex, "end"), []int64{10}, clipped, []int64{1}, 1, 20, 20, 40},
		{"lists", `{"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,[3,3]]]}},"codecs":[` + jsonBytes + `],"index_codecs":[` + jsonIndex + `]}`,
			[]int64{10}, clipped, []int64{4}, 4, 68, 6, 92},
		{"nested", sharded([]int64{4}, nested(sharded([]int64{2}, jsonBytes, jsonIndex, "end")), jsonIndex, "end"), []int64{8}, codec.Environment{}, []int64{2}, 2, 36, 8, 2*(8+36) + 36},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCoder(t, tt.configuration, len(tt.shape), tt.env)
			l := newLayout(t, c, tt.shape...)
			if !slices.Equal(l.chunks, tt.chunks) || l.n != tt.n || l.index != tt.index || l.inner != tt.inner || l.packed != tt.whole {
				t.Errorf("%v: %d inner chunks of %d bytes, index %d, together %d", l.chunks, l.n, l.inner, l.index, l.packed)
			}
		})
	}
}

// TestPlaces sees that place and number are each other's inverse, and count in C order.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &layout{chunks: rapid.SliceOfN(rapid.Int64Range(1, 7), 0, 4).Draw(r, "chunks"), n: 1}
		for _, n := range l.chunks {
			l.n *= n
		}
		var before []int64
		for k := range l.n {
			at := l.place([]int64{9}, k)[1:]
			if l.number(at) != k {
				r.Fatalf("%v of %v is number %d, want %d", at, l.chunks, l.number(at), k)
			}
			if k > 0 && slices.Compare(before, at) >= 0 {
				r.Fatalf("%v comes behind %v", at, before)
			}
			before = at
		}
	})
}
