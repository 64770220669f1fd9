// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// TestMove drops and inserts planes of arrays that either implementation has written.
// Both then read the same elements, before a vacuum and after it, and agree about the
// grid.
func TestMove(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	done, refused := map[string]int{}, 0
	for i := range cases() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<32))
			s := randomSpec(r)
			if len(s.Shape) == 0 {
				t.Skip("no axis")
			}
			want := randomBlock(r, s, s.Shape)
			path := filepath.Join(t.TempDir(), "a.zarr")
			who := pick[implementation](r, p, varve{})
			who.create(t, path, s)
			who.write(t, path, want.data)
			a, err := zarr.OpenArray(t.Context(), path, &zarr.Options{Write: true, Experimental: zarr.Experimental{InnerChunks: true}})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			request, result := randomMove(r, s, want)
			report, err := rechunk.Do(t.Context(), a, request, nil)
			if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported) {
				refused++
				t.Skipf("%+v: %v", request, err) // such as shards that are not whole inner chunks
			}
			if err != nil {
				t.Fatalf("%+v: %v", request, err)
			}
			if report.Changed {
				done[who.name()]++
			}
			for range 2 {
				theirs, ours := p.read(t, path), varve{}.read(t, path)
				ours.around = len(s.Filters) > 0
				compare(t, p, theirs, ours)
				if !bytes.Equal(theirs.Data, result) {
					t.Errorf("%+v: zarr-python reads other elements", request)
				}
				if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Log(done, refused, "refused")
}

// randomMove returns a removal or an insertion, and the elements after it.
func randomMove(r *rand.Rand, s spec, b block) (rechunk.Request, []byte) {
	axis := r.IntN(len(s.Shape))
	extent := s.Shape[axis]
	if r.IntN(2) == 0 {
		from := r.Int64N(extent + 1)
		to := from + r.Int64N(extent-from+1)
		return rechunk.Removal{Axis: axis, Range: grid.Interval{Start: from, Stop: to}, Unlock: r.IntN(2) == 0}, replaced(b, len(s.Fill), axis, from, to, block{})
	}
	shape := slices.Clone(s.Shape)
	shape[axis] = 1 + r.Int64N(5)
	more, at := randomBlock(r, s, shape), r.Int64N(extent+1)
	src := zarr.SourceAt(bytes.NewReader(more.data), shape...)
	return rechunk.Insertion{Axis: axis, At: at, From: src, Unlock: r.IntN(2) == 0}, replaced(b, len(s.Fill), axis, at, at, more)
}

// replaced returns the elements of a block with other planes in place of some.
func replaced(b block, size, axis int, from, to int64, by block) []byte {
	outer, inner := int64(1), int64(size)
	for i, n := range b.shape {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	planes := int64(0)
	if by.shape != nil {
		planes = by.shape[axis]
	}
	var all []byte
	for k := range outer {
		row := b.data[k*b.shape[axis]*inner:][:b.shape[axis]*inner]
		all = append(all, row[:from*inner]...)
		all = append(all, by.data[k*planes*inner:][:planes*inner]...)
		all = append(all, row[to*inner:]...)
	}
	return all
}

// TestRollingWindow appends an hour to the arrays of a group, by either implementation,
// and drops the oldest one, more often than there are chunk keys. zarr-python reads the
// values after each round, of the field and of its coordinate, which has one regular
// chunk.
func TestRollingWindow(t *testing.T) {
	t.Parallel()
	p, path := startPython(t), filepath.Join(t.TempDir(), "g.zarr")
	g, err := zarr.CreateGroup(t.Context(), path, nil, nil)
	check(t, err)
	defer g.Close()
	create := func(name string, values []int32, shape []int64, cuts ...grid.Cut) *zarr.Array {
		spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts, DimensionNames: []string{"time", "x"}[:len(shape)]}
		a, err := g.At(name).CreateArray(t.Context(), spec, nil)
		check(t, err)
		check(t, zarr.Write(t.Context(), a, nil, values))
		return a
	}
	bytesOf := func(values ...int32) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	field := create("t2m", []int32{0, 100, 1, 101, 2, 102}, []int64{3, 2}, grid.Edges(1, 1, 1), grid.Every(2))
	coordinate := create("time", []int32{0, 1, 2}, []int64{3}, grid.Every(512))
	for hour := int32(3); hour < 23; hour++ {
		who := []implementation{p, varve{}}[hour%2]
		who.append(t, path+"/t2m", 0, block{[]int64{1, 2}, bytesOf(hour, 100+hour)})
		who.append(t, path+"/time", 0, block{[]int64{1}, bytesOf(hour)})
		check(t, errors.Join(field.Refresh(t.Context()), coordinate.Refresh(t.Context())))
		oldest := rechunk.Removal{Range: grid.Interval{Stop: 1}}
		_, err := rechunk.DoAll(t.Context(), []rechunk.Part{{Array: field, Request: oldest}, {Array: coordinate, Request: oldest}}, &rechunk.Options{Grace: -1})
		check(t, err)
		if got := p.read(t, path+"/time").Data; !bytes.Equal(got, bytesOf(hour-2, hour-1, hour)) {
			t.Fatalf("hour %d: the coordinate is %v", hour, got)
		}
		if got := p.read(t, path+"/t2m").Data; !bytes.Equal(got, bytesOf(hour-2, 98+hour, hour-1, 99+hour, hour, 100+hour)) {
			t.Fatalf("hour %d: the field is %v", hour, got)
		}
	}
	if !coordinate.Grid().IsRegular() {
		t.Errorf("%s", coordinate)
	}
}
