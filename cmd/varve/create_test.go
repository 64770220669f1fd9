// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

func TestCreate(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want []string // parts of the document without white space
	}{
		"defaults": {[]string{"--shape", "60,100", "--dtype", "int32"},
			[]string{`"shape":[60,100]`, `"data_type":"int32"`, `"name":"regular"`, `"fill_value":0`, `"name":"zstd"`, `"separator":"/"`}},
		"rectilinear": {[]string{"--shape", "60,100", "--dtype", "int32", "--chunks", "[[10,20,30],25]"},
			[]string{`"chunk_shapes":[[10,20,30],25]`}},
		"runs": {[]string{"--shape", "100,100", "--dtype", "int8", "--chunks", "[[[25,4]],[50,50]]"},
			[]string{`"chunk_shapes":[[[25,4]],[[50,2]]]`}},
		"every axis": {[]string{"--shape", "60,100", "--dtype", "int32", "--chunks", "10"}, []string{`"chunk_shape":[10,10]`}},
		"rank 0":     {[]string{"--shape", "", "--dtype", "float64", "--fill", "NaN"}, []string{`"shape":[]`, `"fill_value":"NaN"`}},
		"fill JSON":  {[]string{"--shape", "2", "--dtype", "complex64", "--fill", `[1.5, "NaN"]`}, []string{`"fill_value":[1.5,"NaN"]`}},
		"codecs": {[]string{"--shape", "2,2", "--dtype", "int16", "--codecs", `[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},"crc32c"]`},
			[]string{`"order":[1,0]`, `"endian":"big"`, `{"name":"crc32c"}`}},
		"gzip":  {[]string{"--shape", "2", "--dtype", "int16", "--compressor", "gzip:3"}, []string{`"name":"gzip","configuration":{"level":3}`}},
		"zstd":  {[]string{"--shape", "2", "--dtype", "int8", "--compressor", "zstd:7"}, []string{`"level":7`}},
		"none":  {[]string{"--shape", "2", "--dtype", "int8", "--compressor", "none"}, []string{`"codecs":[{"name":"bytes"}]`}},
		"keys":  {[]string{"--shape", "2", "--dtype", "int8", "--chunk-key-encoding", "v2."}, []string{`"name":"v2","configuration":{"separator":"."}`}},
		"names": {[]string{"--shape", "2,3,4", "--dtype", "int8", "--dimension-names", "t,,x"}, []string{`"dimension_names":["t",null,"x"]`}},
		"attributes": {[]string{"--shape", "2", "--dtype", "int8", "--attributes", `{"scale": 1.0, "big": 123456789012345678901}`},
			[]string{`"scale":1.0,"big":123456789012345678901`}},
		"raw": {[]string{"--shape", "2", "--dtype", "r24", "--fill", "[1, 2, 3]"}, []string{`"data_type":"r24"`, `"fill_value":[1,2,3]`}},
	} {
		node := filepath.Join(t.TempDir(), "s.zarr", "a")
		got := phrase.Compact([]byte(must(t, "", append([]string{"create", node, "--json"}, c.args...)...)))
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s is not in %s", name, part, got)
			}
		}
		if group := must(t, "", "info", filepath.Dir(node)); !strings.HasPrefix(group, "group") {
			t.Errorf("%s: %s", name, group)
		}
	}
}

func TestCreateGroup(t *testing.T) {
	node := filepath.Join(t.TempDir(), "g")
	got := decode(t, must(t, "", "create", node, "--group", "--attributes", `{"a": 1}`, "--json"))
	if got["kind"] != "group" || got["attributes"].(map[string]any)["a"] != 1.0 {
		t.Error(got)
	}
}

func TestCreateOverwrites(t *testing.T) {
	node := fixture(t, "rect_2d.zarr")
	must(t, "", "create", node, "--shape", "3", "--dtype", "int8", "--overwrite")
	if got := must(t, "", "cat", node); got != "[0 0 0]\n" {
		t.Error(got)
	}
}

// npyFile writes a .npy file and returns its name.
func npyFile(t *testing.T, h npy.Header, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "values.npy")
	overwrite(t, name, string(append(h.Append(nil), data...)))
	return name
}

func TestCreateFromNPY(t *testing.T) {
	h := npy.Header{Type: dtype.Int16, BigEndian: true, Fortran: true, Shape: []int64{2, 3}}
	file := npyFile(t, h, []byte{0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6})
	node := filepath.Join(t.TempDir(), "a.zarr")
	must(t, "", "create", node, "--from", file, "--chunks", "[[1,1],3]")
	if got := must(t, "", "cat", node); got != "[[1 2 3]\n [4 5 6]]\n" {
		t.Error(got)
	}
	out := filepath.Join(t.TempDir(), "out.npy")
	must(t, "", "export", node, "-o", out)
	got, err := os.ReadFile(out)
	want := npy.Header{Type: h.Type, Shape: h.Shape}.Append(nil)
	if want = append(want, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCreateFromOtherFiles checks the hints for files that are not .npy.
func TestCreateFromOtherFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, "", "create", filepath.Join(dir, "a.zarr"), "--shape", "2", "--dtype", "int8")
	for name, text := range map[string]string{"v.json": "[1, 2, 3, 4, 5, 6]", "v.csv": "1,2,3\n4,5,6\n", "short.csv": "1\n", "hello.txt": "hello", "v.npz": "PK\x03\x04", "damaged.npy": "hello"} {
		overwrite(t, filepath.Join(dir, name), text)
	}
	for name, want := range map[string]string{"a.zarr": "varve copy ", "v.json": "varve write NODE ", "v.csv": "numpy.loadtxt", "short.csv": "numpy.loadtxt",
		"hello.txt": "hello.txt is no .npy file", "v.npz": "zip archive", "damaged.npy": "magic number",
	} {
		_, errs, status := execute(t, "", "create", filepath.Join(dir, "new.zarr"), "--from", filepath.Join(dir, name))
		if status == 0 || !strings.Contains(errs, "--from takes") || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
	}
}

// TestCreateFromWrongValues creates an array from values whose errors show only when they
// are written.
func TestCreateFromWrongValues(t *testing.T) {
	file := npyFile(t, npy.Header{Type: dtype.Bool, Shape: []int64{2}}, []byte{1, 2})
	node := filepath.Join(t.TempDir(), "s.zarr", "a")
	_, errs, status := execute(t, "", "create", node, "--from", file)
	if status != 1 || !strings.Contains(errs, "; the new array was deleted again\n") || !strings.Contains(errs, node) {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, err := os.Stat(filepath.Join(node, "zarr.json")); err == nil {
		t.Error("the array is still there")
	}
}

// breaking is a stream that is interrupted before its second half.
type breaking struct {
	r      io.Reader
	cancel func()
}

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.r.Read(p[:min(len(p), 100)])
	b.cancel()
	return n, err
}

func TestCreateOverwritesOnlyWithWhatIsThere(t *testing.T) {
	h := npy.Header{Type: dtype.Int8, Shape: []int64{300}}
	for name, data := range map[string]string{"short": "123", "long": strings.Repeat("1", 301), "no header": ""} {
		node := newNode(t, "--shape", "2", "--dtype", "int8", "--fill", "7")
		stdin := string(h.Append(nil)) + data
		if name == "no header" {
			stdin = ""
		}
		if _, errs, status := execute(t, stdin, "create", node, "--from", "-", "--overwrite"); status != 1 || !strings.Contains(errs, "standard input") {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var errs bytes.Buffer
		in := breaking{strings.NewReader(string(h.Append(nil)) + strings.Repeat("1", 300)), cancel}
		status := run(ctx, []string{"create", node, "--from", "-", "--overwrite"}, console.Streams{In: in, Out: io.Discard, Err: &errs})
		if want := "varve: interrupted: create " + node + "\n"; status != 1 || errs.String() != want {
			t.Errorf("%s: status %d, %s", name, status, errs.String())
		}
		if got := must(t, "", "cat", node); got != "[7 7]\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestCreateFromDamagedNPY(t *testing.T) {
	h := npy.Header{Type: dtype.Int16, Shape: []int64{2, 3}}
	for name, file := range map[string]string{
		"short":    npyFile(t, h, make([]byte, 11)),
		"long":     npyFile(t, h, make([]byte, 13)),
		"huge":     npyFile(t, npy.Header{Type: h.Type, Shape: []int64{1 << 40, 1 << 20}}, nil),
		"overflow": npyFile(t, npy.Header{Type: h.Type, Shape: []int64{1 << 40, 1 << 40}}, nil),
	} {
		node := filepath.Join(t.TempDir(), "a.zarr")
		if _, errs, status := execute(t, "", "create", node, "--from", file); status != 1 || !strings.Contains(errs, "values.npy") {
			t.Errorf("%s: status %d, %s", name, status, errs)
		}
		if _, err := os.Stat(node); err == nil {
			t.Errorf("%s: the array was created", name)
		}
	}
}
