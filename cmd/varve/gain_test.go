// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// block is numbers of two bytes, in an order, with a shape.
type block struct {
	shape []int64
	words []uint16
}

func newBlock(shape ...int64) block {
	n := int64(1)
	for _, l := range shape {
		n *= l
	}
	b := block{shape: shape}
	for i := range n {
		b.words = append(b.words, uint16(1000+257*i))
	}
	return b
}

// bytes returns the numbers in C or Fortran order.
func (b block) bytes(order binary.AppendByteOrder, fortran bool) (data []byte) {
	for i := range b.words {
		at := i
		if fortran { // i counts the first axis fastest
			at = 0
			left, step := i, len(b.words)
			for _, n := range b.shape {
				step /= int(n)
				at += left % int(n) * step
				left /= int(n)
			}
		}
		data = order.AppendUint16(data, b.words[at])
	}
	return data
}

// json returns nested lists.
func (b block) json() string {
	if len(b.shape) == 0 {
		return fmt.Sprint(b.words[0])
	}
	var parts []string
	for part := range slices.Chunk(b.words, len(b.words)/int(b.shape[0])) {
		parts = append(parts, block{b.shape[1:], part}.json())
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestAppendSources appends the same values from every kind of source, along every axis,
// to every kind of chunks. The arrays must be equal.
func TestAppendSources(t *testing.T) {
	racing.Skip(t)
	u2 := dtype.Uint16
	for axis := range 3 {
		shape := []int64{5, 4, 6}
		b := newBlock(shape...)
		base := []string{"5", "4", "6"}
		base[axis] = "3"
		little, big := b.bytes(binary.LittleEndian, false), b.bytes(binary.BigEndian, false)
		rawFile := filepath.Join(t.TempDir(), "values.raw")
		overwrite(t, rawFile, string(little))
		jsonFile := filepath.Join(t.TempDir(), "values.json")
		overwrite(t, jsonFile, b.json())
		node := newNode(t, "--shape", "5,4,6", "--dtype", "uint16", "--chunks", "2,3,4")
		must(t, string(little), "write", node)
		swapped := newNode(t, "--shape", "5,4,6", "--dtype", ">u2", "--chunks", "5,1,6")
		must(t, string(little), "write", swapped)
		sources := map[string][]string{
			"little": {npyFile(t, npy.Header{Type: u2, Shape: shape}, little)},
			"big":    {npyFile(t, npy.Header{Type: u2, Shape: shape, BigEndian: true}, big)},
			"fortran": {npyFile(t, npy.Header{Type: u2, Shape: shape, Fortran: true, BigEndian: true},
				b.bytes(binary.BigEndian, true))},
			"raw": {rawFile}, "json": {jsonFile}, "node": {node}, "swapped node": {swapped}, "standard input": nil,
			"npy on standard input": {"-", "--format", "npy"},
		}
		for kind, chunks := range map[string][]string{
			"regular": {"--chunks", "2,2,4"}, "listed": {"--chunks", "[[1,2,2],[3,1],[3,3]]"},
			"sharded": {"--shards", "4,2,4", "--chunks", "2,2,2"},
		} {
			if kind == "listed" {
				lists := []string{"[1,2,2]", "[3,1]", "[3,3]"}
				lists[axis] = "[2,1]"
				chunks = []string{"--chunks", "[" + strings.Join(lists, ",") + "]"}
			}
			for name, source := range sources {
				stdin := string(little)
				if len(source) > 1 {
					stdin = string(append(npy.Header{Type: u2, Shape: shape}.Append(nil), little...))
				}
				to := newNode(t, append([]string{"--shape", strings.Join(base, ","), "--dtype", "uint16"}, chunks...)...)
				must(t, "", "write", to, "--value", "9")
				must(t, stdin, append([]string{"append", to, "--axis", fmt.Sprint(axis)}, source...)...)
				sel := []string{":", ":", ":"}
				sel[axis] = "3:"
				if got := must(t, "", "export", to, "--format", "json", "--select", strings.Join(sel, ",")); got != b.json()+"\n" {
					t.Fatalf("%s to %s chunks along axis %d: %s", name, kind, axis, got)
				}
				sel[axis] = ":3"
				if got := must(t, "", "export", to, "--format", "raw", "--select", strings.Join(sel, ",")); strings.Trim(got, "\x09\x00") != "" {
					t.Fatalf("%s to %s chunks along axis %d: the beginning is %q", name, kind, axis, got)
				}
			}
		}
	}
}

// TestAppendOnePlaneOfANode appends an array that lacks the axis which grows.
func TestAppendOnePlaneOfANode(t *testing.T) {
	plane := newNode(t, "--shape", "2,3", "--dtype", "int8", "--chunks", "1,2")
	must(t, "\x01\x02\x03\x04\x05\x06", "write", plane)
	for axis, shape := range []string{"0,2,3", "2,0,3", "2,3,0"} {
		to := newNode(t, "--shape", shape, "--dtype", "int8", "--chunks", "1")
		must(t, "", "append", to, plane, "--axis", fmt.Sprint(axis))
		if got := must(t, "", "export", to, "--format", "raw"); got != "\x01\x02\x03\x04\x05\x06" {
			t.Errorf("axis %d: %q", axis, got)
		}
	}
}

// gainOf opens a source to append to an array.
func gainOf(t *testing.T, node, file string) (*growth.Gain, *zarr.Array) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	g, err := growth.Open(cmd, file, "", a, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	return g, a
}

// TestAppendOfAFileThatShrinks appends a file that is truncated meanwhile. Nothing may be
// appended.
func TestAppendOfAFileThatShrinks(t *testing.T) {
	node := newNode(t, "--shape", "1,4", "--dtype", "int16", "--chunks", "2,2")
	for _, c := range []struct {
		name string
		head []byte
	}{{"a.raw", nil}, {"a.npy", npy.Header{Type: dtype.Int16, Shape: []int64{9, 4}}.Append(nil)}} {
		file := filepath.Join(t.TempDir(), c.name)
		overwrite(t, file, string(c.head)+strings.Repeat("x", 72))
		g, a := gainOf(t, node, file)
		if err := os.Truncate(file, int64(len(c.head)+40)); err != nil {
			t.Fatal(err)
		}
		err := g.Append(t.Context(), a, 0, nil)
		if !errors.Is(err, zarr.ErrSourceChanged) || zarr.KindOf(err) != "source-changed" || !strings.Contains(err.Error(), c.name+" was truncated") {
			t.Errorf("%s: %v (%s)", c.name, err, zarr.KindOf(err))
		}
		if err := errors.Join(g.Close(), a.Close()); err != nil {
			t.Error(err)
		}
		if shape := decode(t, must(t, "", "info", node, "--json"))["shape"]; fmt.Sprint(shape) != "[1 4]" {
			t.Errorf("%s: shape %v", c.name, shape)
		}
	}
}

// TestAppendTakesLittleMemory appends a large sparse file of zeros.
func TestAppendTakesLittleMemory(t *testing.T) {
	racing.Skip(t)
	const length, most = 512 << 20, 256 << 20
	file := filepath.Join(t.TempDir(), "zeros.raw")
	overwrite(t, file, "")
	if err := os.Truncate(file, length); err != nil {
		t.Fatal(err)
	}
	for axis, shape := range []string{"0,1024,512", "1024,0,512"} {
		node := newNode(t, "--shape", shape, "--dtype", "int8", "--chunks", "64,64,256")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		must(t, "", "append", node, file, "--axis", fmt.Sprint(axis))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("axis %d: %d bytes for a file of %d", axis, n, length)
		}
	}
}

// TestAppendOfLongStreams checks that a stream is buffered in a file, which is removed
// after the append or an error.
func TestAppendOfLongStreams(t *testing.T) {
	racing.Skip(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	node := newNode(t, "--shape", "0", "--dtype", "int16", "--chunks", "4194304")
	var long bytes.Buffer
	for i := range localfile.SpoolMemory {
		long.Write([]byte{byte(i), byte(i >> 16)})
	}
	must(t, long.String(), "append", node)
	for _, at := range []int{0, localfile.SpoolMemory/2 - 1, localfile.SpoolMemory / 2, localfile.SpoolMemory - 1} {
		if got, want := must(t, "", "export", node, "--format", "raw", "--select", fmt.Sprint(at)), long.String()[2*at:2*at+2]; got != want {
			t.Errorf("%d: %q, want %q", at, got, want)
		}
	}
	if _, errs, status := execute(t, long.String()[1:], "append", node); status != 1 || !strings.Contains(errs, "not a whole number of elements") {
		t.Errorf("status %d, %s", status, errs)
	}
	head := npy.Header{Type: dtype.Int16, Shape: []int64{localfile.SpoolMemory + 1}}.Append(nil)
	if _, errs, status := execute(t, string(head)+long.String(), "append", node, "-", "--format", "npy"); status != 1 || !strings.Contains(errs, "its header requires") {
		t.Errorf("status %d, %s", status, errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestAppendRawToEmptyPlanes refuses values for planes without elements.
func TestAppendRawToEmptyPlanes(t *testing.T) {
	node := newNode(t, "--shape", "2,0", "--dtype", "int8", "--chunks", "1")
	if _, errs, status := execute(t, "123", "append", node); status != 1 || !strings.Contains(errs, "but planes of shape [2 0] have none") {
		t.Errorf("status %d, %s", status, errs)
	}
}
