// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/virtual"
)

// originOf sets how the field of a file came about: the type of the generating process,
// the significance of the reference time, the production status and the type of data.
func originOf(t *testing.T, dir, name string, process, significance, status, data byte) {
	t.Helper()
	file := filepath.Join(dir, name)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[section1+11], b[section1+19], b[section1+20] = significance, status, data
	section3 := section1 + int(binary.BigEndian.Uint32(b[section1:]))
	section4 := section3 + int(binary.BigEndian.Uint32(b[section3:]))
	b[section4+11] = process
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestOriginsOfFields joins fields that came about in other ways. Analyses and forecasts
// are one series, with a note; what is no state of the atmosphere is not joined to one.
func TestOriginsOfFields(t *testing.T) {
	for _, c := range []struct {
		name           string
		first, second  [4]byte
		refused, noted string
	}{
		{"the same", [4]byte{2, 1, 0, 1}, [4]byte{2, 1, 0, 1}, "", ""},
		{"analysis, then forecast", [4]byte{0, 0, 0, 0}, [4]byte{2, 1, 0, 1}, "", "generating_process"},
		{"control and perturbed", [4]byte{4, 1, 0, 3}, [4]byte{4, 1, 0, 4}, "", "type_of_data"},
		{"a test", [4]byte{2, 1, 0, 1}, [4]byte{2, 1, 1, 1}, "", "production_status"},
		{"unknown", [4]byte{2, 1, 0, 1}, [4]byte{255, 255, 255, 255}, "", "generating_process"},
		{"analysis error", [4]byte{0, 0, 0, 0}, [4]byte{7, 0, 0, 0}, "generating_process", ""},
		{"both errors", [4]byte{7, 0, 0, 0}, [4]byte{7, 0, 0, 0}, "", ""},
		{"observation", [4]byte{8, 3, 0, 7}, [4]byte{2, 3, 0, 7}, "generating_process", ""},
		{"a local process", [4]byte{2, 1, 0, 1}, [4]byte{200, 1, 0, 1}, "generating_process", ""},
		{"verifying time", [4]byte{2, 1, 0, 1}, [4]byte{2, 2, 0, 1}, "significance_of_reference_time", ""},
		{"radar", [4]byte{2, 1, 0, 1}, [4]byte{2, 1, 0, 7}, "type_of_data", ""},
	} {
		dir := t.TempDir()
		forecast(t, dir, "a", 0, 0, 50000)
		forecast(t, dir, "b", 6, 0, 50000)
		originOf(t, dir, "a", c.first[0], c.first[1], c.first[2], c.first[3])
		originOf(t, dir, "b", c.second[0], c.second[1], c.second[2], c.second[3])
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, "a", "b")
		if (err != nil) != (c.refused != "") || err != nil && (!errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			if notes := strings.Join(j.Notes(), "\n"); (notes != "") != (c.noted != "") || !strings.Contains(notes, c.noted) {
				t.Errorf("%s: %q", c.name, notes)
			}
		}
	}
}

// TestOrderOfFields joins fields of one time each. A time that is there already, or an
// earlier one, has a note, as in files with several times.
func TestOrderOfFields(t *testing.T) {
	dir := t.TempDir()
	for name, hours := range map[string]int{"f00": 0, "f00b": 0, "f06": 6, "f12": 12} {
		forecast(t, dir, name, hours, 0, 50000)
	}
	for _, c := range []struct {
		files []string
		notes int
	}{
		{[]string{"f00", "f06", "f12"}, 0},
		{[]string{"f00", "f00b"}, 1},
		{[]string{"f06", "f00"}, 1},
		{[]string{"f12", "f06", "f00"}, 1}, // falling
		{[]string{"f00", "f12", "f06"}, 1},
	} {
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, c.files...)
		if err != nil {
			t.Fatal(err)
		}
		notes := slices.DeleteFunc(j.Notes(), func(note string) bool { return !strings.Contains(note, "does not begin after the end of") })
		if len(notes) != c.notes {
			t.Errorf("%v: %q", c.files, notes)
		}
	}
}
