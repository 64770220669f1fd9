// SPDX-License-Identifier: Apache-2.0

package calendar

import "testing"

func BenchmarkDate(b *testing.B) {
	for _, c := range allCalendars {
		b.Run(c.String(), func(b *testing.B) {
			b.ReportAllocs()
			for n := int64(0); b.Loop(); n++ {
				c.date(n % 1e6)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	s, err := ParseSteps("1940-01-01", "1h", "")
	if err != nil {
		b.Fatal(err)
	}
	months := s.Buckets(Month)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		if _, err := months.Next(i % 1e6); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEdgesMillionHours(b *testing.B) {
	u := units(b, "hours since 1900-01-01", Standard)
	values := count(0, 1e6)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Edges(values, u, Month); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkContinueMillionHours(b *testing.B) {
	u := units(b, "days since 1900-01-01", Standard)
	values := make([]float64, 1e6)
	for i := range values {
		values[i] = float64(i) / 24
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Continue(values, u); err != nil {
			b.Fatal(err)
		}
	}
}
