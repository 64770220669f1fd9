// SPDX-License-Identifier: Apache-2.0

package netcdf_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/export/netcdf"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestRefusals checks that what a format lacks is refused by name before a file is made.
func TestRefusals(t *testing.T) {
	along := func(typ dtype.Type, names ...string) zarr.Spec {
		s := zarr.Spec{Type: typ, DimensionNames: names}
		for range names {
			s.Shape = append(s.Shape, 2)
		}
		return s
	}
	with := func(s zarr.Spec, name string, value any) zarr.Spec {
		s.Attributes = map[string]any{name: value}
		return s
	}
	long := zarr.Spec{Shape: []int64{1 << 31}, Type: dtype.Int8, DimensionNames: []string{"x"}, Chunks: []grid.Cut{grid.Every(1 << 20)}}
	wide := zarr.Spec{Shape: []int64{1 << 20, 1 << 12}, Type: dtype.Int8, DimensionNames: []string{"x", "y"}, Chunks: []grid.Cut{grid.Every(1 << 10), grid.Every(1 << 12)}}
	years := must(dtype.Parse("numpy.datetime64", []byte(`{"unit": "Y", "scale_factor": 1}`)))(t)
	point := must(dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Int8}))(t)
	raw := must(dtype.RawBytes(3))(t)
	four := netcdf.Format{Variant: export.NetCDF4}
	three := netcdf.Format{Variant: export.NetCDF3}
	five := netcdf.Format{Variant: export.CDF5}
	for name, c := range map[string]struct {
		format netcdf.Format
		arrays map[string]zarr.Spec
		want   []string
	}{
		"complex":    {four, map[string]zarr.Spec{"a": along(dtype.Complex64, "x")}, []string{"a: complex numbers", "npy"}},
		"struct":     {four, map[string]zarr.Spec{"a": along(point, "x")}, []string{"structs", "fields"}},
		"raw":        {four, map[string]zarr.Spec{"a": along(raw, "x")}, []string{"type raw_bytes[3]", "npy"}},
		"years":      {four, map[string]zarr.Spec{"a": along(years, "x")}, []string{"no unit of that length"}},
		"lengths":    {four, map[string]zarr.Spec{"a": along(dtype.Int8, "x"), "b": {Shape: []int64{3}, Type: dtype.Int8, DimensionNames: []string{"x"}}}, []string{`b: its dimension "x" has length 3`, "has 2", "one by one"}},
		"reserved":   {four, map[string]zarr.Spec{"a": with(along(dtype.Int8, "x"), "DIMENSION_LIST", 1)}, []string{`"DIMENSION_LIST" for itself`}},
		"attribute":  {four, map[string]zarr.Spec{"a": with(along(dtype.Int8, "x"), "long", make([]int, 20_000))}, []string{`"long" has 80004 bytes`, "as an array"}},
		"dimension":  {four, map[string]zarr.Spec{"a": along(dtype.Int8, "x/y")}, []string{`dimension name "x/y"`, "slash"}},
		"name":       {four, map[string]zarr.Spec{"a ": along(dtype.Int8, "x")}, []string{`array name "a "`, "ends with a blank"}},
		"group":      {four, map[string]zarr.Spec{"a": along(dtype.Int8, "x"), "x/b": along(dtype.Int8, "y")}, []string{`a dimension and a group of the name "x"`}},
		"unlimited":  {netcdf.Format{Variant: export.NetCDF4, Unlimited: []string{"t"}}, map[string]zarr.Spec{"a": along(dtype.Int8, "x")}, []string{`no array has a dimension "t"`}},
		"groups":     {three, map[string]zarr.Spec{"g/a": along(dtype.Int8, "x")}, []string{"netcdf3 has no groups", "netcdf4"}},
		"int64":      {three, map[string]zarr.Spec{"a": along(dtype.Int64, "x", "y")}, []string{"type int64", "netcdf3 lacks", "cdf5 or netcdf4"}},
		"text":       {five, map[string]zarr.Spec{"a": along(dtype.String, "x")}, []string{"type string", "cdf5 lacks", "netcdf4"}},
		"texts":      {five, map[string]zarr.Spec{"a": with(along(dtype.Int8, "x"), "list", []string{"a", "b"})}, []string{`"list" is a list of texts`}},
		"integer":    {three, map[string]zarr.Spec{"a": with(along(dtype.Int8, "x"), "n", int64(1<<60+1))}, []string{`"n" has numbers of type int64`}},
		"two":        {netcdf.Format{Variant: export.NetCDF3, Unlimited: []string{"x", "y"}}, map[string]zarr.Spec{"a": along(dtype.Int8, "x", "y")}, []string{"are unlimited, and netcdf3 has one"}},
		"not first":  {netcdf.Format{Variant: export.CDF5, Unlimited: []string{"y"}}, map[string]zarr.Spec{"a": along(dtype.Int8, "x", "y")}, []string{`its dimension "y" is not the first`, "--unlimited none"}},
		"long":       {three, map[string]zarr.Spec{"a": long}, []string{"length 2147483648", "cdf5"}},
		"wide":       {three, map[string]zarr.Spec{"a": wide}, []string{"4294967296 bytes", "netcdf3-64"}},
		"wide in 64": {netcdf.Format{Variant: export.Offset64}, map[string]zarr.Spec{"a": wide}, []string{"4294967296 bytes", "cdf5"}},
	} {
		s := memstore.New()
		must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
		for path, spec := range c.arrays {
			must(zarr.At(s, path).CreateArray(t.Context(), spec, nil))(t)
		}
		g := must(zarr.At(s, "").OpenGroup(t.Context(), nil))(t)
		err := c.format.Check(t.Context(), must(export.DatasetOf(t.Context(), g, whole))(t))
		if err == nil || !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q in it", name, err, part)
			}
		}
	}
}

// TestPointsRefused checks that a selection without axes is refused.
func TestPointsRefused(t *testing.T) {
	s := memstore.New()
	a := arrayOf(t, s, "a", zarr.Spec{Shape: []int64{2, 2}, Type: dtype.Int8}, int8(1), 2, 3, 4)
	v := must(a.View(selection.Points{selection.Coords(0, 1), selection.Coords(1, 1)}))(t)
	_, err := export.DatasetWith(t.Context(), "a", must(export.Of(t.Context(), v, false))(t))
	if err == nil || !strings.Contains(err.Error(), "points and masks") {
		t.Error(err)
	}
}

// failing is a file whose disk is full after some bytes.
type failing struct {
	*os.File
	left int
}

var errFull = errors.New("the disk is full")

// Write implements [io.Writer].
func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return f.File.Write(p)
}

// WriteAt implements [io.WriterAt].
func (f *failing) WriteAt(p []byte, at int64) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return f.File.WriteAt(p, at)
}

var _ io.WriterAt = (*failing)(nil)

// TestFailingFile stops at each length of a file. The error is that of the file, and a
// NetCDF-4 file that is not complete has no superblock.
func TestFailingFile(t *testing.T) {
	s, dir := memstore.New(), t.TempDir()
	must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))(t)
	values := make([]int32, 40_000)
	for i := range values {
		values[i] = int32(i * i)
	}
	arrayOf(t, s, "a", zarr.Spec{Shape: []int64{200, 200}, Type: dtype.Int32, Chunks: grid.Chunks(50, 200)}, values...)
	g := must(zarr.At(s, "").OpenGroup(t.Context(), nil))(t)
	d := must(export.DatasetOf(t.Context(), g, whole))(t)
	for _, f := range []netcdf.Format{{Variant: export.NetCDF4, Deflate: 1}, {Variant: export.NetCDF3}} {
		write(t, dir, f, d)
		complete := must(os.ReadFile(filepath.Join(dir, "a.nc")))(t)
		for left := 0; left < len(complete); left += 1 + len(complete)/50 {
			file := must(os.Create(filepath.Join(dir, "b.nc")))(t)
			err := f.Write(t.Context(), d, &failing{file, left})
			if !errors.Is(err, errFull) {
				t.Fatalf("%s: %d bytes: %v", f.Variant, left, err)
			}
			file.Close()
			if b := must(os.ReadFile(filepath.Join(dir, "b.nc")))(t); f.Variant == export.NetCDF4 && bytes.HasPrefix(b, []byte("\x89HDF")) {
				t.Fatalf("%d bytes: a file that is not complete has a superblock", left)
			}
		}
		// The order of goroutines does not matter.
		write(t, dir, f, d)
		if b := must(os.ReadFile(filepath.Join(dir, "a.nc")))(t); !bytes.Equal(b, complete) {
			t.Errorf("%s: equal data makes different files", f.Variant)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := must(os.Create(filepath.Join(dir, "b.nc")))(t)
	defer file.Close()
	if err := (netcdf.Format{Variant: export.NetCDF4}).Write(ctx, d, file); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
