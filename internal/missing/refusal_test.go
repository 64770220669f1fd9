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
		{dtype.Float32, "", "-99.5", `"AAAAAADgWMA="`, true},
		{dtype.Float64, "", `"NaN"`, `"AAAAAAAA+H8="`, true},
		{dtype.Float64, "", `"AAAAAAAA+H8="`, "", false},
		{dtype.Float64, "", `[1.0]`, `"AAAAAAAA8D8="`, true},
		{dtype.Float64, "", `[1.0, 2.0]`, "", true},
		{dtype.Int16, "", `[-99]`, "-99", true},
		{dtype.Complex64, "", "[1,2]", `["AAAAAAAA8D8=","AAAAAAAAAEA="]`, true},
		{dtype.Complex64, "", `["AAAAAAAA8D8=","AAAAAAAAAEA="]`, "", false},
		{dtype.Int16, "", "-99", "", false},
		{dtype.Int16, "", `"-99"`, "", true},
		{dtype.Bool, "", "0", "", false},
		{dtype.Uint8, `"false"`, "255", "-1", true},
		{dtype.Uint8, `"false"`, "-1", "", false},
		{dtype.Uint8, `"true"`, "255", "", false},
		{dtype.String, "", `""`, "", true},
	} {
		reason, wanted := Refused(c.typ, []byte(c.unsigned), []byte(c.raw))
		if (reason != "") != c.refused || string(wanted) != c.wanted {
			t.Errorf("%s %s: %q, %s", c.typ, c.raw, reason, wanted)
		}
	}
}
