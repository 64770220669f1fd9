// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commandOf builds the command, and returns a function that runs it. Its result says
// whether the command has left something out.
func commandOf(t *testing.T, dir string) func(args ...string) (partly bool) {
	t.Helper()
	program := filepath.Join(dir, "varve")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../cmd/varve"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) bool {
		t.Helper()
		const leftOut = 3
		c := exec.Command(program, args...)
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState.ExitCode() != leftOut {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return err != nil
	}
}

// judgeNetCDF returns a function that runs netcdf.py.
func judgeNetCDF(t *testing.T) func(args ...string) {
	t.Helper()
	python := interpreter(t)
	if out, err := exec.Command(python, "-c", "import xarray, netCDF4, h5py, h5netcdf, scipy").CombinedOutput(); err != nil {
		missing := "no netCDF4, h5py, h5netcdf or scipy; run interop/setup: " + strings.TrimSpace(string(out))
		if os.Getenv("CI") == "true" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	return func(args ...string) {
		t.Helper()
		if out, err := exec.Command(python, append([]string{"netcdf.py"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("netcdf.py %.200q: %v\n%s", args, err, out)
		}
	}
}

// TestNetCDF exports groups of xarray in both formats of Zarr as NetCDF. xarray reads the
// same from the files by netCDF4, h5netcdf and scipy; h5py, GDAL, ncdump and nccopy read
// them, and netCDF4 appends to those of NetCDF-4.
func TestNetCDF(t *testing.T) {
	judge, dir := judgeNetCDF(t), t.TempDir()
	varve := commandOf(t, dir)
	judge("write", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"era2", "era3"} {
		varve("export", at(name+".zarr"), "-o", at(name+".nc"), "--unlimited", "time")
		judge("read", dir, name, at(name+".nc"))
		judge("append", at(name+".nc"))
		varve("export", at(name+".zarr"), "-o", at(name+".nc"), "--deflate", "0")
		judge("read", dir, name, at(name+".nc"))
	}
	for _, format := range []string{"netcdf3", "netcdf3-64", "cdf5"} {
		for _, unlimited := range []string{"time", "none"} {
			for _, name := range []string{"classic2", "classic3"} {
				varve("export", at(name+".zarr"), "-o", at("c.nc"), "--format", format, "--unlimited", unlimited)
				judge("read", dir, name, at("c.nc"))
			}
		}
	}
}

// TestNetCDFTrips shows the files of package virtual as Zarr, and exports them again.
// netCDF4 sees the same dimensions, variables, types, attributes and elements.
func TestNetCDFTrips(t *testing.T) {
	judge, dir := judgeNetCDF(t), t.TempDir()
	varve := commandOf(t, dir)
	files, err := filepath.Glob("../virtual/testdata/*.nc")
	check(t, err)
	// Zarr has no arrays without elements in an empty file, structs have no place in
	// NetCDF, and netCDF4 lacks filters of one file.
	without := map[string]bool{"nc3_empty.nc": true, "nc4_dimensions.nc": true, "nc4_filters.nc": true}
	var pairs []string
	for _, file := range files {
		name := filepath.Base(file)
		if without[name] {
			continue
		}
		shown, made := filepath.Join(dir, name+".vz"), filepath.Join(dir, name)
		if varve("virtualize", file, "-o", shown) {
			t.Logf("%s: a part is left out", name)
			continue
		}
		allowed, err := filepath.Abs("../virtual/testdata")
		check(t, err)
		varve("export", shown, "-o", made, "--allow", allowed)
		pairs = append(pairs, file, made)
	}
	if len(pairs) < 2*40 {
		t.Errorf("only %d files went through", len(pairs)/2)
	}
	judge(append([]string{"trips"}, pairs...)...)
}
