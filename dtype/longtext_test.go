// SPDX-License-Identifier: Apache-2.0

package dtype_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
)

// TestStructOfLongName has a field whose name is longer than any in use.
func TestStructOfLongName(t *testing.T) {
	for n, want := range map[int]error{1024: nil, 1025: dtype.ErrUnsupported, 1 << 20: dtype.ErrUnsupported} {
		_, err := dtype.StructOf(dtype.Field{Name: strings.Repeat("z", n), Type: dtype.Int8})
		if !errors.Is(err, want) || err != nil && len(err.Error()) > 200 {
			t.Errorf("%d bytes: %.1000v", n, err)
		}
	}
}

// TestParseFillLongText refuses a long text for a number, and reads the longest spelling.
func TestParseFillLongText(t *testing.T) {
	escaped := ""
	for _, c := range "0x3ff0000000000000" {
		escaped += fmt.Sprintf(`\u%04x`, c)
	}
	if elem, err := dtype.Float64.ParseFill([]byte(`"` + escaped + `"`)); err != nil || len(elem) != 8 {
		t.Errorf("%x, %v", elem, err)
	}
	if _, err := dtype.Float64.ParseFill([]byte(`"0x` + strings.Repeat("f", 1<<20) + `"`)); !errors.Is(err, dtype.ErrInvalid) || len(err.Error()) > 400 {
		t.Errorf("%.1000v", err)
	}
}
