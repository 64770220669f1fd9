// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// replaced is a re-gridding in place of an array with the elements 1 to 5.
type replaced struct {
	spec    zarr.Spec
	request regrid.Request
	opt     regrid.Options
	old     []int64 // lengths of the chunks before
	offline bool
}

func replacements() map[string]replaced {
	edges := func(lengths ...int64) zarr.Spec {
		spec := fixture.Edges(lengths...)
		spec.Codecs = fixture.Plain()
		return spec
	}
	oneAxis := fixture.AsV2(zarr.Spec{Shape: []int64{5}, Type: fixture.Edges(1).Type, Codecs: fixture.Plain(), Chunks: []grid.Cut{grid.Every(1)}})
	return map[string]replaced{
		"tail": {spec: edges(2, 1, 1, 1), request: regrid.Compaction{Edges: []grid.Run{{Length: 2, Count: 1}, {Length: 3, Count: 1}}}, opt: regrid.Options{InPlace: true}, old: []int64{2, 1, 1, 1}},
		"all":  {spec: edges(1, 1, 1, 1, 1), request: regrid.Compaction{UpTo: 5}, opt: regrid.Options{InPlace: true}, old: []int64{1, 1, 1, 1, 1}},
		"offline": {
			spec: oneAxis, request: regrid.Regularization{Chunk: []int64{2}}, opt: regrid.Options{Offline: true},
			old: []int64{1, 1, 1, 1, 1}, offline: true,
		},
	}
}

// create makes the array, which has one chunk that is not stored: its element is 0.
func (r *replaced) create(t *testing.T, s store.Store) []int32 {
	t.Helper()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), r.spec, nil)
	want := []int32{1, 2, 0, 4, 5}
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, want)
	}
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func (r *replaced) do(ctx context.Context, s store.Store, takeOver bool) error {
	_, locks := store.As[store.Locker](s)
	if o, ok := s.(storetest.ObjectStore); ok && !locks { // it is no driver of its own
		s = &handle{o}
	}
	a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		return err
	}
	opt := r.opt
	opt.TakeOver = takeOver
	_, err = regrid.Do(ctx, a, r.request, &opt)
	return err
}

// foreign reads the chunks of a grid as a program does that never looks at the document
// again. It fails unless each has its elements, or another length than the program
// expects, which is an error.
func foreign(t *testing.T, s store.Store, name func(k int) string, lengths []int64, want []int32, label string) (loud int) {
	t.Helper()
	at := int64(0)
	for k, n := range lengths {
		data, _, err := s.Get(t.Context(), store.MustKey(name(k)), store.Request{}, nil)
		is := make([]int32, n)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			t.Fatal(err)
		case int64(len(data)) != 4*n:
			loud++
			is = want[at : at+n]
		default:
			for i := range is {
				is[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
			}
		}
		if !slices.Equal(is, want[at:at+n]) {
			t.Fatalf("%s: a foreign reader takes chunk %d for %v, want %v", label, k, is, want[at:at+n])
		}
		at += n
	}
	return loud
}

// name returns the key of a chunk.
func (r *replaced) name(k int) string {
	if r.offline {
		return fmt.Sprint("a/", k)
	}
	return fmt.Sprint("a/c/", k)
}

// check checks the array after a stop: readers see its elements, or a program that does
// not know Varve an error; the next writer completes or repeats the work; and after a
// vacuum nothing is left that the document does not describe.
func (r *replaced) check(t *testing.T, s store.Store, early *zarr.Array, want []int32, label string) {
	t.Helper()
	foreign(t, s, r.name, r.old, want, label+", a program from before")
	reads(t, s, want...)
	if early != nil {
		if got, err := zarr.Read[int32](t.Context(), early, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Fatalf("%s: a reader from before sees %v (%v)", label, got.Data, err)
		}
	}
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	// From here on every program that opens the array reads it.
	var lengths []int64
	for k := range a.Grid().Axis(0).Chunks() {
		c, _ := a.Grid().Axis(0).Cell(k)
		lengths = append(lengths, c.Encoded)
	}
	whole := append(slices.Clone(want), 0, 0, 0)
	if loud := foreign(t, s, r.name, lengths, whole, label+", a program from after"); loud > 0 {
		t.Fatalf("%s: after the next writer, %d chunks have another shape", label, loud)
	}
	if err := r.do(t.Context(), s, true); err != nil {
		t.Fatalf("%s: again: %v", label, err)
	}
	reads(t, s, want...)
	a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		_, err = regrid.Vacuum(t.Context(), a, &regrid.VacuumOptions{Grace: -1})
	}
	if err != nil {
		t.Fatalf("%s: vacuum: %v", label, err)
	}
	reads(t, s, want...)
	for _, name := range strings.Fields(keys(t, s)) {
		if strings.Contains(name, "__varve") {
			t.Fatalf("%s: %s is left", label, keys(t, s))
		}
	}
}

// TestInPlaceCrash stops a re-gridding in place at every operation on the store, in every
// way.
func TestInPlaceCrash(t *testing.T) {
	fixture.Sequential(t)
	for name, r := range replacements() {
		for fate, end := range fates {
			t.Run(name+"/"+fate, func(t *testing.T) {
				t.Parallel()
				at := 0
				for r.stopAt(t, at, end) {
					at++
				}
				if at < 30 {
					t.Errorf("only %d operations", at)
				}
			})
		}
	}
}

func (r *replaced) stopAt(t *testing.T, at int, end func(*storetest.Stepper) bool) bool {
	inner := storetest.Conditional(memstore.New(), storetest.Hooks{})
	want := r.create(t, inner)
	early, err := zarr.At(inner, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stepper := storetest.NewStepper(inner)
	defer stepper.Close()
	stepper.Start(func(s store.Store) error { return r.do(t.Context(), s, false) })
	for range at {
		if _, done := stepper.Step(0); done {
			return false
		}
	}
	if done := end(stepper); !done {
		stepper.Finish(func(int) int { return 0 }, 0)
	}
	r.check(t, inner, early, want, fmt.Sprintf("operation %d\n%s", at, stepper.Trace()))
	return !t.Failed()
}

// TestInPlacePowerCut stops the machine before every operation on the file system, and
// checks the images that a power cut may leave. The local store has locks.
func TestInPlacePowerCut(t *testing.T) {
	fixture.Sequential(t)
	for name, r := range replacements() {
		t.Run(name, func(t *testing.T) {
			points, images := 0, 0
			for n := int64(0); ; n++ {
				disk := vfs.NewDisk()
				want := r.create(t, fixture.FileStore(disk))
				early, err := zarr.At(fixture.FileStore(disk), "a").OpenArray(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				stop, stopped := vfs.StopAt(n)
				err = r.do(context.Background(), fixture.FileStore(vfs.Hook(disk, stop)), false)
				if !stopped() && err != nil {
					t.Fatal(err)
				}
				points++
				for label, image := range disk.Images(uint64(n), 1) {
					images++
					r.check(t, fixture.FileStore(image), nil, want, fmt.Sprintf("operation %d, %s", n, label))
				}
				r.check(t, fixture.FileStore(disk), early, want, fmt.Sprintf("operation %d", n))
				if !stopped() || t.Failed() {
					break
				}
			}
			t.Logf("%d points, %d images", points, images)
			if points < 100 || images < 500 {
				t.Errorf("only %d points and %d images", points, images)
			}
		})
	}
}
