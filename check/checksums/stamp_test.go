// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// TestStamp compares what a part says of a value with what a listing says.
func TestStamp(t *testing.T) {
	began := time.Unix(2000000000, 0)
	old, later, just := began.Add(-time.Hour), began.Add(-time.Hour+1), began.Add(-time.Second)
	v1, v2, weak := store.MakeVersion("1"), store.MakeVersion("2"), store.MakeVersion(`W/"1"`)
	for name, tt := range map[string]struct {
		old, fresh store.Info
		want       bool
	}{
		"the same version":                 {store.Info{Size: 1, Version: v1, Modified: old}, store.Info{Size: 1, Version: v1, Modified: later}, true},
		"another size":                     {store.Info{Size: 1, Version: v1}, store.Info{Size: 2, Version: v1}, false},
		"another version":                  {store.Info{Size: 1, Version: v1, Modified: old}, store.Info{Size: 1, Version: v2, Modified: old}, false},
		"a version just written":           {store.Info{Size: 1, Version: v1, Modified: just}, store.Info{Size: 1, Version: v1, Modified: just}, true},
		"a weak version":                   {store.Info{Size: 1, Version: weak, Modified: old}, store.Info{Size: 1, Version: weak, Modified: old}, true},
		"a weak version just written":      {store.Info{Size: 1, Version: weak, Modified: just}, store.Info{Size: 1, Version: weak, Modified: just}, false},
		"a file on another machine":        {store.Info{Size: 1, Version: v1, Modified: old, FileTime: old}, store.Info{Size: 1, Version: v2, Modified: old, FileTime: old}, true},
		"a file that was written":          {store.Info{Size: 1, Version: v1, Modified: old, FileTime: old}, store.Info{Size: 1, Version: v2, Modified: later, FileTime: old}, false},
		"a file just written":              {store.Info{Size: 1, Version: v1, Modified: just, FileTime: old}, store.Info{Size: 1, Version: v2, Modified: just, FileTime: old}, false},
		"only times":                       {store.Info{Size: 1, Modified: old}, store.Info{Size: 1, Modified: old}, true},
		"only times, and another one":      {store.Info{Size: 1, Modified: old}, store.Info{Size: 1, Modified: later}, false},
		"only times, just written":         {store.Info{Size: 1, Modified: just}, store.Info{Size: 1, Modified: just}, false},
		"nothing known":                    {store.Info{Size: 1}, store.Info{Size: 1}, true},
		"a size that the listing lacks":    {store.Info{Size: 1}, store.Info{Size: -1}, false},
		"a version that the part lacks":    {store.Info{Size: 1, Modified: old}, store.Info{Size: 1, Version: v1, Modified: old}, true},
		"a time that only one of them has": {store.Info{Size: 1, Modified: old}, store.Info{Size: 1, Version: v1}, true},
	} {
		e := store.Entry{Size: tt.fresh.Size, Version: tt.fresh.Version, Modified: tt.fresh.Modified, FileTime: tt.fresh.FileTime}
		if got := stampOf(tt.old, began).holds(e); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPartsBounded stops at the largest number of values.
func TestPartsBounded(t *testing.T) {
	p := new(parts)
	for i, want := range []string{"", "", "more than 2 values"} {
		err := p.add(known{}, 2)
		if (err != nil) != (want != "") || err != nil && (zarr.KindOf(err) != "limit" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// TestPartsFind compares with a map, in which the last value of a key counts.
func TestPartsFind(t *testing.T) {
	for _, n := range []int{0, 1, 100, blockLength, 3*blockLength + 5} {
		p, want := new(parts), map[keyHash]int64{}
		for i := range n {
			v := known{key: hashOf(strconv.Itoa(i % (n/2 + 1)))}
			v.size = int64(i)
			if want[v.key] = v.size; p.add(v, n) != nil {
				t.Fatal("it is full")
			}
		}
		p.sort()
		for key, size := range want {
			if v := p.find(key); v == nil || v.size != size {
				t.Fatalf("of %d values: %+v, want %d", n, v, size)
			}
		}
		if v := p.find(hashOf("other")); v != nil || p.len() != n {
			t.Errorf("%+v, %d values", v, p.len())
		}
	}
}
