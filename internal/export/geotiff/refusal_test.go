// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestRefusals checks that what a GeoTIFF lacks is refused by name before a file is made.
func TestRefusals(t *testing.T) {
	raw := must(dtype.RawBytes(3))(t)
	image := func(typ dtype.Type, names ...string) zarr.Spec {
		s := zarr.Spec{Type: typ, DimensionNames: names}
		for range names {
			s.Shape = append(s.Shape, 2)
		}
		return s
	}
	with := func(s zarr.Spec, attributes ...any) zarr.Spec {
		list := map[string]any{}
		for i := 0; i < len(attributes); i += 2 {
			list[attributes[i].(string)] = attributes[i+1]
		}
		s.Attributes = list
		return s
	}
	map2 := func(attributes ...any) zarr.Spec { return with(image(dtype.Int8, "y", "x"), attributes...) }
	axis := func(name string) zarr.Spec { return image(dtype.Float64, name) }
	mapping := func(attributes ...any) zarr.Spec { return with(zarr.Spec{Type: dtype.Int8}, attributes...) }
	long := zarr.Spec{Shape: []int64{1, 1 << 31}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(1), grid.Every(1 << 20)}}
	for name, c := range map[string]struct {
		format Format
		arrays map[string]zarr.Spec
		want   []string
	}{
		"a line":      {Format{}, map[string]zarr.Spec{"v": image(dtype.Int8, "x")}, []string{"leaves 1 axis", "csv"}},
		"four axes":   {Format{}, map[string]zarr.Spec{"v": image(dtype.Int8, "t", "z", "y", "x")}, []string{"[2 2 2 2]", "--select time=0"}},
		"no elements": {Format{}, map[string]zarr.Spec{"v": {Shape: []int64{0, 2}, Type: dtype.Int8}}, []string{"no elements"}},
		"long":        {Format{}, map[string]zarr.Spec{"v": long}, []string{"at most 2147483647 rows", "select a part"}},
		"text":        {Format{}, map[string]zarr.Spec{"v": image(dtype.String, "y", "x")}, []string{"type string", "npy"}},
		"raw":         {Format{}, map[string]zarr.Spec{"v": image(raw, "y", "x")}, []string{"type raw_bytes[3]"}},
		"two missing": {Format{}, map[string]zarr.Spec{"v": map2("_FillValue", 1, "missing_value", 2)}, []string{"both missing values", "decoding"}},
		"NaN is missing anyway": {
			Format{}, map[string]zarr.Spec{"v": with(image(dtype.Float32, "y", "x"), "_FillValue", "NaN", "missing_value", 2)}, nil,
		},
		"one axis": {Format{}, map[string]zarr.Spec{"v": image(dtype.Int8, "lat", "z")}, []string{"lat, z", "axis (X, Y)"}},
		"one coordinate": {
			Format{}, map[string]zarr.Spec{"v": map2(), "x": axis("x")}, []string{"only one of the dimensions y, x"},
		},
		"no system":     {Format{}, map[string]zarr.Spec{"v": map2(), "x": axis("x"), "y": axis("y")}, []string{"--crs EPSG:32633", "--crs none"}},
		"no place":      {Format{CRS: "EPSG:4326"}, map[string]zarr.Spec{"v": map2()}, []string{"no meaning without coordinates"}},
		"an odd system": {Format{CRS: "EPSG:99999"}, map[string]zarr.Spec{"v": map2(), "x": axis("x"), "y": axis("y")}, []string{`"EPSG:99999"`, "1024 to 32766"}},
		"curvilinear": {
			Format{}, map[string]zarr.Spec{"v": map2("coordinates", "lat lon"), "lat": image(dtype.Float64, "y", "x"), "lon": image(dtype.Float64, "y", "x")},
			[]string{"coordinate lat has two axes", "NetCDF"},
		},
		"rotated": {
			Format{}, map[string]zarr.Spec{"v": map2("grid_mapping", "p"), "x": axis("x"), "y": axis("y"), "p": mapping("grid_mapping_name", "rotated_latitude_longitude")},
			[]string{`p is "rotated_latitude_longitude"`, "--crs"},
		},
		"conic without parallels": {
			Format{}, map[string]zarr.Spec{"v": map2("grid_mapping", "p"), "x": axis("x"), "y": axis("y"), "p": mapping("grid_mapping_name", "lambert_conformal_conic")},
			[]string{"standard_parallel"},
		},
		"no size": {
			Format{}, map[string]zarr.Spec{"v": map2("spatial:transform", []int{0, 0, 0, 0, 0, 0})}, []string{"no size"},
		},
		"several": {Format{}, map[string]zarr.Spec{"v": map2(), "w": map2()}, []string{"v, w", "by its path"}},
	} {
		s := memstore.New()
		g := must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
		for at, spec := range c.arrays {
			a := must(zarr.At(s, at).CreateArray(t.Context(), spec, nil))(t)
			if len(spec.Shape) == 1 {
				if err := zarr.Write(t.Context(), a, nil, []float64{1, 2}); err != nil && spec.Type == dtype.Float64 {
					t.Fatal(err)
				}
			}
		}
		d := must(export.DatasetOf(t.Context(), g, func(ctx context.Context, a *zarr.Array) (*export.Source, error) {
			return export.Of(ctx, must(a.View(nil))(t), false)
		}))(t)
		err := c.format.Check(t.Context(), d)
		if c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range c.want {
			if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want an invalid argument with %q", name, err, part)
			}
		}
	}
}

// TestUneven refuses coordinates that are further from an even grid than a hundredth of a
// pixel, and names the place. Those of float32 are even, although their decimals are not
// exact.
func TestUneven(t *testing.T) {
	for _, c := range []struct {
		values []float32
		want   string
	}{
		{[]float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, ""},
		{[]float32{100, 110.05, 120, 130, 140, 150}, ""},
		{[]float32{100, 110.2, 120, 130, 140, 150}, "element 1 is 110.2, and steps of 10 from 100 lead to 110"},
		{[]float32{100, 100, 100, 100, 100, 100}, "begins and ends at 100"},
	} {
		s := memstore.New()
		spec := zarr.Spec{Shape: []int64{2, 6}, Type: dtype.Int8, DimensionNames: []string{"y", "x"}}
		a := must(zarr.At(s, "v").CreateArray(t.Context(), spec, nil))(t)
		makeAxis(t, s, "y", 2, 0, 0.1, nil)
		x := must(zarr.At(s, "x").CreateArray(t.Context(), zarr.Spec{Shape: []int64{6}, Type: dtype.Float32, DimensionNames: []string{"x"}}, nil))(t)
		if err := zarr.Write(t.Context(), x, nil, c.values); err != nil {
			t.Fatal(err)
		}
		p, err := Format{CRS: "EPSG:4326"}.plan(t.Context(), datasetOf(t, a, nil))
		if c.want == "" && (err != nil || p.place[1] != float64(c.values[5]-c.values[0])/5 && p.place[1] != 0.1) {
			t.Errorf("%v: %v", c.values, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.values, err, c.want)
		}
	}
}

// TestSystems checks the keys of coordinate reference systems.
func TestSystems(t *testing.T) {
	const wgs = `GEOGCRS["WGS 84",DATUM["a ID[",ELLIPSOID["WGS 84",6378137,298.257223563]],ID["EPSG",4326]]`
	for _, c := range []struct {
		flag, wkt, name, units string
		want                   string
	}{
		{"", wgs, "", "m", "[1 1 0 4 1024 0 1 2 1025 0 1 1 2048 0 1 4326 2054 0 1 9102]"},
		{"", `PROJCS["x",GEOGCS["y",AUTHORITY["EPSG","4326"]],AUTHORITY["EPSG","32633"]]`, "", "m", "[1 1 0 3 1024 0 1 1 1025 0 1 1 3072 0 1 32633]"},
		{"EPSG:25832", wgs, "", "m", "[1 1 0 3 1024 0 1 1 1025 0 1 1 3072 0 1 25832]"},
		{"EPSG:6318", "", "", "degrees", "[1 1 0 4 1024 0 1 2 1025 0 1 1 2048 0 1 6318 2054 0 1 9102]"},
		{"", "", "latitude_longitude", "degrees", "[1 1 0 4 1024 0 1 2 1025 0 1 1 2048 0 1 4326 2054 0 1 9102]"},
		{"", "", "", "degrees", "[1 1 0 4 1024 0 1 2 1025 0 1 1 2048 0 1 4326 2054 0 1 9102]"},
		{"", `PROJCS["x",GEOGCS["y",AUTHORITY["EPSG","4326"]]]`, "polar_stereographic", "km", "[1 1 0 14 1024 0 1 1 1025 0 1 1 2048 0 1 4326 2054 0 1 9102 3072 0 1 32767 3073 34737 20 0 3074 0 1 32767 3075 0 1 15 3076 0 1 9036 3081 34736 1 0 3092 34736 1 1]"},
	} {
		s, a := plane(t, map[string]any{"grid_mapping": "p"}, map[string]any{"units": c.units})
		if c.wkt != "" || c.name != "" {
			must(zarr.At(s, "p").CreateArray(t.Context(), zarr.Spec{Type: dtype.Int8, Attributes: map[string]any{"crs_wkt": c.wkt, "grid_mapping_name": c.name}}, nil))(t)
		}
		p, err := Format{CRS: c.flag}.plan(t.Context(), datasetOf(t, a, nil))
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		e := p.keys.entries()[0]
		var got []uint16
		for b := e.data; len(b) > 0; b = b[2:] {
			got = append(got, binary.LittleEndian.Uint16(b))
		}
		want := strings.Fields(strings.Trim(c.want, "[]"))
		if fmt.Sprint(got) != "["+strings.Join(want, " ")+"]" && !strings.HasPrefix(c.name, "polar") || int(got[3])*4+4 != len(got) {
			t.Errorf("%v: keys %v, want %s", c, got, c.want)
		}
		if !slices.IsSortedFunc(directoryOf(got), func(a, b uint16) int { return int(a) - int(b) }) {
			t.Errorf("%v: keys %v are not in order", c, got)
		}
	}
}

// directoryOf returns the numbers of keys.
func directoryOf(list []uint16) (ids []uint16) {
	for i := 4; i < len(list); i += 4 {
		ids = append(ids, list[i])
	}
	return ids
}

// TestOrder checks the order of a COG, on which readers rely: the smallest overview
// first, tiles row by row, and the length of each before it and its end behind it.
func TestOrder(t *testing.T) {
	for _, names := range [][]string{{"y", "x"}, {"band", "y", "x"}, {"y", "x", "band"}} {
		spec := zarr.Spec{Type: dtype.Uint16, DimensionNames: names}
		for _, name := range names {
			spec.Shape = append(spec.Shape, map[string]int64{"y": 70, "x": 50, "band": 2}[name])
			spec.Chunks = append(spec.Chunks, grid.Every(33))
		}
		a := must(zarr.At(memstore.New(), "v").CreateArray(t.Context(), spec, nil))(t)
		dir := t.TempDir()
		p := must(Format{Overviews: true, Deflate: 1, Folder: dir, edge: 16}.plan(t.Context(), datasetOf(t, a, nil)))(t)
		file := must(os.Create(filepath.Join(dir, "a.tif")))(t)
		w := newWriter(p, file)
		if err := w.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		b := must(os.ReadFile(file.Name()))(t)
		if !bytes.Contains(b[:400], []byte(w.note())) || w.note() == "" || len(w.levels) != 4 {
			t.Fatalf("%v: no note, or levels are missing: %q", names, b[:400])
		}
		at := uint64(len(w.head(w.levels)))
		for _, l := range slices.Backward(w.levels) {
			for i, off := range l.offsets {
				n := uint64(l.counts[i])
				if off != at+leaderBytes || uint64(binary.LittleEndian.Uint32(b[at:])) != n || !bytes.Equal(b[off+n-4:off+n], b[off+n:off+n+4]) {
					t.Fatalf("%v: tile %d of %d at %d, want %d: %x", names, i, len(l.offsets), off, at+leaderBytes, b[at:at+8])
				}
				at = off + n + trailerBytes
			}
		}
		if at != uint64(len(b)) {
			t.Errorf("%v: the tiles end at %d of %d", names, at, len(b))
		}
	}
}

// broken is a file whose disk is full.
type broken struct{ left int }

var errFull = errors.New("the disk is full")

// Write implements [export.File].
func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// WriteAt implements [export.File].
func (*broken) WriteAt([]byte, int64) (int, error) { return 0, errFull }

// TestBroken checks that a failed or an interrupted export leaves no temporary file.
func TestBroken(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{90, 90}, Type: dtype.Uint16, DimensionNames: []string{"y", "x"}}
	a := must(zarr.At(memstore.New(), "v").CreateArray(t.Context(), spec, nil))(t)
	dir := t.TempDir()
	f := Format{Overviews: true, Folder: dir, edge: 16}
	for left := 0; left < 40_000; left += 3000 {
		if err := f.Write(t.Context(), datasetOf(t, a, nil), &broken{left}); !errors.Is(err, errFull) {
			t.Errorf("room for %d: %v", left, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	d := datasetOf(t, a, nil)
	end()
	if err := f.Write(ended, d, &broken{1 << 20}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted export: %v", err)
	}
	if left := must(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestDecoded exports unpacked numbers: missing ones are NaN. Short floats become longer.
func TestDecoded(t *testing.T) {
	dir := t.TempDir()
	_, a := plane(t, map[string]any{"_FillValue": 0, "scale_factor": 0.5}, nil)
	s := must(export.Of(t.Context(), must(a.View(selection.Selection(nil)))(t), true))(t)
	d := must(export.DatasetWith(t.Context(), "v", s))(t)
	file := must(os.Create(filepath.Join(dir, "a.tif")))(t)
	if err := (Format{CRS: "none"}).Write(t.Context(), d, file); err != nil {
		t.Fatal(err)
	}
	list := attributesOf(t, dir)
	if list["GDAL_NODATA"] != "nan" || strings.Contains(fmt.Sprint(list["GDAL_METADATA"]), "scale") {
		t.Errorf("decoded: %v", list)
	}
	half := must(zarr.At(memstore.New(), "v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1, 3}, Type: dtype.Of[dtype.Float16]()}, nil))(t)
	if err := zarr.Write(t.Context(), half, nil, []dtype.Float16{dtype.FromFloat32(1.5), dtype.FromFloat32(-2), 0}); err != nil {
		t.Fatal(err)
	}
	exported(t, dir, Format{Deflate: 1}, half, nil)
	full := must(readBack(t, dir).At("full").OpenArray(t.Context(), nil))(t)
	if got := must(zarr.Read[float32](t.Context(), full, nil))(t).Data; !slices.Equal(got, []float32{1.5, -2, 0}) {
		t.Errorf("floats of 16 bits became %v", got)
	}
}

// TestUnordered checks that a file whose tiles come in another order does not claim the
// usual one: columns of an array first, and chunks with several bands of planes that
// memory does not hold.
func TestUnordered(t *testing.T) {
	long := zarr.Spec{Shape: []int64{64, 1 << 14, 1 << 14}, Type: dtype.Uint16, DimensionNames: []string{"band", "y", "x"}, Chunks: []grid.Cut{grid.Every(32), grid.Every(256), grid.Every(256)}}
	columns := zarr.Spec{Shape: []int64{70, 50}, Type: dtype.Uint16, DimensionNames: []string{"x", "y"}}
	for _, spec := range []zarr.Spec{long, columns} {
		a := must(zarr.At(memstore.New(), "v").CreateArray(t.Context(), spec, nil))(t)
		p := must(Format{}.plan(t.Context(), datasetOf(t, a, nil)))(t)
		if p.note() != "" || p.ordered {
			t.Errorf("%v: the note %q", spec.Shape, p.note())
		}
		if bands := p.boxTile()[0]; p.band == 0 && bands != 32 {
			t.Errorf("%v: %d bands are read at a time", spec.Shape, bands)
		}
	}
}

// TestLabels takes pixels of labels as they are, and means of other numbers.
func TestLabels(t *testing.T) {
	for attributes, want := range map[string]string{"image-label": "nearest", "title": "mean"} {
		s := memstore.New()
		must(zarr.At(s, "").CreateGroup(t.Context(), map[string]any{attributes: map[string]any{}}, nil))(t)
		a := must(zarr.At(s, "v").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2, 2}, Type: dtype.Uint8}, nil))(t)
		if p := must(Format{}.plan(t.Context(), datasetOf(t, a, nil)))(t); string(p.method) != want {
			t.Errorf("%s: the method %s, want %s", attributes, p.method, want)
		}
	}
}
