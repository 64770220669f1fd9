// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/shuffle"
)

// misordered returns chunks of two numbers as netCDF-4 encodes them: with a checksum,
// then shuffled, where HDF5 leaves the bytes after the last whole element as they are.
func misordered(t *testing.T, numbers ...float64) (chunks []string) {
	t.Helper()
	made, err := codec.Default.New(numcodecs.Fletcher32())
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(numbers, 2) {
		var raw []byte
		for _, x := range pair {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
		}
		sum, err := made.(codec.BytesBytes).Encode(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := slices.Clone(sum)
		shuffle.Shuffle(shuffled[:len(raw)], sum[:len(raw)], 8)
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		w.Write(shuffled)
		w.Close()
		chunks = append(chunks, b.String())
	}
	return chunks
}

// TestMisordered materializes and converts arrays with a checksum before shuffle, which
// numcodecs neither reads nor writes. The results have the checksum behind the other
// codecs, can be appended to, and the command says so. References stay as they are.
func TestMisordered(t *testing.T) {
	dir := t.TempDir()
	chunks := misordered(t, 1, 2, 3, 4)
	const filters = `"filters": [{"id": "fletcher32"}, {"id": "shuffle", "elementsize": 8}], "compressor": {"id": "zlib", "level": 4}`
	var refs []string
	for i, c := range chunks {
		refs = append(refs, fmt.Sprintf(`"v/%d": "base64:%s"`, i, base64.StdEncoding.EncodeToString([]byte(c))))
	}
	zarray := `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f8", "fill_value": null, "order": "C", ` + filters + `}`
	overwrite(t, dir+"/k.json", fmt.Sprintf(`{"version": 1, "refs": {".zgroup": "{\"zarr_format\": 2}", "v/.zarray": %q, %s}}`, zarray, strings.Join(refs, ", ")))
	v3 := `{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float64", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
		"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0, "attributes": {"units": "K"}, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
		{"name": "numcodecs.fletcher32", "configuration": {}}, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 8}}, {"name": "numcodecs.zlib", "configuration": {"level": 4}}]}`
	overwrite(t, dir+"/real.zarr/zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
	overwrite(t, dir+"/real.zarr/v/zarr.json", v3)
	for i, c := range chunks {
		overwrite(t, fmt.Sprintf("%s/real.zarr/v/c/%d", dir, i), c)
	}
	must(t, "", "create", dir+"/real.zarr/w", "--shape", "4", "--dtype", "int32")
	must(t, "[1,2,3,4]", "write", dir+"/real.zarr/w", "--format", "json")
	must(t, "", "virtualize", dir+"/real.zarr", "-o", dir+"/n.vz")
	for i, args := range [][]string{
		{"materialize", dir + "/k.json"}, {"materialize", dir + "/n.vz"}, {"materialize", dir + "/n.vz/v"}, {"copy", dir + "/n.vz"},
		{"convert", dir + "/n.vz", "--to", "3"}, {"convert", dir + "/real.zarr", "--to", "3"}, {"convert", dir + "/real.zarr/v", "--to", "2"}, {"convert", dir + "/k.json", "--to", "2"},
	} {
		to := fmt.Sprintf("%s/to%d.zarr", dir, i)
		args = slices.Insert(args, 2, to)
		before := treeOf(t, dir)
		for _, dry := range []bool{true, false} {
			line := args
			if dry {
				line = append(line, "--dry-run")
			}
			out, errs, status := execute(t, "", line...)
			if status != 0 || !strings.Contains(out+errs, "a checksum before shuffle") || strings.Count(out+errs, "checksum comes last") != 1 || dry && treeOf(t, dir) != before {
				t.Fatalf("%q: status %d, %s%s", line, status, out, errs)
			}
		}
		array := to
		if filepath.Base(args[1]) != "v" {
			array += "/v"
			if strings.Contains(args[1], "n.vz") {
				must(t, "", "equal", dir+"/real.zarr/w", to+"/w")
			}
		}
		must(t, "", "equal", dir+"/real.zarr/v", array)
		must(t, "[5]", "append", array, "--format", "json", "--alone")
		if got := must(t, "", "export", array, "--format", "json"); got != "[1.0,2.0,3.0,4.0,5.0]\n" {
			t.Errorf("%q: %s", args, got)
		}
		a, err := zarr.OpenArray(t.Context(), array, nil)
		if err != nil {
			t.Fatal(err)
		}
		if last := a.Metadata().Codecs[len(a.Metadata().Codecs)-1].Name; last != "numcodecs.fletcher32" {
			t.Errorf("%q: the last codec is %s", args, last)
		}
		a.Close()
	}
	// A copy of a real array keeps its bytes, and so does a mirror of references.
	must(t, "", "copy", dir+"/real.zarr", dir+"/same.zarr")
	must(t, "", "copy", "--sync", dir+"/n.vz", dir+"/mirror.zarr")
	for _, place := range []string{"same.zarr", "mirror.zarr"} {
		if read(t, dir+"/"+place+"/v/c/1") != chunks[1] {
			t.Errorf("%s has other bytes", place)
		}
	}
	// Such an array cannot be written, and the message says what helps.
	_, errs, status := execute(t, "[5]", "append", dir+"/same.zarr/v", "--format", "json", "--alone")
	if status != 1 || !strings.Contains(errs, "make a new array with the checksum behind all other codecs (varve convert "+dir+"/same.zarr/v DST --to 3)") {
		t.Errorf("status %d, %s", status, errs)
	}
}
