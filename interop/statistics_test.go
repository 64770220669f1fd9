// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/statistics"
)

// TestStatistics makes statistics of chunks. zarr-python computes each entry from the
// elements by docs/statistics.md, and finds the same; Varve knows the entries that
// zarr-python makes; and readers of the group see no statistics.
func TestStatistics(t *testing.T) {
	scriptMissing(t) // skips without xarray
	dir := t.TempDir()
	g, err := zarr.CreateGroup(t.Context(), dir, nil, nil)
	check(t, err)
	cases := []struct {
		spec    zarr.Spec
		missing []float64
		meaning []string
	}{
		{
			zarr.Spec{Shape: []int64{13, 7}, Type: dtype.Int16, Chunks: grid.Chunks(4, 3), FillValue: zarr.FillJSON("5"), Attributes: map[string]any{"_FillValue": -2, "missing_value": 3}},
			[]float64{-2, 3},
			[]string{"int16", "int16 7ffffffffffffffe 8000000000000003", "5"},
		},
		{
			zarr.Spec{Shape: []int64{40}, Type: dtype.Float32, Chunks: grid.Chunks(16), InnerChunks: grid.Chunks(4), FillValue: zarr.FillJSON(`"NaN"`)},
			nil,
			[]string{"float32", "float32 ffffffffffffffff", `"NaN"`},
		},
		{
			zarr.Spec{Shape: []int64{20}, Type: dtype.Uint8, Chunks: grid.Chunks(6), Format: 2, FillValue: zarr.FillJSON("4"), DimensionNames: []string{"n"}},
			[]float64{4},
			[]string{"uint8", "uint8 0000000000000004", "4"},
		},
	}
	for i, c := range cases {
		name := string(rune('a' + i))
		if c.spec.Format == 2 {
			name = "v2"
		}
		if c.spec.DimensionNames == nil {
			c.spec.DimensionNames = []string{name + "0", name + "1"}[:len(c.spec.Shape)]
		}
		path := filepath.Join(dir, name)
		if c.spec.Format == 2 {
			path = filepath.Join(t.TempDir(), name)
		}
		a, err := zarr.CreateArray(t.Context(), path, c.spec, nil)
		check(t, err)
		n := int64(1)
		for _, length := range a.Shape() {
			n *= length
		}
		values := make([]float64, n)
		for k := range values {
			values[k] = float64((k*k + k/9) % 11)
		}
		switch a.Type() {
		case dtype.Int16:
			err = zarr.Write(t.Context(), a, nil, as[int16](values))
		case dtype.Uint8:
			err = zarr.Write(t.Context(), a, nil, as[uint8](values))
		default:
			err = zarr.Write(t.Context(), a, nil, as[float32](values))
		}
		check(t, err)
		_, err = statistics.Make(t.Context(), a, nil)
		check(t, err)
		request := statisticsRequest(t, a, path, c.missing, c.meaning)
		var read map[string]map[string][]float64
		decode(t, json.RawMessage(runStatistics(t, "read", request)), &read)
		if len(read["found"]) == 0 || !reflect.DeepEqual(read["found"], read["want"]) {
			t.Errorf("%s: there is\n%v, by zarr-python\n%v", a, read["found"], read["want"])
		}
		runStatistics(t, "write", request)
		again, err := statistics.Make(t.Context(), a, &statistics.Options{DryRun: true})
		check(t, err)
		if again.Read != 0 || again.Known != int64(len(read["want"])) {
			t.Errorf("%s: of the entries of zarr-python %+v", a, again)
		}
	}
	check(t, g.Close())
	var names map[string][]string
	decode(t, json.RawMessage(runStatistics(t, "names", dir)), &names)
	if want := map[string][]string{"zarr": {"a", "b"}, "xarray": {"a", "b"}, "tree": {"/"}}; !reflect.DeepEqual(names, want) {
		t.Errorf("readers see %v, want %v", names, want)
	}
}

// as converts numbers.
func as[T int16 | uint8 | float32](values []float64) []T {
	list := make([]T, len(values))
	for i, v := range values {
		list[i] = T(v)
	}
	return list
}

// statisticsRequest returns a request to statistics.py.
func statisticsRequest(t *testing.T, a *zarr.Array, path string, missing []float64, meaning []string) string {
	t.Helper()
	versions := map[string]string{}
	s := a.Core().State()
	for v, err := range s.Engine.Versions(t.Context()) {
		check(t, err)
		versions[string(s.Engine.Keys.AppendKey(nil, v.Index))] = v.Info.Version.String()
	}
	for _, c := range s.Doc.Codecs {
		var value any
		decode(t, c.Plain().Append(nil), &value)
		text, err := json.Marshal(value)
		check(t, err)
		meaning = append(meaning, string(text))
	}
	if missing == nil {
		missing = []float64{}
	}
	text, err := json.Marshal(map[string]any{"path": path, "versions": versions, "meaning": meaning, "missing": missing})
	check(t, err)
	return string(text)
}

func runStatistics(t *testing.T, args ...string) string {
	t.Helper()
	var errs strings.Builder
	c := exec.Command(interpreter(t), append([]string{"statistics.py"}, args...)...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("statistics.py %q: %v\n%s", args, err, errs.String())
	}
	return string(out)
}
