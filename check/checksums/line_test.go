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
			if strings.HasPrefix(key, "./") {
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

// TestEscapedNames writes names that sha256sum escapes, in its form, and reads them.
func TestEscapedNames(t *testing.T) {
	digits := strings.Repeat("00", 32)
	for key, want := range map[string]string{
		"a/c/0": digits + "  a/c/0\n", "new\nline/0": `\` + digits + `  new\nline/0` + "\n", `back\n/0`: `\` + digits + `  back\\n/0` + "\n", "a\r": `\` + digits + `  a\r` + "\n",
	} {
		if got := line(key, [32]byte{}); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
		sums, err := read(strings.NewReader(want), 10)
		if _, found := sums[key]; err != nil || !found || len(sums) != 1 {
			t.Errorf("%q: %v, %v", key, sums, err)
		}
	}
}
