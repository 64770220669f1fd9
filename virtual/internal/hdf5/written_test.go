// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// buffer is a file in memory.
type buffer struct{ bytes.Buffer }

// WriteAt implements [io.WriterAt].
func (b *buffer) WriteAt(p []byte, at int64) (int, error) { return copy(b.Bytes()[at:], p), nil }

var _ io.WriterAt = (*buffer)(nil)

// written is an array that internal/hdf5 has written, and what a scan has to find.
type written struct {
	path   string
	typ    string
	set    *hdf5.Dataset
	chunks map[int64][]byte
	names  []string
	texts  []string // of an array of texts
}

// drawing makes a random file.
type drawing struct {
	t      *rapid.T
	w      *hdf5.Writer
	arrays map[string]*written
	groups map[string][]scan.Attribute
	scales []*hdf5.Dataset
	names  []string
}

func (d *drawing) check(err error) {
	if err != nil {
		d.t.Fatal(err)
	}
}

// attributes draws attributes of all forms, at times more than a header usually has.
func (d *drawing) attributes(label string) (list []hdf5.Attribute, want []scan.Attribute) {
	for i := range rapid.IntRange(0, 12).Draw(d.t, label+" attributes") {
		name := fmt.Sprintf("a%d", i)
		var a hdf5.Attribute
		var v any
		switch rapid.IntRange(0, 4).Draw(d.t, "form") {
		case 0:
			text := rapid.StringMatching(`[a-zé]{0,20}`).Draw(d.t, "text")
			a, v = hdf5.String(name, text), text
		case 1:
			a, v = hdf5.Values(name, hdf5.Integer(2, true), []int64{2}, []byte{255, 255, 1, 0}), []int16{-1, 1}
		case 2:
			a, v = hdf5.Values(name, hdf5.Float(8), nil, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}), 1.5
		case 3:
			a, v = hdf5.Strings(name, "x", "", "ß"), []string{"x", "", "ß"}
		case 4:
			a, v = hdf5.String(name, string(bytes.Repeat([]byte{'y'}, 40_000))), string(bytes.Repeat([]byte{'y'}, 40_000))
		}
		list, want = append(list, a), append(want, scan.Attribute{Name: name, Value: v})
	}
	return list, want
}

// array draws an array, with its chunks in any order.
func (d *drawing) array(path string) *written {
	types := map[string]hdf5.Type{
		"int8": hdf5.Integer(1, true), "uint16": hdf5.Integer(2, false), "int32": hdf5.Integer(4, true), "uint64": hdf5.Integer(8, false),
		"float32": hdf5.Float(4), "float64": hdf5.Float(8), "string": hdf5.Text, "null_terminated_bytes": hdf5.Character,
	}
	names := []string{"int8", "uint16", "int32", "uint64", "float32", "float64", "string", "null_terminated_bytes"}
	a := &written{path: path, typ: rapid.SampledFrom(names).Draw(d.t, "type"), chunks: map[int64][]byte{}}
	set := &hdf5.Dataset{Type: types[a.typ]}
	a.set = set
	n := int64(1)
	var scales []*hdf5.Dataset
	for range rapid.IntRange(0, 3).Draw(d.t, "rank") {
		k := rapid.IntRange(0, len(d.scales)-1).Draw(d.t, "dimension")
		scales, a.names = append(scales, d.scales[k]), append(a.names, d.names[k])
		set.Shape = append(set.Shape, d.scales[k].Shape[0])
		n *= d.scales[k].Shape[0]
	}
	if a.typ == "string" && n > 1<<16 { // a scan refuses so many texts
		a.typ, set.Type = "int8", types["int8"]
	}
	if len(scales) > 0 && rapid.Bool().Draw(d.t, "attached") {
		set.SetScales(scales...)
	} else {
		a.names = nil
	}
	if len(set.Shape) > 0 && a.typ != "string" && rapid.Bool().Draw(d.t, "chunked") {
		d.chunks(a)
		return a
	}
	at, b := d.elements(a, n)
	a.chunks[0] = b
	set.SetElements(at, int64(len(b)))
	return a
}

// elements appends n elements. They come from a seed: a file has too many to draw each,
// and to make a failure smaller one by one.
func (d *drawing) elements(a *written, n int64) (at int64, b []byte) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(d.t, "seed"), 0))
	if a.typ == "string" {
		heap := hdf5.NewHeap(d.w.End())
		for range n {
			text := strings.Repeat("aü"[:1+2*random.IntN(2)], random.IntN(5))
			a.texts = append(a.texts, text)
			b = heap.AppendText(b, []byte(text))
		}
		_, err := d.w.Append(heap.Bytes())
		d.check(err)
	} else {
		b = make([]byte, int(n)*a.set.Type.Size)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
	}
	at, err := d.w.Append(b)
	d.check(err)
	return at, b
}

// chunks appends chunks, of which some are missing.
func (d *drawing) chunks(a *written) {
	count, bytes := int64(1), int64(1)
	for _, n := range a.set.Shape {
		length := rapid.Int64Range(1, n).Draw(d.t, "chunk")
		a.set.Chunk = append(a.set.Chunk, length)
		a.set.Unlimited = append(a.set.Unlimited, rapid.Bool().Draw(d.t, "unlimited"))
		count, bytes = count*((n+length-1)/length), bytes*length
	}
	order := make([]int64, count)
	for i := range order {
		order[i] = int64(i)
	}
	for _, number := range rapid.Permutation(order).Draw(d.t, "order") {
		if rapid.IntRange(0, 9).Draw(d.t, "missing") == 0 {
			continue
		}
		at, b := d.elements(a, bytes)
		a.set.AddChunk(number, at, len(b))
		a.chunks[number] = b
	}
}

// writtenFile draws a file and checks that a scan finds what it has.
func writtenFile(t *rapid.T) {
	var file buffer
	w, err := hdf5.NewWriter(&file)
	d := &drawing{t: t, w: w, arrays: map[string]*written{}, groups: map[string][]scan.Attribute{}}
	d.check(err)
	root := &hdf5.Group{}
	for i, n := range []int64{3, 70, 7} {
		name := fmt.Sprintf("d%d", i)
		s := &hdf5.Dataset{Type: hdf5.Integer(1, true), Shape: []int64{n}, ScaleName: name}
		at, err := w.Append(make([]byte, n))
		d.check(err)
		s.SetElements(at, n)
		root.AddDataset(name, s)
		d.scales, d.names = append(d.scales, s), append(d.names, name)
	}
	groups := map[string]*hdf5.Group{"": root}
	for _, path := range []string{"g", "g/h"} {
		groups[path] = &hdf5.Group{}
		groups[path].Attributes, d.groups[path] = d.attributes(path)
	}
	root.AddGroup("g", groups["g"])
	groups["g"].AddGroup("h", groups["g/h"])
	attributes := map[string][]scan.Attribute{}
	for i := range rapid.IntRange(0, 14).Draw(t, "arrays") {
		in := rapid.SampledFrom([]string{"", "g", "g/h"}).Draw(t, "group")
		name := fmt.Sprintf("v%d", i)
		a := d.array(join(in, name))
		a.set.Attributes, attributes[a.path] = d.attributes(a.path)
		groups[in].AddDataset(name, a.set)
		d.arrays[a.path] = a
	}
	d.check(w.Close(root))
	f := openWritten(t, file.Bytes())
	defer f.Close()
	set, err := Scan(f)
	d.check(err)
	if len(set.Omitted) > 0 {
		t.Fatalf("omitted: %v", set.Omitted)
	}
	for _, g := range set.Groups {
		compareAttributes(t, g.Path, g.Attributes, d.groups[g.Path])
	}
	found := 0
	for _, a := range set.Arrays {
		if want := d.arrays[a.Path]; want != nil {
			found++
			compareArray(t, f, a, want)
			compareAttributes(t, a.Path, a.Attributes, attributes[a.Path])
		}
	}
	if found != len(d.arrays) {
		t.Fatalf("%d arrays, want %d", found, len(d.arrays))
	}
}

func openWritten(t *rapid.T, b []byte) *scan.File {
	s, key := memstore.New(), store.MustKey("a.h5")
	_, err := store.Write(context.Background(), s, store.Put(key, b), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(context.Background(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func compareAttributes(t *rapid.T, path string, got scan.Attributes, want []scan.Attribute) {
	if len(got) != len(want) {
		t.Fatalf("%s: attributes %v, want %v", path, got, want)
	}
	for i, a := range got {
		if a.Name != want[i].Name || fmt.Sprint(a.Value) != fmt.Sprint(want[i].Value) {
			t.Fatalf("%s: attribute %s is %v, want %s %v", path, a.Name, a.Value, want[i].Name, want[i].Value)
		}
	}
}

func compareArray(t *rapid.T, f *scan.File, a *scan.Array, want *written) {
	if a.Refused != nil {
		t.Fatalf("%s: %v", a.Path, a.Refused)
	}
	if a.Type.Name() != want.typ || !slices.Equal(a.Shape, want.set.Shape) || !slices.Equal(a.Names, want.names) {
		t.Fatalf("%s: %s %v %v, want %s %v %v", a.Path, a.Type.Name(), a.Shape, a.Names, want.typ, want.set.Shape, want.names)
	}
	if len(a.Chunks) != len(want.chunks) {
		t.Fatalf("%s: %d chunks, want %d", a.Path, len(a.Chunks), len(want.chunks))
	}
	for _, c := range a.Chunks {
		if want.texts != nil {
			compareTexts(t, c.Data, want.texts)
			continue
		}
		b, err := f.Bytes(c.Offset, c.Length)
		if err != nil || !bytes.Equal(b, want.chunks[c.Number]) {
			t.Fatalf("%s: chunk %d is %x, want %x: %v", a.Path, c.Number, b, want.chunks[c.Number], err)
		}
	}
}

// compareTexts compares a chunk in the form of the codec vlen-utf8.
func compareTexts(t *rapid.T, data []byte, want []string) {
	var b []byte
	b = le.AppendUint32(b, uint32(len(want)))
	for _, text := range want {
		b = append(le.AppendUint32(b, uint32(len(text))), text...)
	}
	if !bytes.Equal(data, b) {
		t.Fatalf("texts %q, want %q", data, b)
	}
}

// TestWritten scans random files of internal/hdf5.
func TestWritten(t *testing.T) { rapid.Check(t, writtenFile) }

// FuzzWritten does so for files that a fuzzer draws.
func FuzzWritten(f *testing.F) { f.Fuzz(rapid.MakeFuzz(writtenFile)) }

// TestManyChunks scans a tree of chunks with three levels.
func TestManyChunks(t *testing.T) {
	const n = 64*64 + 3
	var file buffer
	w, err := hdf5.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	d := &hdf5.Dataset{Type: hdf5.Integer(1, false), Shape: []int64{n, 2}, Chunk: []int64{1, 2}, Unlimited: []bool{true, false}}
	for i := range int64(n) {
		at, err := w.Append([]byte{byte(i), byte(i >> 8)})
		if err != nil {
			t.Fatal(err)
		}
		d.AddChunk(i, at, 2)
	}
	root := &hdf5.Group{}
	root.AddDataset("a", d)
	if err := w.Close(root); err != nil {
		t.Fatal(err)
	}
	a := scanOne(t, file.Bytes())
	if len(a.Chunks) != n {
		t.Fatalf("%d chunks, want %d", len(a.Chunks), n)
	}
	for _, c := range a.Chunks {
		if b := file.Bytes()[c.Offset:][:2]; int64(b[0])|int64(b[1])<<8 != c.Number {
			t.Fatalf("chunk %d is %v", c.Number, b)
		}
	}
	d.AddChunk(5, 48, 2)
	if err := w.Close(root); err == nil {
		t.Error("a chunk was added twice")
	}
}
