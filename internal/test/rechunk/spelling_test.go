// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// spelled is an array whose document another program may write anew.
type spelled struct {
	store  memtest.Store
	format int
	rand   *rand.Rand
}

func (s *spelled) open(t *testing.T) *zarr.Array {
	t.Helper()
	return fixture.Must(zarr.At(s.store, "").OpenArray(t.Context(), &zarr.Options{Write: true}))
}

// key returns the key of the document.
func (s *spelled) key() store.Key {
	if s.format == 2 {
		return store.MustKey(".zarray")
	}
	return store.MustKey("zarr.json")
}

// change stores another document.
func (s *spelled) change(t *testing.T, change func(text string) string) {
	t.Helper()
	raw, _, err := s.store.Get(t.Context(), s.key(), store.Request{}, nil)
	if err == nil {
		_, err = s.store.Write(t.Context(), store.Put(s.key(), []byte(change(string(raw)))), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// respell stores the document as another program might spell it.
func (s *spelled) respell(t *testing.T) {
	t.Helper()
	s.change(t, (&fixture.Speller{Rand: s.rand}).Again)
}

// checkKnown checks that the present document descends from the last rechunk.
func (s *spelled) checkKnown(t *testing.T) {
	t.Helper()
	if i, err := rechunk.Inspect(t.Context(), s.open(t)); err != nil || i.Replaced != nil || i.Superseded != 1 {
		t.Errorf("%+v, %v", i, err)
	}
}

// create makes an array of 4 by 4 elements in chunks of one, with a fill value and
// elements at random.
func (s *spelled) create(t *testing.T, typ dtype.Type) {
	t.Helper()
	fill, err := typ.FormatFill(fixture.Element(s.rand, typ))
	if err != nil {
		t.Fatal(err)
	}
	spec := zarr.Spec{Type: typ, Shape: []int64{4, 4}, Chunks: grid.Chunks(1, 1), FillValue: zarr.FillJSON(string(fill))}
	a, err := zarr.At(s.store, "").CreateArray(t.Context(), spec, &zarr.CreateOptions{Format: s.format})
	if errors.Is(err, zarr.ErrUnsupported) {
		t.Skip(err)
	}
	if err == nil && !typ.Variable() {
		var data []byte
		for range 16 {
			data = append(data, fixture.Element(s.rand, typ)...)
		}
		err = a.WriteBytes(t.Context(), nil, data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSpellings checks for every type and both formats that a rechunked array is known
// as such, whoever has spelled its document: a check finds nothing, a plan still fits,
// and the superseded grid is deleted.
func TestSpellings(t *testing.T) {
	for i, typ := range fixture.Types(t) {
		for _, format := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s in format %d", typ, format), func(t *testing.T) {
				s := &spelled{memtest.New(), format, rand.New(rand.NewPCG(uint64(i), uint64(format)))}
				s.create(t, typ)
				s.respell(t)
				rechunked(t, s.open(t), 2)
				s.checkKnown(t)
				s.respell(t)
				s.checkKnown(t)
				s.checkFreed(t)
				s.checkPlanned(t)
			})
		}
	}
}

func rechunked(t *testing.T, a *zarr.Array, edge int64) {
	t.Helper()
	if r, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(edge), grid.Every(edge)}}, nil); err != nil || !r.Changed {
		t.Fatalf("%+v, %v", r, err)
	}
}

// checkPlanned checks that a plan fits the array in whatever spelling.
func (s *spelled) checkPlanned(t *testing.T) {
	t.Helper()
	r := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(4), grid.Every(4)}}
	p, err := rechunk.NewPlan(t.Context(), s.open(t), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.respell(t)
	if why, err := p.State.Changes(t.Context(), s.open(t), p.Fingerprint, nil); why != "" || err != nil {
		t.Errorf("the plan no longer fits: %s (%v)", why, err)
	}
}

// checkFreed checks that the superseded grid is deleted, and only that.
func (s *spelled) checkFreed(t *testing.T) {
	t.Helper()
	before := valuesIn(t, s.open(t))
	r, err := rechunk.Vacuum(t.Context(), s.open(t), &rechunk.VacuumOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range r.Items {
		if i.Kept != "" {
			t.Errorf("%s stay: %s", i.Keys, i.Kept)
		}
	}
	if i, err := rechunk.Inspect(t.Context(), s.open(t)); err != nil || i.Replaced != nil || i.Superseded != 0 {
		t.Errorf("%+v, %v", i, err)
	}
	if after := valuesIn(t, s.open(t)); after != before {
		t.Errorf("elements %x, want %x", after, before)
	}
}

func valuesIn(t *testing.T, a *zarr.Array) string {
	t.Helper()
	if a.Type().Variable() {
		return fmt.Sprintf("%q", fixture.Must(zarr.Read[[]byte](t.Context(), a, nil)).Data)
	}
	data := make([]byte, 16*a.Type().Size())
	if err := a.ReadBytes(t.Context(), nil, data); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOtherFillValue checks that a document with another fill value is not taken for that
// of the last rechunk: the sign of a zero counts, and so does what a NaN holds.
func TestOtherFillValue(t *testing.T) {
	for _, c := range []struct{ typ, old, fresh string }{
		{"float32", "0.0", "-0.0"}, {"float64", `"NaN"`, `"0x7ff8000000000001"`}, {"int64", "9007199254740993", "9007199254740992"},
		{"complex64", "[0.0,0.0]", "[0.0,-0.0]"}, {"r16", "[0,0]", "[0,1]"}, {"string", `"<"`, `">"`},
	} {
		s := &spelled{memtest.New(), 3, rand.New(rand.NewPCG(1, 2))}
		spec := zarr.Spec{Type: fixture.Must(dtype.Parse(c.typ, nil)), Shape: []int64{4, 4}, Chunks: grid.Chunks(1, 1), FillValue: zarr.FillJSON(c.old)}
		fixture.Must(zarr.At(s.store, "").CreateArray(t.Context(), spec, nil))
		rechunked(t, s.open(t), 2)
		s.change(t, func(text string) string {
			return string(fixture.Must(metadata.SetAttribute([]byte(text), "fill_value", []byte(c.fresh))))
		})
		if i, err := rechunk.Inspect(t.Context(), s.open(t)); err != nil || i.Replaced == nil {
			t.Errorf("%s: %s is taken for %s: %+v, %v", c.typ, c.fresh, c.old, i, err)
		}
	}
}

// TestFollowRespelled checks that an array continues to follow another one after another
// program has spelled its document anew.
func TestFollowRespelled(t *testing.T) {
	s := &spelled{memtest.New(), 3, rand.New(rand.NewPCG(3, 4))}
	ctx := context.Background()
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, zarr.Spec{Type: dtype.Complex64, Shape: []int64{4}, Chunks: grid.Chunks(2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(4)}}
	for n := range 3 {
		if _, err := rechunk.Follow(ctx, a, r, &rechunk.Options{Into: zarr.At(s.store, "")}); err != nil {
			t.Fatal(err)
		}
		s.respell(t)
		if err := zarr.Append(ctx, a, 0, []complex64{complex(float32(n), 1)}, nil); err != nil {
			t.Fatal(err)
		}
	}
}
