// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// TestRechunk rechunks arrays that either implementation has written, and reverts some.
// Both then read the same elements, before a vacuum and after it, and agree about the
// grid. Until the vacuum, so does an array that zarr-python has opened before.
func TestRechunk(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	done := map[string]int{}
	for i := range cases() {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<24))
			s := randomSpec(r)
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
			request := randomRequest(r, a)
			p.keep(t, path)
			report, err := rechunk.Do(t.Context(), a, request, nil)
			if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported) || err != nil && a.Inner() != nil {
				t.Skipf("%+v: %v", request, err) // such as shards that are not whole inner chunks
			}
			if err != nil {
				t.Fatalf("%+v: %v", request, err)
			}
			if report.Changed {
				done[who.name()]++
			}
			if !bytes.Equal(p.readKept(t, path), want.data) {
				t.Errorf("%+v: zarr-python, which had opened the array before, reads other elements", request)
			}
			if r.IntN(4) == 0 {
				switch err := rechunk.Revert(t.Context(), a); {
				case err == nil:
					done["reverted"]++
				case !errors.Is(err, rechunk.ErrNoRevert):
					t.Fatalf("%+v: revert: %v", request, err)
				}
			}
			for range 2 {
				theirs, ours := p.read(t, path), varve{}.read(t, path)
				ours.around = len(s.Filters) > 0
				compare(t, p, theirs, ours)
				if !bytes.Equal(theirs.Data, want.data) {
					t.Errorf("%+v: zarr-python reads other elements than were written", request)
				}
				if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Log(done)
}

// randomRequest returns a rechunk of an array.
func randomRequest(r *rand.Rand, a *zarr.Array) rechunk.Request {
	rank := a.Rank()
	inner := func(i int) int64 { return 1 }
	if in := a.Inner(); in != nil {
		g, err := in.Grid()
		if err == nil {
			inner = func(i int) int64 {
				if c, ok := g.Axis(i).Cell(0); ok {
					return c.Encoded
				}
				return 1
			}
		}
	}
	switch k := r.IntN(3); {
	case k == 0 && rank > 0:
		axis := r.IntN(rank)
		return rechunk.Compaction{Axis: axis, UpTo: inner(axis) * (1 + r.Int64N(8))}
	case k == 1 && a.Inner() != nil:
		return rechunk.Rechunking{Unpack: true}
	}
	chunk := make([]int64, rank)
	cuts := make(rechunk.Cuts, rank)
	for i := range chunk {
		chunk[i] = inner(i) * (1 + r.Int64N(6))
		cuts[i] = grid.Every(chunk[i])
	}
	if a.Inner() == nil && r.IntN(2) == 0 {
		shards := make(rechunk.Cuts, rank)
		for i := range shards {
			shards[i] = grid.Every(chunk[i] * (1 + r.Int64N(3)))
		}
		if rank > 0 {
			return rechunk.Rechunking{Chunks: shards, Inner: cuts}
		}
	}
	return rechunk.Regularization{Chunk: chunk}
}
