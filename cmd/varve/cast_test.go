// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/cast"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// progressLine is a progress line in the terminal session.
var progressLine = regexp.MustCompile(`\r[^\n]*?\x1b\[K`)

// TestSession compares docs/session.svg with what its commands print: VARVE_UPDATE=1 go
// test -run TestSession . draws it again.
func TestSession(t *testing.T) {
	racing.Skip(t)
	name, err := filepath.Abs(filepath.Join("..", "..", "docs", "session.svg"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("NO_COLOR", "1")
	fieldFile(t, "years.npy", 1824)
	fieldFile(t, "day.npy", 1)
	for node, days := range map[string]string{"regular.zarr": "365", "rectilinear.zarr": "[[365, 4], 364]"} {
		must(t, "", "create", node, "--chunks", "["+days+", 36, 72]", "--dimension-names", "time,lat,lon", "--from", "years.npy")
	}
	s := cast.Session{
		Title: "one more day, on a regular grid and on a rectilinear one", Columns: 80,
		Marks: []string{"would write"},
	}
	for _, line := range []string{
		"varve append regular.zarr day.npy --dry-run",
		"varve append rectilinear.zarr day.npy --dry-run",
		"varve append rectilinear.zarr day.npy",
		"varve grid rectilinear.zarr --axes 1,0",
	} {
		out, errs := onScreen(t, shellWords(line)[1:]...)
		s.Steps = append(s.Steps, cast.Step{Command: line, Output: out + progressLine.ReplaceAllString(errs, "")})
	}
	want := s.SVG()
	if os.Getenv("VARVE_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands print (%v); VARVE_UPDATE=1 draws it again:\n%s", name, err, want)
	}
}

// fieldFile makes a file of daily fields. They are smooth, with noise in the last bits,
// like measurements.
func fieldFile(t *testing.T, name string, days int) {
	t.Helper()
	var b bytes.Buffer
	state := uint32(1)
	for day := range days {
		for lat := range 36 {
			for lon := range 72 {
				state = state*1664525 + 1013904223
				season := math.Round(1000 * math.Sin(float64(day)/58.1) * float64(lat-18) / 18)
				value := 280 + float32(season)/128 + float32(lon%9)/8 + float32(state>>28)/128
				_ = binary.Write(&b, binary.LittleEndian, value) // memory does not fail
			}
		}
	}
	file, err := os.ReadFile(npyFile(t, npy.Header{Type: dtype.Float32, Shape: []int64{int64(days), 36, 72}}, b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, string(file))
}
