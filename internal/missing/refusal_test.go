// SPDX-License-Identifier: Apache-2.0

package missing

import (
	"testing"

	"varve.dev/zarr/dtype"
)

// TestRefused has attributes that xarray 2026.9 was seen to open, and others that it was
// seen not to.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		typ                   dtype.Type
		unsigned, raw, wanted string
		refused               bool
	}{
		{dtype.Of[float32](), "", "-99.5", `"AAAAAADgWMA="`, true},
		{dtype.Of[float64](), "", `"NaN"`, `"AAAAAAAA+H8="`, true},
		{dtype.Of[float64](), "", `"AAAAAAAA+H8="`, "", false},
		{dtype.Of[float64](), "", `[1.0]`, `"AAAAAAAA8D8="`, true},
		{dtype.Of[float64](), "", `[1.0, 2.0]`, "", true},
		{dtype.Of[int16](), "", `[-99]`, "-99", true},
		{dtype.Of[complex64](), "", "[1,2]", `["AAAAAAAA8D8=","AAAAAAAAAEA="]`, true},
		{dtype.Of[complex64](), "", `["AAAAAAAA8D8=","AAAAAAAAAEA="]`, "", false},
		{dtype.Of[int16](), "", "-99", "", false},
		{dtype.Of[int16](), "", `"-99"`, "", true},
		{dtype.Of[bool](), "", "0", "", false},
		{dtype.Of[uint8](), `"false"`, "255", "-1", true},
		{dtype.Of[uint8](), `"false"`, "-1", "", false},
		{dtype.Of[uint8](), `"true"`, "255", "", false},
		{dtype.Of[string](), "", `""`, "", true},
	} {
		reason, wanted := Refused(c.typ, []byte(c.unsigned), []byte(c.raw))
		if (reason != "") != c.refused || string(wanted) != c.wanted {
			t.Errorf("%s %s: %q, %s", c.typ, c.raw, reason, wanted)
		}
	}
}
