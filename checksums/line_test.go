// SPDX-License-Identifier: Apache-2.0

package checksums

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// FuzzRead reads any text as a list: it is read, or refused with the number of a line,
// and what was read makes the same list again.
func FuzzRead(f *testing.F) {
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, text := range []string{"", sum + "  a/c/0\n", sum + " *./a\r\n", `\` + sum + `  a\nb` + "\n", sum + "  __varve/x\n", sum + " a", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sums, err := read(strings.NewReader(text), 1000)
		if err != nil {
			if !errors.Is(err, zarr.ErrInvalidArgument) && !errors.Is(err, zarr.ErrLimit) && !strings.Contains(err.Error(), "too long") {
				t.Fatal(err)
			}
			return
		}
		var list strings.Builder
		for key, sum := range sums {
			if strings.ContainsAny(key, "\n\r") || strings.HasPrefix(key, "./") {
				return // no key of a store
			}
			list.WriteString(line(key, sum))
		}
		again, err := read(strings.NewReader(list.String()), 1000)
		if err != nil || len(again) != len(sums) {
			t.Fatalf("%d values, then %d: %v", len(sums), len(again), err)
		}
		for key, sum := range sums {
			if again[key] != sum {
				t.Fatalf("%q has another sum", key)
			}
		}
	})
}
