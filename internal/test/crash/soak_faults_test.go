// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// faulty is an array whose store fails at random, and its expected content.
type faulty struct {
	r      *rand.Rand
	rate   int  // one operation in rate fails
	quiet  bool // no operation fails
	faults *int

	open  func() *zarr.Location // over the faults
	sound *zarr.Location        // below them
	array *zarr.Array           // opened over the faults
	rows  []int32
	attr  string
}

// brokenWays are the errors of a broken machine.
var brokenWays = []error{syscall.ENOSPC, syscall.EIO, syscall.EMFILE, fs.ErrPermission}

// fault returns an error for one operation in rate.
func (f *faulty) fault() error {
	if f.quiet || f.r.IntN(f.rate) > 0 {
		return nil
	}
	*f.faults++
	return brokenWays[f.r.IntN(len(brokenWays))]
}

// onDisk makes a faulty array in files.
func (f *faulty) onDisk() {
	disk := vfs.NewDisk()
	f.sound = zarr.At(fixture.FileStore(disk), "")
	f.open = func() *zarr.Location {
		return zarr.At(fixture.FileStore(vfs.Hook(disk, func(vfs.Op) error { return f.fault() })), "")
	}
}

// onObjects makes a faulty array in an object store without locks, which loses answers,
// too.
func (f *faulty) onObjects() {
	s := memtest.New()
	f.sound = zarr.At(stepping.Conditional(s, stepping.Hooks{}), "")
	f.open = func() *zarr.Location {
		return zarr.At(stepping.Conditional(s, stepping.Hooks{
			Before: func(context.Context, stepping.Op) error { return f.fault() },
			After: func(_ stepping.Op, err error) error {
				if lost := f.fault(); err == nil {
					return lost
				}
				return err
			},
		}), "")
	}
}

// begin creates the array, without faults.
func (f *faulty) begin(t *testing.T, spec zarr.Spec) {
	t.Helper()
	f.rows, f.attr = fixture.Numbers(1, int32(spec.Shape[0])), "0"
	spec.Attributes = map[string]int{"n": 0}
	a, err := f.sound.At("g/a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, f.rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.reopen(t)
}

// reopen opens the array over the faults, as a restarted program does.
func (f *faulty) reopen(t *testing.T) {
	t.Helper()
	f.quiet = true
	defer func() { f.quiet = false }()
	f.array = fixture.Must(openArray(t.Context(), f.open()))
}

// found reads the array below the faults.
func (f *faulty) found(t *testing.T, label string) (rows []int32, attr string) {
	t.Helper()
	a, err := f.sound.At("g/a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	b, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	return b.Data, attributeOf(a)
}

func attributeOf(a *zarr.Array) string {
	raw, _, _ := metadata.Attribute(a.Attributes(), "n")
	return string(raw)
}

// wantFault expects an error to wrap a fault, or to be one that a fault may cause in the
// store.
func wantFault(t *testing.T, err error, label string) {
	t.Helper()
	known := slices.ContainsFunc(brokenWays, func(kind error) bool { return errors.Is(err, kind) })
	if err != nil && !known && !errors.Is(err, zarr.ErrDurability) && !errors.Is(err, zarr.ErrConflict) {
		t.Fatalf("%s: %v wraps no fault", label, err)
	}
}

// change makes a change. If it succeeds, the change must be there. If it fails, the
// array is the old one or the new one; only a write of several chunks may be there in
// part.
func (f *faulty) change(t *testing.T, label string) {
	t.Helper()
	s := fixture.DrawChange(f.r, int64(len(f.rows)))
	label += ", " + s.Op
	if s.Op == "write" && f.array.Shape()[0] != int64(len(f.rows)) {
		f.reopen(t) // after an error the array does not know the outcome
	}
	err := s.Apply(t.Context(), f.array)
	wantFault(t, err, label)
	next := s.After(f.rows)
	rows, attr := f.found(t, label)
	was, is, now := fixture.OfRows(f.rows), fixture.OfRows(next), fixture.OfRows(rows)
	switch {
	case attr != f.attr:
		t.Fatalf("%s: attribute %s, want %s", label, attr, f.attr)
	case err == nil && !now.Equal(is):
		t.Fatalf("%s: after a success the array has %v, want %v", label, rows, next)
	case !now.Equal(was) && !now.Equal(is) && (s.Op != "write" || !now.IsMixOf(was, is)):
		t.Fatalf("%s: after error %v the array has %v, want %v or %v", label, err, rows, f.rows, next)
	}
	f.rows = rows
}

// annotate changes an attribute.
func (f *faulty) annotate(t *testing.T, n int, label string) {
	t.Helper()
	err := f.array.UpdateAttributes(t.Context(), func(raw []byte) ([]byte, error) {
		return metadata.SetAttribute(raw, "n", []byte(strconv.Itoa(n)))
	})
	wantFault(t, err, label+", attributes")
	rows, attr := f.found(t, label)
	if attr != f.attr && attr != strconv.Itoa(n) || err == nil && attr != strconv.Itoa(n) || !slices.Equal(rows, f.rows) {
		t.Fatalf("%s: after error %v the attribute is %s, want %d; rows %v, want %v", label, err, attr, n, rows, f.rows)
	}
	f.attr = attr
}

// read reads a random part with the open array or a new one: the result is right, or an
// error.
func (f *faulty) read(t *testing.T, label string) {
	t.Helper()
	a := f.array
	if f.r.IntN(2) == 0 {
		var err error
		if a, err = f.open().At("g/a").OpenArray(t.Context(), nil); err != nil {
			wantFault(t, err, label+", opening")
			return
		}
		if got := attributeOf(a); got != f.attr || a.Shape()[0] != int64(len(f.rows)) {
			t.Fatalf("%s: opened with %v and %s", label, a.Shape(), got)
		}
	}
	if len(f.rows) == 0 || a.Shape()[0] != int64(len(f.rows)) {
		return // see change
	}
	from := f.r.Int64N(int64(len(f.rows)))
	to := from + 1 + f.r.Int64N(int64(len(f.rows))-from)
	b, err := zarr.Read[int32](t.Context(), a, selection.Box{{from, to}})
	wantFault(t, err, label+", read")
	if err == nil && !slices.Equal(b.Data, f.rows[from:to]) {
		t.Fatalf("%s: read %v, want %v", label, b.Data, f.rows[from:to])
	}
}

// check checks the array, which must have no damage. A failing disk is not damage.
func (f *faulty) check(t *testing.T, label string) {
	t.Helper()
	for fault, err := range f.array.CheckShards(t.Context(), nil) {
		if wantFault(t, err, label+", check"); err == nil {
			t.Fatalf("%s: Check reports damage in a sound array: %v", label, fault)
		}
	}
}

// history makes random operations on the array.
func (f *faulty) history(t *testing.T, label string) {
	t.Helper()
	for i := range 40 {
		at := fmt.Sprintf("%s, step %d", label, i)
		switch k := f.r.IntN(12); {
		case k < 5:
			f.change(t, at)
		case k < 6:
			f.annotate(t, i+1, at)
		case k < 10:
			f.read(t, at)
		case k < 11:
			f.check(t, at)
		default:
			f.reopen(t)
		}
	}
}

// TestSoakFaults fails the operations of a store at random, reads, writes, locks and
// lists, several times within one call, through random histories of an array. A reported
// success is a success, elements read are right, and a failed change leaves the old or
// the new state.
func TestSoakFaults(t *testing.T) {
	fixture.Sequential(t)
	want, faults, runs := fixture.Soaked(t, 400, 40_000), 0, 0
	old := fixture.Every(6, 4)
	old.Format = 2
	specs := []zarr.Spec{fixture.Edges(1, 2, 3), fixture.Every(6, 4), fixture.ShardsOf8(6), old, {
		Shape: []int64{6}, Type: fixture.Edges(1).Type, Chunks: []grid.Cut{grid.Edges(4, 4, 4, 4)},
	}}
	for seed := uint64(0); faults < want; seed++ {
		for i, spec := range specs {
			for where, on := range map[string]func(*faulty){"disk": (*faulty).onDisk, "objects": (*faulty).onObjects} {
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				f := &faulty{r: r, rate: []int{10, 30, 100}[r.IntN(3)], faults: &faults}
				on(f)
				f.begin(t, spec)
				f.history(t, fmt.Sprintf("%s, array %d, seed %d", where, i, seed))
				runs++
			}
		}
	}
	t.Logf("%d faults in %d histories, no false success", faults, runs)
}
