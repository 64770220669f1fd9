package main

import (
	"strings"
	"testing"
)

// TestReaders checks who is known to read arrays of several kinds, and that unlock says so.
func TestReaders(t *testing.T) {
	regular := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[3,3]")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--dtype", "int8", "--chunks", "[2,3]"}, "Varve, zarr-python ≥ 3.2, xarray ≥ 2026.9, zarrs ≥ 0.23.8, TensorStore ≥ 0.1.85, zarrita ≥ 0.7.5, GDAL ≥ 3.13"},
		{
			[]string{"--dtype", "int8", "--chunks", "[[2,2],3]"},
			"Varve, zarr-python ≥ 3.2 (array.rectilinear_chunks), xarray ≥ 2026.9 (array.rectilinear_chunks, no appends), " +
				"zarrs ≥ 0.23.8; not known: TensorStore, zarrita, GDAL",
		},
		{[]string{"--dtype", "bfloat16", "--chunks", "[[2,2],3]"}, "Varve, zarrs ≥ 0.23.8; not known: zarr-python, xarray, TensorStore, zarrita, GDAL"},
		{[]string{"--dtype", "string", "--chunks", "[2,3]"}, "Varve, zarr-python ≥ 3.2, xarray ≥ 2026.9, zarrs ≥ 0.23.8; not known: TensorStore, zarrita, GDAL"},
		{[]string{"--dtype", "int8", "--zarr-format", "2", "--chunks", "[2,3]"}, "zarr-python 2.18"},
		{[]string{"--dtype", "int8", "--shards", "[4,3]", "--chunks", "[2,3]"}, "TensorStore ≥ 0.1.85"},
		{
			[]string{"--dtype", "int8", "--shards", "[4,3]", "--chunks", "[2,3]", "--codecs", `["bytes", {"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}]`},
			"zarr-python ≥ 3.2, xarray ≥ 2026.9; not known: zarrs, TensorStore, zarrita, GDAL",
		},
	} {
		node := newNode(t, append([]string{"--shape", "4,3"}, c.args...)...)
		if got := must(t, "", "info", node); !strings.Contains(got, c.want) {
			t.Errorf("%q: %s", c.args, got)
		}
	}
	got := must(t, "", "unlock", regular)
	if !strings.Contains(got, "readable by Varve, zarr-python ≥ 3.2 (array.rectilinear_chunks)") {
		t.Error(got)
	}
	list, _ := decode(t, must(t, "", "info", "--json", regular))["readable_by"].([]any)
	if len(list) != 3 {
		t.Errorf("the programs are %q", list)
	}
}
