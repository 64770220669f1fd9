// SPDX-License-Identifier: Apache-2.0

package columnar_test

import (
	"testing"

	"varve.dev/zarr/columnar"
)

// TestType compares the names of types with those that Arrow gives them.
func TestType(t *testing.T) {
	list := columnar.Type{Kind: columnar.List, Element: &columnar.Field{Type: columnar.Type{Kind: columnar.Float32}}}
	for want, got := range map[string]columnar.Type{
		"bool":                  {Kind: columnar.Bool},
		"uint64":                {Kind: columnar.Uint64},
		"date32":                {Kind: columnar.Date},
		"timestamp[ns]":         {Kind: columnar.Timestamp, Unit: columnar.Nanosecond},
		"timestamp[ms, tz=UTC]": {Kind: columnar.Timestamp, Unit: columnar.Millisecond, UTC: true},
		"duration[s]":           {Kind: columnar.Duration},
		"time64[us]":            {Kind: columnar.Time, Unit: columnar.Microsecond},
		"fixed_size_binary[3]":  {Kind: columnar.FixedBinary, Width: 3},
		"decimal128(10, 2)":     {Kind: columnar.Decimal, Precision: 10, Scale: 2},
		"list<float32>":         list,
		"Kind(0)":               {},
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	}
}
