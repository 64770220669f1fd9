// SPDX-License-Identifier: Apache-2.0

package calendar

import (
	"slices"
	"testing"
)

// TestPredict predicts the end of the last month from days with gaps.
func TestPredict(t *testing.T) {
	days, err := ParseUnits("days since 2021-01-01", Standard)
	if err != nil {
		t.Fatal(err)
	}
	from := func(first, last int64, without ...int64) (list []int64) {
		for d := first; d <= last; d++ {
			if !slices.Contains(without, d) {
				list = append(list, d)
			}
		}
		return list
	}
	for _, c := range []struct {
		name   string
		values []int64
		unit   Unit
		want   []int64
	}{
		{"no gap", from(0, 4), Month, []int64{31}},
		{"a gap", from(0, 9, 8), Month, []int64{30}},
		{"a gap and February", from(0, 35, 8), Month, []int64{30, 28}},
		{"ends with its month", from(0, 30, 8), Month, []int64{30}},
		{"a gap at the end of a month", from(0, 33, 29, 30, 31), Month, []int64{29, 27}},
		{"a year", from(0, 40, 8), Year, []int64{364}},
		{"one value", from(7, 7), Month, []int64{1}},
		{"long steps", []int64{0, 100, 200, 500}, Year, []int64{3, 3}},
		{"none", nil, Month, nil},
	} {
		b, err := Predict(c.values, days, c.unit)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n, _ := b.Len()
		if got, err := b.Covering(n); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := Predict([]int64{3, 2}, days, Month); err == nil {
		t.Error("times that fall: no error")
	}
}
