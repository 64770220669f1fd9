// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		unit      unit
		values    []float64
		low, high float64
		ticks     []float64
	}{
		{counted, []float64{100, 1000, 1e5}, 100, 1e5, []float64{100, 1e3, 1e4, 1e5}},
		{timed, []float64{3e-6, 7e-4}, 2e-6, 1e-3, []float64{1e-5, 1e-4, 1e-3}},
		{timed, []float64{0.03, 0.09}, 0.02, 0.1, []float64{0.02, 0.05, 0.1}},
		{rated, []float64{0.4, 5.5}, 0.2, 10, []float64{0.2, 0.5, 1, 2, 5, 10}},
		{rated, []float64{1, 1}, 1, 2, []float64{1, 2}},
		{doubled, []float64{1, 2, 128}, 1, 128, []float64{1, 2, 4, 8, 16, 32, 64, 128}},
		{doubled, []float64{5}, 4, 8, []float64{4, 8}},
		{sized, []float64{1 << 14, 1 << 24}, 1 << 14, 1 << 24, []float64{1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24}},
		{sized, []float64{1 << 22, 1 << 30}, 1 << 22, 1 << 30, []float64{1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30}},
		{timed, []float64{0, math.NaN(), math.Inf(1), 0.5}, 0.5, 1, []float64{0.5, 1}},
		{timed, nil, 0, 0, nil},
	} {
		s := c.unit.fit(c.values)
		if s.low != c.low || s.high != c.high || !slices.Equal(s.ticks, c.ticks) {
			t.Errorf("%s %v: %v to %v with ticks %v, want %v to %v with %v", c.unit, c.values, s.low, s.high, s.ticks, c.low, c.high, c.ticks)
		}
	}
}

// TestFit checks that values are on the scale, and that the number of ticks is
// reasonable.
func TestFit(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		u := []unit{counted, doubled, sized, timed, rated}[random.IntN(5)]
		first, values := 14*random.Float64()-8, make([]float64, 1+random.IntN(6))
		for i := range values {
			values[i] = math.Pow(10, first+6*random.Float64())
		}
		s := u.fit(values)
		for _, v := range values {
			if at := s.at(v); !(at > -1e-9 && at < 1+1e-9) {
				t.Fatalf("%s: %v is at %v of %+v", u, v, at, s)
			}
		}
		if n := len(s.ticks); n < 2 || n > 9 || !slices.IsSorted(s.ticks) || s.ticks[0] < s.low || s.ticks[n-1] > s.high {
			t.Fatalf("%s %v: ticks %v from %v to %v", u, values, s.ticks, s.low, s.high)
		}
	}
}

func TestSpell(t *testing.T) {
	for _, c := range []struct {
		unit  unit
		value float64
		want  string
	}{
		{counted, 100, "100"}, {counted, 1000, "1,000"}, {doubled, 1234567, "1,234,567"}, {sized, 512, "512 B"}, {sized, 16 << 10, "16 KiB"},
		{sized, 1 << 20, "1 MiB"}, {sized, 2 << 30, "2 GiB"}, {sized, 3 << 19, "1.5 MiB"}, {timed, 2e-5, "20 µs"}, {rated, 0.05, "0.05"},
		{rated, 12.34, "12.3"},
	} {
		if got := c.unit.spell(c.value); got != c.want {
			t.Errorf("%s %v is spelled %q, want %q", c.unit, c.value, got, c.want)
		}
	}
}
