// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/virtual"
)

// TestCalendarsOfTimes joins files whose times are of several real calendars: they are
// converted where these agree. Others, and numbers that are no times, make files differ.
func TestCalendarsOfTimes(t *testing.T) {
	dir := t.TempDir()
	const days = "days since 2000-01-01"
	for i, c := range []struct {
		units, calendars [2]string
		second           []int64
		want             []float64
		why              string
	}{
		{[2]string{days, days}, [2]string{"standard", "proleptic_gregorian"}, []int64{2, 3}, []float64{0, 1, 2, 3}, ""},
		{[2]string{days, days}, [2]string{"proleptic_gregorian", "gregorian"}, []int64{2, 3}, []float64{0, 1, 2, 3}, ""},
		{[2]string{days, days}, [2]string{"", "proleptic_gregorian"}, []int64{2, 3}, []float64{0, 1, 2, 3}, ""},
		{[2]string{days, "hours since 2000-01-03"}, [2]string{"standard", "proleptic_gregorian"}, []int64{0, 24}, []float64{0, 1, 2, 3}, ""},
		// The standard calendar has Julian days before 1582: two more from the year 1 on.
		{[2]string{"days since 0001-01-01", "days since 0001-01-01"}, [2]string{"standard", "proleptic_gregorian"}, []int64{730119}, []float64{0, 1, 730121}, ""},
		{[2]string{"days since 1500-01-01", "days since 1500-01-01"}, [2]string{"standard", "proleptic_gregorian"}, []int64{2, 3}, nil, "differ before 1582-10-15"},
		{[2]string{days, days}, [2]string{"standard", "noleap"}, []int64{2, 3}, nil, "the calendar noleap"},
		{[2]string{days, days}, [2]string{"standard", "julian"}, []int64{2, 3}, nil, "the calendar julian"},
		{[2]string{"months since 2000-01-01", "months since 2000-01-01"}, [2]string{"standard", "proleptic_gregorian"}, []int64{2, 3}, nil, "its attribute calendar"},
	} {
		var files []string
		for k, values := range [][]int64{{0, 1}, c.second} {
			said := map[string]any{"units": c.units[k], "bounds": "b"}
			if c.calendars[k] != "" {
				said["calendar"] = c.calendars[k]
			}
			files = append(files, fmt.Sprintf("%d-%d.zarr", i, k))
			node(t, dir, files[k]+"/time", values, []string{"time"}, []int64{int64(len(values))}, said, "")
			node(t, dir, files[k]+"/b", slices.Concat(values, values), []string{"time", "nv"}, []int64{int64(len(values)), 2}, nil, "")
		}
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, files...)
		if c.why != "" {
			if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v: %v, want %q", c.calendars, err, c.why)
			}
			continue
		}
		at := finished(t, dir, j, err)
		_, got := numbersOf(t, at+"/time")
		_, bounds := numbersOf(t, at+"/b")
		if !slices.Equal(got, c.want) || bounds[len(bounds)-1] != c.want[len(c.want)-1] {
			t.Errorf("%v: %v, bounds %v, want %v", c.calendars, got, bounds, c.want)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTypesOfCoordinates joins files in which an array that they repeat, or one along the
// dimension, has several types. Values that are equal, or that the type of the first file
// holds, are right; others are named. A file that comes later is converted, too.
func TestTypesOfCoordinates(t *testing.T) {
	dir := t.TempDir()
	type object = map[string]any
	nan := math.NaN()
	for i, c := range []struct {
		name, dim     string
		first, second any
		attributes    [2]object
		want          []float64
		why           string
	}{
		{"x", "x", []float64{1, 2, 3}, []float32{1, 2, 3}, [2]object{}, []float64{1, 2, 3}, ""},
		{"x", "x", []float64{1, nan, 3}, []float32{1, float32(nan), 3}, [2]object{}, []float64{1, nan, 3}, ""},
		{"x", "x", []float64{1, 2, 3}, []int32{1, 2, 3}, [2]object{{"units": "degree_east"}, {"units": "degrees_east"}}, []float64{1, 2, 3}, ""},
		{"x", "x", []int32{1, 2, 3}, []float64{1, 2, 3}, [2]object{nil, {"_FillValue": "AAAAAAAA+H8="}}, []float64{1, 2, 3}, ""},
		{"lat", "x", []float32{1, 2, 3}, []uint16{1, 2, 3}, [2]object{}, []float64{1, 2, 3}, ""},
		{"x", "x", []float64{1, 2, 3}, []float32{1, 2, 4}, [2]object{}, nil, "x: its values differ"},
		{"x", "x", []int32{1, 2, 3}, []float64{1, 2, 3.5}, [2]object{}, nil, "x: float64 cannot be expressed as int32: element 2: 3.5 does not fit"},
		{"x", "x", []float64{1, 2, 3}, []float32{1, 2, 3}, [2]object{{"units": "m"}, {"units": "km"}}, nil, "x: its attribute units"},
		{"x", "x", []int32{1, 2, 3}, []uint16{1, 2, 3}, [2]object{{"scale_factor": 2}, {"scale_factor": 2}}, nil, "scale_factor"},
		{"x", "x", []int32{0, 1, 1}, []bool{false, true, true}, [2]object{}, nil, "x: its type"},
		{"depth", "time", []float64{1, 2}, []float32{3, 0}, [2]object{}, []float64{1, 2, 3, 0}, ""},
		{"depth", "time", []float64{1, 2}, []float32{0, 0}, [2]object{}, []float64{1, 2, 0, 0}, ""},
		{"depth", "time", []float32{1, 2}, []int32{3, 0}, [2]object{{"units": "degree_north"}, {"units": "degrees_north"}}, []float64{1, 2, 3, 0}, ""},
		{"depth", "time", []float32{1, 2}, []float64{3.5, nan}, [2]object{nil, {"_FillValue": "AAAAAAAA+H8="}}, []float64{1, 2, 3.5, nan}, ""},
		{"depth", "time", []float32{1, 2}, []float64{3, 0.1}, [2]object{}, nil, "depth: float64 cannot be expressed as float32: element 1: 0.1 does not fit"},
		{"depth", "time", []uint16{1, 2}, []int32{3, -1}, [2]object{}, nil, "-1 does not fit the type uint16"},
		{"depth", "time", []float64{1, 2}, []float32{3, 4}, [2]object{{"units": "m"}, {"units": "km"}}, nil, "depth: its attribute units"},
		{"depth", "time", []float64{1, 2}, []int32{3, 4}, [2]object{nil, {"_FillValue": 4}}, nil, "stands for no value"},
		{"depth", "time", []int32{1, 2}, []bool{true, false}, [2]object{}, nil, "depth: its type"},
	} {
		var files []string
		for k, values := range []any{c.first, c.second, c.second} {
			files = append(files, fmt.Sprintf("%d-%d.zarr", i, k))
			node(t, dir, files[k]+"/time", []int32{int32(2 * k), int32(2*k + 1)}, []string{"time"}, []int64{2}, nil, "")
			anyNode(t, dir, files[k]+"/"+c.name, values, c.dim, c.attributes[min(k, 1)])
		}
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, slices.Clone(files[:2])...)
		if c.why != "" {
			if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %T, %T: %v, want %q", c.name, c.first, c.second, err, c.why)
			}
			continue
		}
		if err == nil && c.dim == "time" && !slices.ContainsFunc(j.Notes(), func(n string) bool { return strings.HasPrefix(n, "depth: the manifest has copies") }) {
			t.Errorf("%T, %T: notes %q", c.first, c.second, j.Notes())
		}
		at, want := finished(t, dir, j, err), c.want
		for range 2 {
			_, got := numbersOf(t, at+"/"+c.name)
			if !slices.EqualFunc(got, want, func(x, y float64) bool { return x == y || x != x && y != y }) {
				t.Errorf("%s: %T, %T: %v, want %v", c.name, c.first, c.second, got, want)
			}
			if typ := opened(t, at+"/"+c.name).Type(); "[]"+typ.String() != fmt.Sprintf("%T", c.first) {
				t.Errorf("%s: %T, %T: type %s", c.name, c.first, c.second, typ)
			}
			if c.dim == "time" && len(files) == 3 {
				want = append(want, want[2:]...)
			}
			if len(files) == 3 {
				extended(t, dir, at, files[2])
				files = files[:2]
			}
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

// anyNode makes an array of one axis of values of any type.
func anyNode(t *testing.T, dir, path string, values any, dim string, said map[string]any) {
	t.Helper()
	switch v := values.(type) {
	case []float64:
		vector(t, dir, path, v, dim, said)
	case []float32:
		vector(t, dir, path, v, dim, said)
	case []int32:
		vector(t, dir, path, v, dim, said)
	case []uint16:
		vector(t, dir, path, v, dim, said)
	case []bool:
		vector(t, dir, path, v, dim, said)
	}
}

func vector[T dtype.Element](t *testing.T, dir, path string, values []T, dim string, said map[string]any) {
	t.Helper()
	node(t, dir, path, values, []string{dim}, []int64{int64(len(values))}, said, "")
}
