// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// node makes an array of a Zarr group in a folder.
func node[T dtype.Element](t *testing.T, dir, path string, values []T, names []string, shape []int64, attributes map[string]any, fill string) {
	t.Helper()
	group, _, _ := strings.Cut(path, "/")
	if _, err := os.Stat(filepath.Join(dir, group)); err != nil {
		if _, err := zarr.CreateGroup(t.Context(), filepath.Join(dir, group), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	spec := zarr.Spec{Shape: shape, Type: dtype.Of[T](), DimensionNames: names, Attributes: attributes}
	for _, n := range shape {
		spec.Chunks = append(spec.Chunks, grid.Every(n))
	}
	if fill != "" {
		spec.FillValue = zarr.FillJSON(fill)
	}
	a, err := zarr.CreateArray(t.Context(), filepath.Join(dir, path), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// collect joins nodes in a folder into a manifest there.
func collect(t *testing.T, dir string, how virtual.Join, files ...string) (*virtual.Joined, error) {
	t.Helper()
	j, err := virtual.NewJoined(how)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(filepath.Join(dir, "made.vz"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range files {
		files[i] = filepath.Join(dir, files[i])
	}
	return j, c.Collect(t.Context(), j, files)
}

// TestRepeatedArrays joins files that have an array without the dimension: it must be the
// same in all files.
func TestRepeatedArrays(t *testing.T) {
	for name, c := range map[string]struct {
		how   virtual.Join
		other int32
		want  string // of the error
	}{
		"merge, equal":       {virtual.Join{}, 1, ""},
		"merge, different":   {virtual.Join{}, 2, "its values differ"},
		"concat, equal":      {virtual.Join{Concat: "time"}, 1, ""},
		"concat, different":  {virtual.Join{Concat: "time"}, 2, "its values differ"},
		"no such dimension":  {virtual.Join{Concat: "tme"}, 1, `no array has the dimension "tme"`},
		"stack by dimension": {virtual.Join{Stack: "time"}, 1, "has the dimension"},
	} {
		dir := t.TempDir()
		for i, file := range []string{"one.zarr", "two.zarr"} {
			node(t, dir, file+"/mask", []int32{1, 2, []int32{3, 2 + c.other}[i]}, []string{"x"}, []int64{3}, nil, "")
			if c.how != (virtual.Join{}) {
				node(t, dir, file+"/t", []int32{int32(i), 7}, []string{"time"}, []int64{2}, nil, "")
			}
		}
		j, err := collect(t, dir, c.how, "one.zarr", "two.zarr")
		if err == nil {
			_, err = j.Finish()
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestWithout leaves out an array that differs between files. A scan that is kept has it,
// for a collection that takes it.
func TestWithout(t *testing.T) {
	dir := t.TempDir()
	for i, file := range []string{"one.zarr", "two.zarr"} {
		node(t, dir, file+"/g/mask", []int32{1, 2, int32(i)}, []string{"x"}, []int64{3}, nil, "")
		node(t, dir, file+"/t", []int32{int32(i), 7}, []string{"time"}, []int64{2}, nil, "")
	}
	files := []string{filepath.Join(dir, "one.zarr"), filepath.Join(dir, "two.zarr")}
	for pattern, want := range map[string]error{"": virtual.ErrMismatch, "mask": virtual.ErrMismatch, "g/m*": nil, "[": zarr.ErrInvalidArgument} {
		c, err := virtual.NewCollector(filepath.Join(dir, "made.vz"))
		if err != nil {
			t.Fatal(err)
		}
		at, err := filestore.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Keep(t.Context(), at, store.MustKey("made.vz/x").Dir()); err != nil {
			t.Fatal(err)
		}
		c.Without = []string{pattern}
		j, err := virtual.NewJoined(virtual.Join{Concat: "time"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Collect(t.Context(), j, files); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", pattern, err, want)
		}
		c.Close()
		if err := store.Close(at); err != nil {
			t.Fatal(err)
		}
		if want != nil {
			continue
		}
		m, err := j.Finish()
		if err != nil || len(m.Arrays) != 1 || m.Arrays[0].Path != "t" {
			t.Errorf("%q: %v, %v", pattern, m, err)
		}
	}
}

// TestDamagedArrays joins files of which one has an array that cannot be decoded. The
// others are read, it is named, and it is in the manifest as it is in the file.
func TestDamagedArrays(t *testing.T) {
	merge, concat := virtual.Join{}, virtual.Join{Concat: "time"}
	for name, c := range map[string]struct {
		how     virtual.Join
		damaged string // an array of a file
		files   []string
		want    error
		note    string // of the array
	}{
		"alone":       {merge, "1.zarr/mask", []string{"1.zarr"}, nil, "mask: it is in the manifest, but"},
		"compared":    {virtual.Join{Compare: true}, "1.zarr/area", []string{"1.zarr"}, nil, "area: it is in the manifest, but"},
		"coordinate":  {merge, "1.zarr/x", []string{"1.zarr"}, nil, "x: it is in the manifest, but"},
		"first":       {concat, "1.zarr/mask", []string{"1.zarr", "2.zarr"}, nil, "mask: its values in"},
		"second":      {concat, "2.zarr/mask", []string{"1.zarr", "2.zarr"}, nil, "mask: its values in"},
		"second area": {virtual.Join{Concat: "time", Compare: true}, "2.zarr/area", []string{"1.zarr", "2.zarr"}, nil, "area: its values in"},
		"first time":  {concat, "1.zarr/time", []string{"1.zarr", "2.zarr"}, nil, "time: it is in the manifest, but"},
		"second time": {concat, "2.zarr/time", []string{"1.zarr", "2.zarr"}, zarr.ErrCorrupt, ""},
		"merged":      {merge, "1.zarr/mask", []string{"1.zarr", "2.zarr"}, virtual.ErrMismatch, ""},
	} {
		dir, area := t.TempDir(), make([]int32, 1<<19)
		for i, file := range []string{"1.zarr", "2.zarr", "3.zarr"} {
			node(t, dir, file+"/mask", []int32{1, 2, 3}, []string{"x"}, []int64{3}, nil, "")
			node(t, dir, file+"/x", []int32{5, 6, 7}, []string{"x"}, []int64{3}, nil, "")
			if c.how.Concat != "" {
				node(t, dir, file+"/time", []int32{int32(2 * i), int32(2*i + 1)}, []string{"time"}, []int64{2}, nil, "")
				node(t, dir, file+"/v", []int32{int32(i), 9}, []string{"time"}, []int64{2}, nil, "")
			}
			if c.how.Compare {
				area[7] = 1
				node(t, dir, file+"/area", area, []string{"y", "z"}, []int64{1 << 9, 1 << 10}, nil, "")
			}
		}
		chunk := "c/0"
		if filepath.Base(c.damaged) == "area" {
			chunk = "c/0/0"
		}
		if err := os.WriteFile(filepath.Join(dir, c.damaged, chunk), []byte("no chunk"), 0o666); err != nil {
			t.Fatal(err)
		}
		j, err := collect(t, dir, c.how, c.files...)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), filepath.Base(c.damaged)) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want != nil || err != nil {
			continue
		}
		if notes := j.Notes(); !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, c.note) }) {
			t.Errorf("%s: notes %q", name, notes)
		}
		m, err := j.Finish()
		if err != nil {
			t.Fatal(err)
		}
		root := stored(t, dir, m)
		other := map[string]string{"mask": "x"}[filepath.Base(c.damaged)]
		if _, _, err := sum(t, root+"/"+cmp.Or(other, "mask")); err != nil {
			t.Errorf("%s: another array: %v", name, err)
		}
		if _, _, err := sum(t, root+"/"+filepath.Base(c.damaged)); c.damaged[0] == '1' && !errors.Is(err, zarr.ErrCorrupt) {
			t.Errorf("%s: the array itself: %v", name, err)
		}
		if c.how.Concat != "" {
			extended(t, dir, root, "3.zarr")
		}
	}
}

// TestTimesOfFiles converts times of files that count from different days. Elements that
// stand for no value stay, and numbers that the type cannot hold are an error.
func TestTimesOfFiles(t *testing.T) {
	dir := t.TempDir()
	dims := []string{"time"}
	units := func(text string) map[string]any { return map[string]any{"units": text, "calendar": "standard"} }
	first, second := units("hours since 2000-01-01"), units("days since 2000-02-01")
	node(t, dir, "a1.zarr/time", []int64{0, 24}, dims, []int64{2}, first, "-9999")
	node(t, dir, "a2.zarr/time", []int64{0, -9999, 1}, dims, []int64{3}, second, "-9999")
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, "a1.zarr", "a2.zarr")
	if err != nil {
		t.Fatal(err)
	}
	if got := timesOf[int64](t, dir, j); !slices.Equal(got, []int64{0, 24, 744, -9999, 768}) {
		t.Errorf("times %v", got)
	}
	node(t, dir, "f1.zarr/time", []float32{0, 1.0e9}, dims, []int64{2}, units("seconds since 1970-01-01"), "")
	node(t, dir, "f2.zarr/time", []float32{11574.5, float32(math.NaN())}, dims, []int64{2}, units("days since 1970-01-01"), "")
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "f1.zarr", "f2.zarr"); err != nil && !strings.Contains(err.Error(), "too few digits") {
		t.Errorf("float32: %v", err)
	}
	node(t, dir, "s1.zarr/time", []float32{1.5e9}, dims, []int64{1}, units("seconds since 1970-01-01"), "")
	node(t, dir, "s2.zarr/time", []float32{100.25}, dims, []int64{1}, units("seconds since 2020-01-01"), "")
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "s1.zarr", "s2.zarr"); !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "too few digits") {
		t.Errorf("float32 seconds: %v", err)
	}
	// Times that files repeat are converted to be compared.
	days := units("days since 2000-01-01")
	for name, times := range map[string][]int64{"r1": {0, 1}, "r2": {0, 2}} {
		node(t, dir, name+".zarr/time", times, dims, []int64{2}, days, "")
		node(t, dir, name+".zarr/x", []int64{1, 2}, dims, []int64{2}, nil, "")
	}
	node(t, dir, "r0.zarr/time", []int64{0, 24}, dims, []int64{2}, first, "")
	node(t, dir, "r0.zarr/x", []int64{3, 4}, dims, []int64{2}, nil, "")
	if _, err := collect(t, dir, virtual.Join{Stack: "run"}, "r0.zarr", "r1.zarr"); err != nil {
		t.Errorf("equal times in other units: %v", err)
	}
	if _, err := collect(t, dir, virtual.Join{Stack: "run"}, "r0.zarr", "r2.zarr"); !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "time: its values differ") {
		t.Errorf("other times in other units: %v", err)
	}
	packed := units("days since 2000-03-01")
	packed["scale_factor"] = 0.5
	node(t, dir, "p1.zarr/time", []int64{0}, dims, []int64{1}, map[string]any{"units": "days since 2000-01-01", "calendar": "standard", "scale_factor": 0.5}, "")
	node(t, dir, "p2.zarr/time", []int64{2}, dims, []int64{1}, packed, "")
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "p1.zarr", "p2.zarr"); !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "scale_factor") {
		t.Errorf("packed times: %v", err)
	}
}

// TestTypesOfTimes joins files whose times have other types, and other units. They become
// those of the first file, and what its type cannot hold is an error. A time of 0 is a
// time, though 0 is also the fill value of arrays for which none was chosen.
func TestTypesOfTimes(t *testing.T) {
	dir := t.TempDir()
	said := func(text string, fill any) map[string]any {
		m := map[string]any{"units": text + " since 2000-01-01", "calendar": "standard"}
		if fill != nil {
			m["_FillValue"] = fill
		}
		return m
	}
	add := map[string]func(name string){
		"zero": func(n string) {
			node(t, dir, n, []int64{0, 1}, []string{"time"}, []int64{2}, map[string]any{"units": "days since 2000-02-01"}, "")
		},
		"int32": func(n string) { node(t, dir, n, []int32{0, 24}, []string{"time"}, []int64{2}, said("hours", nil), "") },
		"int64": func(n string) { node(t, dir, n, []int64{48, 72}, []string{"time"}, []int64{2}, said("hours", nil), "") },
		"uint16": func(n string) {
			node(t, dir, n, []uint16{48, 72}, []string{"time"}, []int64{2}, said("hours", nil), "")
		},
		"large": func(n string) {
			node(t, dir, n, []int64{48, 1 << 40}, []string{"time"}, []int64{2}, said("hours", nil), "")
		},
		"float64": func(n string) {
			node(t, dir, n, []float64{48, 72.5}, []string{"time"}, []int64{2}, said("hours", "AAAAAAAA+H8="), "\"NaN\"")
		},
		"whole": func(n string) {
			node(t, dir, n, []float64{48, 72}, []string{"time"}, []int64{2}, said("hours", "AAAAAAAA+H8="), "\"NaN\"")
		},
		"days": func(n string) {
			node(t, dir, n, []float64{1.0 / 3, 2}, []string{"time"}, []int64{2}, said("days", nil), "")
		},
		"thirds": func(n string) { node(t, dir, n, []int32{8, 16}, []string{"time"}, []int64{2}, said("hours", nil), "") },
		"gap": func(n string) {
			node(t, dir, n, []float64{48, math.NaN()}, []string{"time"}, []int64{2}, said("hours", "AAAAAAAA+H8="), "\"NaN\"")
		},
		"masked": func(n string) { node(t, dir, n, []int32{0, 24}, []string{"time"}, []int64{2}, said("hours", 48), "48") },
		"unsigned": func(n string) {
			m := said("hours", nil)
			m["_Unsigned"] = "true"
			node(t, dir, n, []int16{48, 72}, []string{"time"}, []int64{2}, m, "")
		},
	}
	for i, c := range []struct {
		first, second string
		want          []float64
		why           string
	}{
		{"int64", "zero", []float64{48, 72, 744, 768}, ""},
		{"int32", "int64", []float64{0, 24, 48, 72}, ""},
		{"int32", "uint16", []float64{0, 24, 48, 72}, ""},
		{"int32", "whole", []float64{0, 24, 48, 72}, ""},
		{"int32", "days", []float64{0, 24, 8, 48}, ""},
		{"float64", "int32", []float64{48, 72.5, 0, 24}, ""},
		{"days", "thirds", []float64{1.0 / 3, 2, 1.0 / 3, 2.0 / 3}, ""},
		{"float64", "gap", []float64{48, 72.5, 48, math.NaN()}, ""},
		{"int32", "float64", nil, "72.5 does not fit the type int32"},
		{"int32", "large", nil, "1099511627776 does not fit the type int32"},
		{"int32", "gap", nil, "element 1: nan does not fit"},
		{"masked", "int64", nil, "would stand for no value"},
		{"int32", "unsigned", nil, "_Unsigned"},
	} {
		one, two := fmt.Sprintf("%d-1.zarr", i), fmt.Sprintf("%d-2.zarr", i)
		add[c.first](one + "/time")
		add[c.second](two + "/time")
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, one, two)
		if c.why != "" {
			if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s, %s: %v, want %q", c.first, c.second, err, c.why)
			}
			continue
		}
		at := finished(t, dir, j, err)
		if _, got := numbersOf(t, at+"/time"); !slices.EqualFunc(got, c.want, func(x, y float64) bool { return x == y || x != x && y != y }) {
			t.Errorf("%s, %s: %v, want %v", c.first, c.second, got, c.want)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBoundsOfTimes joins files whose times count from different days, with bounds: they
// are converted from the units that they have to those that the first ones have, which
// are those of their coordinate unless they have their own. Bounds that are not kept as
// values make the files differ.
func TestBoundsOfTimes(t *testing.T) {
	dir := t.TempDir()
	type object = map[string]any
	const january, february, hours = "days since 2000-01-01", "days since 2000-02-01", "hours since 2000-01-01"
	for name, c := range map[string]struct {
		path, names string
		units       [2]object // of the coordinate
		own         [2]object // of the bounds
		attribute   string
		want        []float64
		why         string
	}{
		"bounds":          {path: "b", attribute: "bounds", want: []float64{1, 2, 32, 33}},
		"climatology":     {path: "b", attribute: "climatology", want: []float64{1, 2, 32, 33}},
		"below":           {path: "sub/b", attribute: "bounds", want: []float64{1, 2, 32, 33}},
		"own units":       {path: "b", attribute: "bounds", own: [2]object{{"units": hours}, {"units": february}}, want: []float64{1, 2, 768, 792}},
		"first own units": {path: "b", attribute: "bounds", own: [2]object{{"units": hours}, nil}, want: []float64{1, 2, 768, 792}},
		"later own units": {path: "b", attribute: "bounds", own: [2]object{nil, {"units": hours}}, want: []float64{1, 2, 1.0 / 24, 2.0 / 24}},
		"equal own units": {path: "b", attribute: "bounds", own: [2]object{{"units": hours}, {"units": hours}}, want: []float64{1, 2, 1, 2}},
		"other times":     {path: "b", names: "run", attribute: "bounds", want: []float64{1, 2, 32, 33}},
		"turned":          {path: "b", names: "turned", attribute: "bounds", why: "its bounds b cannot be converted"},
		"calendars": {path: "b", attribute: "bounds", units: [2]object{{"calendar": "noleap"}, {"calendar": "noleap"}},
			own: [2]object{{"calendar": "standard"}, nil}, why: "the calendar noleap"},
	} {
		for i, units := range []string{january, february} {
			file := fmt.Sprintf("%s%d.zarr/", strings.ReplaceAll(name, " ", "-"), i)
			of := object{"units": units, c.attribute: filepath.Base(c.path)}
			maps.Copy(of, c.units[i])
			coordinate := "time"
			if c.names == "run" {
				coordinate = "run"
			}
			node(t, dir, file+coordinate, []float64{1}, []string{"time"}, []int64{1}, of, "")
			if group := filepath.Dir(c.path); group != "." {
				if _, err := zarr.CreateGroup(t.Context(), filepath.Join(dir, file, group), nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			names, shape := []string{"time", "nv"}, []int64{1, 2}
			if c.names == "turned" {
				names, shape = []string{"nv", "time"}, []int64{2, 1}
			}
			node(t, dir, file+c.path, []float64{1, 2}, names, shape, c.own[i], "")
		}
		stem := strings.ReplaceAll(name, " ", "-")
		j, err := collect(t, dir, virtual.Join{Concat: "time"}, stem+"0.zarr", stem+"1.zarr")
		if c.why != "" {
			if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v, want %q", name, err, c.why)
			}
			continue
		}
		at := finished(t, dir, j, err)
		if _, got := numbersOf(t, at+"/"+c.path); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
	}
}

// timesOf stores a manifest and reads its coordinate.
func timesOf[T dtype.Element](t *testing.T, dir string, j *virtual.Joined) []T {
	t.Helper()
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.OpenArray(t.Context(), filepath.Join(stored(t, dir, m), "time"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := zarr.Read[T](t.Context(), a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Data
}

// TestMissingOfFormat2 makes a manifest of a node of format 2, whose fill value marks
// missing values. It does so in the manifest, which is of format 3, as an attribute; not
// in an image, and not where xarray opens no array. Byte strings have no such attribute.
func TestMissingOfFormat2(t *testing.T) {
	s := memstore.New()
	names := `{"_ARRAY_DIMENSIONS": ["x"]}`
	for path, text := range map[string]string{
		".zgroup": `{"zarr_format": 2}`, "image/.zgroup": `{"zarr_format": 2}`,
		"image/.zattrs": `{"multiscales": [{"datasets": [{"path": "0"}]}]}`,
		"v/.zattrs":     names, "image/0/.zattrs": names, "text/.zattrs": names,
		"listed/.zattrs": `{"_ARRAY_DIMENSIONS": ["x"], "_FillValue": [-1]}`,
		"v/.zarray":      "<f4 -999", "image/0/.zarray": "<f4 -999", "bare/.zarray": "<f4 -999",
		"listed/.zarray": "<i4 null", "text/.zarray": `|S1 "QQ=="`,
	} {
		if kind, fill, ok := strings.Cut(text, " "); ok && strings.HasSuffix(path, ".zarray") {
			text = fmt.Sprintf(`{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": %q, "fill_value": %s, "order": "C", "compressor": null, "filters": null}`, kind, fill)
		}
		if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(path), []byte(text)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	p, err := virtual.OpenNode(t.Context(), s, store.Path{}, "a.zarr", "memory")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"v": `"AAAAAAA4j8A="`, "listed": "-1", "image/0": "", "bare": "", "text": ""} {
		raw, _, err := metadata.Attribute(p.Manifest.Array(path).Document.Attributes, "_FillValue")
		if err != nil || string(raw) != want {
			t.Errorf("%s: _FillValue %s (%v), want %s", path, raw, err, want)
		}
	}
	if len(p.Refused) != 1 || p.Refused[0].Path != "text:_FillValue" {
		t.Errorf("left out: %v", p.Refused)
	}
}

// TestFilesInNodes names the values of a node that no document describes: files of other
// programs in groups, in arrays and in folders that are no nodes. Varve's own are none.
func TestFilesInNodes(t *testing.T) {
	dir := t.TempDir()
	node(t, dir, "a.zarr/v", []int32{1, 2}, []string{"x"}, []int64{2}, nil, "")
	if _, err := zarr.CreateGroup(t.Context(), filepath.Join(dir, "a.zarr/g"), nil, nil); err != nil {
		t.Fatal(err)
	}
	open := func() []string {
		s, err := filestore.Open(filepath.Join(dir, "a.zarr"), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := virtual.OpenNode(t.Context(), s, store.Path{}, "a.zarr", "file")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range p.Refused {
			names = append(names, r.Path)
		}
		slices.Sort(names)
		for _, r := range p.Refused {
			if r.Path == "v/0" && r.Err.Error() != "no document describes it, nor 29 more chunks of this array" {
				t.Error(r.Err)
			}
		}
		if len(names) == 100 && !strings.Contains(p.Refused[len(names)-1].Err.Error(), "nor 60 more") || len(p.Manifest.Arrays) != 1 {
			t.Errorf("%v, %d arrays", p.Refused, len(p.Manifest.Arrays))
		}
		return names
	}
	if got := open(); got != nil {
		t.Errorf("left out: %q", got)
	}
	put := func(name string) {
		file := filepath.Join(dir, "a.zarr", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"g/notes", "readme.txt", "sub/deep/zarr.json", "sub/table.parquet", "v/c/7/0", "v/thumb.png"}
	for _, name := range append(want, "v/c/9", "__varve/grids/x", "g/__varve/grids/x") { // a chunk beyond the shape is none of another program
		put(name)
	}
	if got := open(); !slices.Equal(got, want) {
		t.Errorf("left out: %q, want %q", got, want)
	}
	// Of the chunks that a rechunk has left, one is named for the array.
	for i := range 30 {
		put("v/" + strconv.Itoa(i))
	}
	if got := open(); !slices.Equal(got, slices.Sorted(slices.Values(append(want, "v/0")))) {
		t.Errorf("left out: %q", got)
	}
	for i := range 30 {
		if err := os.Remove(filepath.Join(dir, "a.zarr/v", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	// A name that cannot be used is left out with its folder, and is no reason to refuse
	// the node.
	put("sub/__varve/y")
	if got := open(); !slices.Equal(got, slices.Sorted(slices.Values(append(want, "sub")))) {
		t.Errorf("left out: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "a.zarr/sub/__varve")); err != nil {
		t.Fatal(err)
	}
	for i := range 154 {
		put(fmt.Sprintf("sub/%d", i))
	}
	if got := open(); len(got) != 100 {
		t.Errorf("%d are named", len(got))
	}
}

// TestOrder joins files that are out of order, and one that is named twice.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"1.zarr", "2.zarr", "10.zarr"} {
		node(t, dir, name+"/time", []int64{int64(10 * i), int64(10*i + 1)}, []string{"time"}, []int64{2}, nil, "")
	}
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, "1.zarr", "10.zarr", "2.zarr", "1.zarr")
	if err != nil {
		t.Fatal(err)
	}
	if notes := j.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "2.zarr") {
		t.Errorf("notes %q", notes)
	}
	if got := timesOf[int64](t, dir, j); len(got) != 6 {
		t.Errorf("times %v", got)
	}
}

// TestSummary joins many files that are out of order. All notes are there, and a summary
// has the first ones.
func TestSummary(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i := range 9 {
		files = append(files, fmt.Sprintf("%d.zarr", i))
		node(t, dir, files[i]+"/time", []int64{int64(20 - i), int64(21 - i)}, []string{"time"}, []int64{2}, nil, "")
		node(t, dir, files[i]+"/mask", []int64{1}, []string{"x"}, []int64{1}, map[string]any{fmt.Sprint("only", i): 1}, "")
	}
	j, err := collect(t, dir, virtual.Join{Concat: "time"}, files...)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("time: %s does not begin after the end of %s", files[1], files[0])
	if notes := j.Notes(); len(notes) != 16 || !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, want) }) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	count := map[string]int{}
	for _, line := range j.Summary(3) {
		name, _, _ := strings.Cut(line, ":")
		count[name]++
	}
	if !maps.Equal(count, map[string]int{"time": 3, "mask": 3, "… and 5 more like this": 2}) {
		t.Errorf("summary %q", j.Summary(3))
	}
}

// TestTexts joins files with a coordinate of texts.
func TestTexts(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"1.zarr", "2.zarr"} {
		node(t, dir, name+"/v", []int32{int32(i), 5}, []string{"time", "station"}, []int64{1, 2}, nil, "")
		node(t, dir, name+"/station", []string{"K12", "ü"}, []string{"station"}, []int64{2}, nil, "")
	}
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "1.zarr", "2.zarr"); err != nil {
		t.Error(err)
	}
	node(t, dir, "3.zarr/v", []int32{9, 5}, []string{"time", "station"}, []int64{1, 2}, nil, "")
	node(t, dir, "3.zarr/station", []string{"K1", "2ü"}, []string{"station"}, []int64{2}, nil, "")
	if _, err := collect(t, dir, virtual.Join{Concat: "time"}, "1.zarr", "3.zarr"); !errors.Is(err, virtual.ErrMismatch) {
		t.Errorf("other texts: %v", err)
	}
}

// TestSourceGone reads after the source of a chunk has gone, or has changed. It is never
// the fill value.
func TestSourceGone(t *testing.T) {
	dir := t.TempDir()
	node(t, dir, "1.zarr/v", []int32{1, 2}, []string{"x"}, []int64{2}, nil, "")
	j, err := collect(t, dir, virtual.Join{}, "1.zarr")
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	root := stored(t, dir, m)
	chunk := filepath.Join(dir, "1.zarr/v/c/0")
	read := func() error {
		a, err := zarr.OpenArray(t.Context(), root+"/v", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, err = zarr.Read[int32](t.Context(), a, nil)
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(chunk, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("another time: %v", err)
	}
	if err := os.Remove(chunk); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("no source: %v", err)
	}
}

// TestSourcesMoved copies a manifest with its sources to another folder, as cp -a does:
// the copies keep the times of the files. It also changes the permissions of a file.
func TestSourcesMoved(t *testing.T) {
	from, to := copied(t, "nc4_basic.nc"), t.TempDir()
	stored(t, from, alone(t, filepath.Join(from, "made.vz"), filepath.Join(from, "nc4_basic.nc")))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(from, "nc4_basic.nc"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(to, "nc4_basic.nc")
	err = errors.Join(os.Chtimes(file, time.Time{}, info.ModTime()), os.Chmod(file, 0o444))
	if err != nil {
		t.Fatal(err)
	}
	_, want, err := sum(t, filepath.Join(from, "made.vz/deflated"))
	if err != nil {
		t.Fatal(err)
	}
	if _, hash, err := sum(t, filepath.Join(to, "made.vz/deflated")); err != nil || hash != want {
		t.Errorf("the copy has other elements (%v)", err)
	}
	if err := os.Chtimes(file, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sum(t, filepath.Join(to, "made.vz/deflated")); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("another time: %v", err)
	}
}

// TestFolderNames has stores of Zarr whose names end like those of references.
func TestFolderNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plain.vz", "plain.json"} {
		node(t, dir, name+"/v", []int32{1, 2}, []string{"x"}, []int64{2}, nil, "")
		if shape, _, err := sum(t, filepath.Join(dir, name, "v")); err != nil || !slices.Equal(shape, []int64{2}) {
			t.Errorf("%s: %v (%v)", name, shape, err)
		}
	}
	if _, _, err := sum(t, filepath.Join(dir, "none.vz/v")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no manifest: %v", err)
	}
	// They are FILES like other nodes: a chunk that has changed is noticed.
	for _, name := range []string{"plain.vz", "plain.json", "plain.parq", "plain.parquet"} {
		dir := t.TempDir()
		node(t, dir, name+"/v", []int32{1, 2}, []string{"x"}, []int64{2}, nil, "")
		root := stored(t, dir, alone(t, filepath.Join(dir, "made.vz"), filepath.Join(dir, name)))
		if _, _, err := sum(t, root+"/v"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Chtimes(filepath.Join(dir, name, "v/c/0"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := sum(t, root+"/v"); !errors.Is(err, zarr.ErrSourceChanged) {
			t.Errorf("%s: another time: %v", name, err)
		}
	}
}

// TestFolderGone reads after the folder of the sources has gone, with chunks of both
// kinds: those that are decoded are read as a whole, and others in parts.
func TestFolderGone(t *testing.T) {
	for _, name := range []string{"nc4_basic.nc", "nc3_classic.nc"} {
		from, to := copied(t, name), t.TempDir()
		root := stored(t, to, alone(t, filepath.Join(to, "made.vz"), filepath.Join(from, name)))
		ctx := virtual.WithAllowed(t.Context(), from)
		g, err := zarr.OpenGroup(ctx, root, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if err := os.RemoveAll(from); err != nil {
			t.Fatal(err)
		}
		arrays := 0
		for m, err := range g.Members(ctx, true) {
			if err != nil {
				t.Fatal(err)
			}
			a, ok := m.Node.(*zarr.Array)
			if !ok || a.Rank() == 1 { // coordinates are in the manifest
				continue
			}
			arrays++
			if _, err := hashOf(t, a); !errors.Is(err, zarr.ErrSourceChanged) {
				t.Errorf("%s of %s: %v", m.Path, name, err)
			}
		}
		if arrays == 0 {
			t.Errorf("%s has no arrays", name)
		}
	}
}
