// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"reflect"
	"slices"
	"testing"
)

// FuzzRecords parses records of any form. What is parsed is encoded and parsed again to
// the same.
func FuzzRecords(f *testing.F) {
	f.Add(AppendRecords(nil, []Record{
		{Index: []int64{0, 300}, Fold: Fold{1}, Stored: true, Version: 9}, {Index: []int64{1, 2}}, {Index: []int64{1, 3}, Stored: true},
	}), 2)
	f.Add([]byte(recordsMagic), 0)
	f.Fuzz(func(t *testing.T, data []byte, rank int) {
		rank = min(max(rank, 0), 8)
		records, err := ParseRecords(data, rank)
		if err != nil {
			return
		}
		again, err := ParseRecords(AppendRecords(nil, records), rank)
		if err != nil || len(again) != len(records) {
			t.Fatalf("%d records, then %d (%v)", len(records), len(again), err)
		}
		for i := range records {
			if records[i].Version != 0 && !reflect.DeepEqual(records[i], again[i]) {
				t.Fatalf("%+v, then %+v", records[i], again[i])
			}
		}
	})
}

// TestAnyRecord checks which of several records about one chunk may be about the value
// that is stored. Their order is that of clocks that may differ.
func TestAnyRecord(t *testing.T) {
	first, second, third := Fold{1}, Fold{2}, Fold{3}
	r := &Records{list: []numberedRecord{
		{3, first, true, 11}, {3, second, true, 12}, {3, third, false, 0},
		{4, first, true, 0}, {4, second, true, 0},
		{5, first, true, 11}, {5, second, false, 0}, {5, third, true, 11},
	}}
	for _, c := range []struct {
		number int64
		found  *entry
		want   []Fold
	}{
		{2, nil, nil}, {6, nil, nil}, {3, nil, []Fold{third}}, {3, &entry{digest: 11}, []Fold{first}}, {3, &entry{digest: 12}, []Fold{second}},
		{3, &entry{digest: 13}, nil}, {4, &entry{digest: 11}, []Fold{second}}, {4, nil, nil}, {5, &entry{digest: 11}, []Fold{first, third}},
	} {
		var got []Fold
		for n := range r.matching(c.number, c.found) {
			got = append(got, n.fold)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("chunk %d, stored %v: %v, want %v", c.number, c.found, got, c.want)
		}
	}
}
