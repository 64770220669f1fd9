// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/coding"
)

// TestGroups compares how wants are put together with a model: a want joins those before
// it unless the gap is too wide or they have too many bytes then: where what may be held
// does not suffice for all, half of it is left for the next.
func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) want {
			return want{off: rapid.Int64Range(0, 200).Draw(t, "offset"), n: rapid.Int64Range(0, 30).Draw(t, "length")}
		}), 1, 20).Draw(t, "wants")
		slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.off, b.off) })
		work := &coding.Work{
			Gap: rapid.Int64Range(0, 20).Draw(t, "gap"), Span: rapid.Int64Range(1, 60).Draw(t, "span"), Bytes: rapid.SampledFrom([]int64{2, 40, 1 << 30}).Draw(t, "bytes"),
		}
		d := &decoder{work: work}
		for rest := wants; len(rest) > 0; {
			most := min(work.Span, work.Bytes)
			if last := rest[len(rest)-1]; last.off+last.n-rest[0].off > work.Bytes {
				most = min(work.Span, work.Bytes/2)
			}
			n, stop := d.group(rest)
			end := rest[0].off + rest[0].n
			same := 1
			for _, w := range rest[1:] {
				if w.off-end > work.Gap || max(end, w.off+w.n)-rest[0].off > max(most, rest[0].n) {
					break
				}
				end = max(end, w.off+w.n)
				same++
			}
			if n != same || stop != end {
				t.Fatalf("%v: %d wants up to byte %d, want %d up to %d", rest, n, stop, same, end)
			}
			for _, w := range rest[:n] {
				if _, ok := (stretch{off: rest[0].off, data: make([]byte, stop-rest[0].off)}).holds(w.off, w.n); !ok {
					t.Fatalf("the bytes from %d to %d do not hold %v", rest[0].off, stop, w)
				}
			}
			rest = rest[n:]
		}
	})
}

// TestGroupTable has the cases that a glance can check.
func TestGroupTable(t *testing.T) {
	for _, tt := range []struct {
		name      string
		gap, span int64
		wants     []want
		groups    []int
	}{
		{"side by side", 0, 100, []want{{off: 0, n: 10}, {off: 10, n: 10}, {off: 20, n: 5}}, []int{3}},
		{"a byte between", 0, 100, []want{{off: 0, n: 10}, {off: 11, n: 10}}, []int{1, 1}},
		{"a byte between is allowed", 1, 100, []want{{off: 0, n: 10}, {off: 11, n: 10}}, []int{2}},
		{"just enough", 0, 20, []want{{off: 0, n: 10}, {off: 10, n: 10}, {off: 20, n: 1}}, []int{2, 1}},
		{"one is too long by itself", 5, 20, []want{{off: 0, n: 30}, {off: 30, n: 10}, {off: 40, n: 10}}, []int{1, 2}},
		{"the same bytes twice", 0, 10, []want{{off: 3, n: 10}, {off: 3, n: 10}}, []int{2}},
		{"one within another", 0, 10, []want{{off: 3, n: 10}, {off: 5, n: 2}, {off: 13, n: 1}}, []int{2, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &decoder{work: &coding.Work{Gap: tt.gap, Span: tt.span, Bytes: 1 << 20}}
			var groups []int
			for rest := tt.wants; len(rest) > 0; {
				n, _ := d.group(rest)
				groups = append(groups, n)
				rest = rest[n:]
			}
			if !slices.Equal(groups, tt.groups) {
				t.Errorf("groups of %v, want %v", groups, tt.groups)
			}
		})
	}
}
