// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// drawnFile is a file of one array of int32, whose chunks are in a drawn order. Some are
// missing, and read as the fill value, or have no place in the file.
type drawnFile struct {
	shape    []int64
	elements []int32 // in C order
	part     *Part
}

// layout is what the files of a set have in common.
type layout struct {
	*rand.Rand
	chunk []int64
	plain bool
	names []string
}

const drawnFill = int32(-7)

// file draws a file, and stores it.
func (l *layout) file(t *testing.T, s memtest.Store, name string, shape []int64) *drawnFile {
	t.Helper()
	codecs := []metadata.Extension{codec.Bytes("little")}
	if !l.plain {
		codecs = append(codecs, codec.ZstdChecksum(0, false))
	}
	fill := binary.NativeEndian.AppendUint32(nil, uint32(0xFFFFFFF9))
	a := &scan.Array{Path: "v", Shape: shape, Chunk: l.chunk, Type: dtype.Int32, Fill: fill, Codecs: codecs, Names: l.names}
	f := &drawnFile{shape: shape, elements: make([]int32, product(shape))}
	count := a.Count()
	order := l.Perm(int(product(count)))
	data := []byte("header")
	for _, k := range order {
		index := make([]int64, len(count))
		indexOf(int64(k), count, 0, index)
		missing := l.IntN(6) == 0
		chunk := f.chunk(l, index, missing)
		if missing {
			continue
		}
		if !l.plain {
			chunk = blockEncoder.EncodeAll(chunk, nil)
		}
		c := scan.Chunk{Number: int64(k), Offset: int64(len(data)), Length: int64(len(chunk))}
		if l.IntN(5) == 0 {
			c = scan.Chunk{Number: int64(k), Data: chunk}
		} else {
			data = append(data, chunk...)
		}
		a.Chunks = append(a.Chunks, c)
	}
	if _, err := s.Write(t.Context(), store.Put(store.MustKey(name), data), store.Flush); err != nil {
		t.Fatal(err)
	}
	m, refused, err := New(Source{Location: "../" + name, Size: int64(len(data))}, &scan.Dataset{Groups: []scan.Group{{}}, Arrays: []*scan.Array{a}})
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	f.part = &Part{Name: name, Manifest: m, Values: func(context.Context, string) ([]byte, error) { return nil, fmt.Errorf("not asked for") }}
	return f
}

// chunk draws the elements of a chunk, and returns its bytes with padding.
func (f *drawnFile) chunk(l *layout, index []int64, missing bool) []byte {
	var b []byte
	within := make([]int64, len(index))
	for k := range product(l.chunk) {
		indexOf(k, l.chunk, 0, within)
		at, inside := int64(0), true
		for i := range index {
			x := index[i]*l.chunk[i] + within[i]
			inside = inside && x < f.shape[i]
			at = at*f.shape[i] + x
		}
		v := int32(l.Uint32())
		if inside {
			if missing {
				v = drawnFill
			}
			f.elements[at] = v
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func product(n []int64) int64 {
	p := int64(1)
	for _, x := range n {
		p *= x
	}
	return p
}

// concatenated returns the elements of files one after the other along an axis.
func concatenated(files []*drawnFile, axis int) (shape []int64, elements []int32) {
	shape = slices.Clone(files[0].shape)
	shape[axis] = 0
	before := product(shape[:axis])
	for _, f := range files {
		shape[axis] += f.shape[axis]
	}
	for k := range before {
		for _, f := range files {
			run := product(f.shape[axis:])
			elements = append(elements, f.elements[k*run:(k+1)*run]...)
		}
	}
	return shape, elements
}

// TestJoined concatenates and stacks drawn files along any axis, some of them later, into
// the manifest that is stored, and compares all elements with those of the files.
func TestJoined(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		rank := 1 + r.IntN(3)
		axis := r.IntN(rank)
		stack := r.IntN(4) == 0
		l := &layout{Rand: r, plain: r.IntN(2) == 0}
		shape := make([]int64, rank)
		for i := range rank {
			l.chunk = append(l.chunk, 1+r.Int64N(4))
			l.names = append(l.names, fmt.Sprintf("d%d", i))
			shape[i] = 1 + r.Int64N(7)
		}
		s := memtest.New()
		var files []*drawnFile
		for i := range 1 + r.IntN(5) {
			if !stack { // only the last file may end within a chunk, unless padding can be cut off
				if shape[axis] = l.chunk[axis] * r.Int64N(4); l.plain && axis == 0 {
					shape[axis] = r.Int64N(9)
				}
			}
			if len(files) == 0 {
				shape[axis] = max(1, shape[axis])
				if !(l.plain && axis == 0) && !stack {
					shape[axis] = max(l.chunk[axis], shape[axis]/l.chunk[axis]*l.chunk[axis])
				}
			}
			files = append(files, l.file(t, s, fmt.Sprintf("f%d", i), slices.Clone(shape)))
		}
		how := Join{Concat: l.names[axis]}
		want, elements := concatenated(files, axis)
		if stack {
			how = Join{Stack: "member"}
			want, elements = append([]int64{int64(len(files))}, shape...), nil
			for _, f := range files {
				elements = append(elements, f.elements...)
			}
		}
		got, found := joinAll(t, s, how, files, r)
		if !slices.Equal(got, want) || !slices.Equal(found, elements) {
			t.Fatalf("seed %d: %v of %d files: the shape %v, want %v, or other elements", seed, how, len(files), got, want)
		}
	}
}

// joinAll joins files in several steps, and reads the result.
func joinAll(t *testing.T, s memtest.Store, how Join, files []*drawnFile, r *rand.Rand) ([]int64, []int32) {
	t.Helper()
	ctx := t.Context()
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewJoined(how)
	for done := 0; done < len(files) && err == nil; {
		n := 1 + r.IntN(len(files)-done)
		for _, f := range files[done : done+n] {
			if err := j.Add(ctx, f.part); err != nil {
				t.Fatal(err)
			}
		}
		var m *Manifest
		if m, err = j.Finish(); err != nil {
			break
		}
		if done == 0 {
			err = m.Create(ctx, s, path)
		} else {
			err = m.Update(ctx)
		}
		if done += n; err == nil && done < len(files) {
			if m, err = Open(ctx, s, path); err == nil {
				j, err = Extend(ctx, m, "/m.vz")
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return readBack(t, s)
}

// readBack reads the array of the manifest.
func readBack(t *testing.T, s memtest.Store) ([]int64, []int32) {
	t.Helper()
	ctx := t.Context()
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(ctx, s, path)
	if err != nil {
		t.Fatal(err)
	}
	from, err := newSites(ctx, s, store.Path{}, "/", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(newStore(m, from), "v").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a.Shape(), b.Data
}

// TestReferencedFiles is the motivation "referenced files with native chunks" of ZEP 3:
// twelve files of a month each, whose chunks are whole months, become one array of a year
// with chunks of 28 to 31 days. No byte is copied, and a file more is one reference more.
func TestReferencedFiles(t *testing.T) {
	months := []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	r := rand.New(rand.NewPCG(3, 5))
	s := memtest.New()
	var files []*drawnFile
	for i, days := range months {
		l := &layout{Rand: r, chunk: []int64{days, 3}, names: []string{"time", "x"}}
		files = append(files, l.file(t, s, fmt.Sprintf("month%02d", i+1), []int64{days, 3}))
	}
	want, elements := concatenated(files, 0)
	got, found := joinAll(t, s, Join{Concat: "time"}, files, r)
	if !slices.Equal(got, want) || !slices.Equal(found, elements) {
		t.Fatalf("the shape %v, want %v, or other elements", got, want)
	}
	m, err := Open(t.Context(), s, pathOf(t, "m.vz"))
	if err != nil {
		t.Fatal(err)
	}
	from, err := newSites(t.Context(), s, store.Path{}, "/", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(newStore(m, from), "v").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int64
	for run := range a.Grid().Axis(0).Edges() {
		lengths = append(lengths, slices.Repeat([]int64{run.Length}, int(run.Count))...)
	}
	if !slices.Equal(lengths, months) {
		t.Errorf("chunks of %v days, want %v", lengths, months)
	}
}

func pathOf(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStackCodecs stacks a file with a codec that depends on the number of axes on one
// without it.
func TestStackCodecs(t *testing.T) {
	j, err := NewJoined(Join{Stack: "member"})
	if err != nil {
		t.Fatal(err)
	}
	transpose := metadata.Extension{Name: "transpose", Configuration: []byte(`{"order":[0]}`)}
	for i, codecs := range [][]metadata.Extension{{codec.Bytes("little")}, {transpose, codec.Bytes("little")}} {
		name := fmt.Sprint("file ", i)
		a := &scan.Array{Path: "v", Shape: []int64{2}, Chunk: []int64{2}, Type: dtype.Int32, Codecs: codecs, Names: []string{"x"}}
		a.Chunks = []scan.Chunk{{Length: 8}}
		m, _, err := New(Source{Location: name, Size: 8}, &scan.Dataset{Groups: []scan.Group{{}}, Arrays: []*scan.Array{a}})
		if err != nil {
			t.Fatal(err)
		}
		err = j.Add(t.Context(), &Part{Name: name, Manifest: m})
		if wrong := i == 1; errors.Is(err, ErrMismatch) != wrong || wrong && !strings.Contains(err.Error(), "file 1: v: an array with the codec transpose") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
