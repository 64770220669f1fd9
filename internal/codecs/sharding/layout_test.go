// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"fmt"
	"slices"
	"strings"
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

// orders are what zarr-python 3.4.1 writes as "morton", "lexicographic" and
// "colexicographic".
var orders = []struct {
	chunks []int64
	order  codec.Order
	want   string // coordinates of the inner chunks one after the other
}{
	{[]int64{4, 4}, codec.Morton, "00 10 01 11 20 30 21 31 02 12 03 13 22 32 23 33"},
	{[]int64{4, 4}, codec.Fortran, "00 10 20 30 01 11 21 31 02 12 22 32 03 13 23 33"},
	{[]int64{4, 4}, codec.C, "00 01 02 03 10 11 12 13 20 21 22 23 30 31 32 33"},
	{[]int64{3, 5}, codec.Morton, "00 10 01 11 20 21 02 12 03 13 22 23 04 14 24"},
	{[]int64{2, 3, 2}, codec.Morton, "000 100 010 110 001 101 011 111 020 120 021 121"},
	{[]int64{2, 3, 2}, codec.Fortran, "000 100 010 110 020 120 001 101 011 111 021 121"},
	{[]int64{5}, codec.Morton, "0 1 2 3 4"},
	{[]int64{5}, codec.Fortran, "0 1 2 3 4"},
	{[]int64{1, 1, 1}, codec.Morton, "000"},
	{[]int64{1, 3}, codec.Morton, "00 01 02"},
	{[]int64{}, codec.Morton, ""},
}

// TestOrder compares the orders with tables, in which the inner chunks of a shard that is
// written stand indeed.
func TestOrder(t *testing.T) {
	for _, tt := range orders {
		t.Run(fmt.Sprint(tt.chunks, tt.order), func(t *testing.T) {
			rank := len(tt.chunks)
			inner := slices.Repeat([]int64{1}, rank)
			c := newCoder(t, sharded(inner, jsonValues, jsonIndex, "end"), rank, codec.Environment{Order: tt.order})
			l := newLayout(t, c, tt.chunks...)
			shard := written(t, c, tt.chunks)
			x, err := c.indexOf(l, shard)
			if err != nil {
				t.Fatal(err)
			}
			places := make([]string, l.n)
			for k := range l.n {
				off, n, stored, err := x.span(k)
				if err != nil || !stored || n != 2 {
					t.Fatalf("inner chunk %d: %d bytes (%v)", k, n, err)
				}
				places[off/2] = strings.Trim(strings.ReplaceAll(fmt.Sprint(l.place(nil, k)), " ", ""), "[]")
			}
			if got := strings.Join(places, " "); got != tt.want {
				t.Errorf("stored %s\nwant   %s", got, tt.want)
			}
		})
	}
}

// written returns a shard that is full.
func written(t testing.TB, c *coder, shape []int64) []byte {
	t.Helper()
	n := 1
	for _, l := range shape {
		n *= int(l)
	}
	shard, err := c.Encode(nil, codec.Block{Shape: shape, Data: values(n)})
	if err != nil {
		t.Fatal(err)
	}
	return shard
}

// TestOrderModel compares the orders with sorting by their definition.
func TestOrderModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		chunks := rapid.SliceOfN(rapid.Int64Range(1, 9), 0, 4).Draw(r, "chunks")
		order := rapid.SampledFrom([]codec.Order{codec.Morton, codec.C, codec.Fortran}).Draw(r, "order")
		c := newCoder(t, sharded(slices.Repeat([]int64{1}, len(chunks)), jsonValues, jsonIndex, "end"), len(chunks), codec.Environment{Order: order})
		l := newLayout(t, c, chunks...)
		var want []int64
		for k := range l.n {
			want = append(want, k)
		}
		slices.SortFunc(want, func(a, b int64) int { return compare(order, l.place(nil, a), l.place(nil, b)) })
		var got []int64
		d := editor{coder: c, layout: l}
		d.each(func(k int64) error { got = append(got, k); return nil })
		if !slices.Equal(got, want) {
			r.Fatalf("%v of %v: %v, want %v", order, chunks, got, want)
		}
	})
}

// compare compares coordinates as an order has them.
func compare(order codec.Order, a, b []int64) int {
	switch order {
	case codec.C:
		return slices.Compare(a, b)
	case codec.Fortran:
		slices.Reverse(a)
		slices.Reverse(b)
		return slices.Compare(a, b)
	}
	for bit := 62; bit >= 0; bit-- {
		for axis := len(a) - 1; axis >= 0; axis-- {
			if x, y := a[axis]>>bit&1, b[axis]>>bit&1; x != y {
				return int(x - y)
			}
		}
	}
	return 0
}
