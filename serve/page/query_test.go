// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"

	"varve.dev/zarr/grid"
)

// FuzzQuery parses queries, whose numbers are within the limits then.
func FuzzQuery(f *testing.F) {
	for _, raw := range []string{
		"node=d/a&y=1&x=2&at=0,-,-&box=0:3,4:5&size=10,20&decode=1", "index=1,2,3&part=real&field=a", "to=[3,4]&from=1&max=5", "to=7", "axis=63&limit=3&find=x&after=y",
		"size=4096,4096", "box=3:2", "at=-1", "index=9999999999999999999", "y=+1", "x=1&x=2", "%", "a;b", "points=0", "count=1000000", "method=mean&inner=1", "box=:", "at=,,",
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parse(raw)
		if err != nil {
			return
		}
		if len(raw) > mostQuery || q.height < 1 || q.width < 1 || q.height*q.width > mostPixels || q.max < 1 || q.max > mostMax || q.limit > mostMax || q.from < 0 || q.from > maxIndex || q.last < -1 {
			t.Fatalf("%+v", q)
		}
		for _, axis := range []int{q.y, q.x, q.axis} {
			if axis < -1 || axis >= grid.MaxRank {
				t.Fatalf("axis %d", axis)
			}
		}
		for _, list := range [][]int64{q.at, q.index} {
			for _, at := range list {
				if at < -1 || at > maxIndex || len(list) > grid.MaxRank {
					t.Fatalf("%+v", q)
				}
			}
		}
		for _, at := range q.index {
			if at < 0 {
				t.Fatalf("%+v", q)
			}
		}
		for _, side := range q.box {
			if side.Start < 0 || side.Stop < side.Start || side.Stop > maxIndex || len(q.box) > grid.MaxRank {
				t.Fatalf("%+v", q)
			}
		}
	})
}

// TestNatural compares names.
func TestNatural(t *testing.T) {
	order := []string{"", "01", "1", "2", "10", "a", "a2", "a2b", "a10", "a10b", "b"}
	for i, a := range order {
		for k, b := range order {
			if got := natural(a, b); (got < 0) != (i < k) || (got > 0) != (i > k) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}

// TestThin finds how many units are left out.
func TestThin(t *testing.T) {
	for _, c := range []struct {
		ny, nx int
		most   int64
	}{{1, 1, 1}, {10, 10, 100}, {10, 10, 99}, {4096, 4096, 2048}, {1, 4096, 7}, {3, 2, 1}} {
		ky, kx := thin(c.ny, c.nx, c.most)
		if n := int64((c.ny+ky-1)/ky) * int64((c.nx+kx-1)/kx); n > c.most || (ky > 1 || kx > 1) && int64(c.ny*c.nx) <= c.most {
			t.Errorf("%+v: %d, %d leave %d", c, ky, kx, n)
		}
	}
}
