// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// add adds a file of the folder to the manifest, or makes one of it.
func (a *archive) add(name string, how Join) {
	a.t.Helper()
	ctx := a.t.Context()
	j, err := NewJoined(how)
	m, openErr := Open(ctx, a.store, a.path)
	if openErr == nil {
		j, err = Extend(ctx, m, filepath.Join(a.dir, "made.vz"))
	}
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := NewCollector(filepath.Join(a.dir, "made.vz"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Collect(ctx, j, []string{filepath.Join(a.dir, name)}); err != nil {
		a.t.Fatal(err)
	}
	done, err := j.Finish()
	switch {
	case err != nil:
	case openErr == nil:
		err = done.Update(ctx)
	default:
		err = done.Create(ctx, a.store, a.path)
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// age makes all values of the manifest older.
func (a *archive) age(by time.Duration) {
	a.t.Helper()
	for e, err := range store.List(a.t.Context(), a.store, a.path, store.Deep|store.WithVersions) {
		if err != nil {
			a.t.Fatal(err)
		}
		a.store.older[e.Version] += by
	}
}

// values returns the names of the values of the manifest.
func (a *archive) values() (names []string) {
	a.t.Helper()
	for e, err := range store.List(a.t.Context(), a.store, a.path, store.Deep) {
		if err != nil {
			a.t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// vacuum returns the numbers of values that were deleted and that stay, by their kind.
func (a *archive) vacuum(opt *rechunk.VacuumOptions) (gone, kept map[string]int64) {
	a.t.Helper()
	r, err := Vacuum(a.t.Context(), a.store, a.path, opt)
	if err != nil {
		a.t.Fatal(err)
	}
	gone, kept = map[string]int64{}, map[string]int64{}
	for _, i := range r.Items {
		if i.Bytes == 0 || i.Keys == "" {
			a.t.Errorf("%+v", i)
		}
		if i.Kept == "" {
			gone[i.Kind] += i.Values
		} else if kept[i.Kind] += i.Values; !i.Due.After(time.Now()) {
			a.t.Errorf("kept until %v: %s", i.Due, i.Kept)
		}
	}
	return gone, kept
}

// TestVacuumGrace vacuums a manifest to which files were added. What a change has
// replaced stays while its grace runs from that change on, whatever its own age, and
// readers that have opened the manifest before continue.
func TestVacuumGrace(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	a.add("epochs_days_01.nc", how)
	reader, err := zarr.OpenArray(t.Context(), filepath.Join(a.dir, "made.vz/time"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read := func() error {
		_, err := zarr.ReadAs[float64](t.Context(), reader, nil)
		return err
	}
	a.age(100 * time.Hour)
	a.add("epochs_days_02.nc", how)
	before := a.values()
	if gone, kept := a.vacuum(nil); len(gone) > 0 || kept[kindSuperseded] != 2 { // blocks and data
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	if after := a.values(); !slices.Equal(before, after) {
		t.Errorf("%q, want %q", after, before)
	}
	if err := read(); err != nil {
		t.Errorf("within the grace: %v", err)
	}
	a.age(20 * time.Hour)
	a.add("epochs_days_03.nc", how)
	if gone, kept := a.vacuum(nil); len(gone) > 0 || kept[kindSuperseded] != 4 {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	a.age(20 * time.Hour)
	// The first change is 40 hours ago. It is only known that the next one, 20 hours ago,
	// was later.
	if gone, kept := a.vacuum(nil); len(gone) > 0 || kept[kindSuperseded] != 4 {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	if gone, kept := a.vacuum(&rechunk.VacuumOptions{Grace: 19 * time.Hour, DryRun: true}); gone[kindSuperseded] != 4 || len(kept) > 0 {
		t.Errorf("%v would be gone, %v would be kept", gone, kept)
	}
	all := a.elements("time")
	if gone, kept := a.vacuum(&rechunk.VacuumOptions{Grace: 19 * time.Hour}); gone[kindSuperseded] != 4 || len(kept) > 0 {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	if names := a.values(); len(names) != 4 { // the document, blocks, data and the warning to other programs
		t.Errorf("%q are left", names)
	}
	if got := a.elements("time"); !bytes.Equal(got, all) {
		t.Error("other elements")
	}
	again, err := zarr.OpenArray(t.Context(), filepath.Join(a.dir, "made.vz/time"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if gone, kept := a.vacuum(&rechunk.VacuumOptions{Grace: -1}); len(gone)+len(kept) > 0 {
		t.Errorf("%v and %v are left", gone, kept)
	}
}

// TestVacuumLate reads by a manifest that was opened before values were deleted: an
// error, and never the fill value.
func TestVacuumLate(t *testing.T) {
	s := memtest.New()
	files := line(t, s, 2)
	joinAll(t, s, Join{Concat: "time"}, files[:1], rand.New(rand.NewPCG(1, 2)))
	path := mustPath(t, "m.vz")
	old, err := Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := grown(t, s, files[1]).Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Vacuum(t.Context(), s, path, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := old.reference(t.Context(), old.Arrays[0], 0); !errors.Is(err, scan.ErrCorrupt) {
		t.Errorf("a block that is gone: %v", err)
	}
}

func mustPath(t *testing.T, name string) store.Path {
	t.Helper()
	path, err := store.ParsePath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVacuumHistories joins drawn files in several steps and vacuums after each: all
// elements stay, and nothing that is not needed.
func TestVacuumHistories(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := &layout{Rand: r, plain: r.IntN(2) == 0, chunk: []int64{1 + r.Int64N(3), 2}, names: []string{"time", "x"}}
		s := memtest.New()
		files := paddedFiles(t, l, s, 0, 2+r.IntN(4))
		how, path := Join{Concat: "time", CopyPadded: true}, mustPath(t, "m.vz")
		// Values that Varve does not know.
		others := []string{"m.vz/blocks/notes.txt", "m.vz/data/0123", "m.vz/README"}
		for _, name := range others {
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(name), []byte("x")), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		if err := copyJoined(t, s, how, how, files[:1], 5); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(files); i++ {
			m := grown(t, s, files[i])
			c, err := NewCollector("/m.vz")
			if err == nil {
				err = c.CopyPadded(t.Context(), m, s, path)
			}
			if err == nil {
				err = m.Update(t.Context())
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if r.IntN(3) == 0 {
				continue
			}
			for again := range 2 {
				report, err := Vacuum(t.Context(), s, path, &rechunk.VacuumOptions{Grace: -1})
				if err != nil || again == 1 && len(report.Items) > 0 {
					t.Fatalf("seed %d: %v, %+v", seed, err, report)
				}
			}
			want, elements := concatenated(files[:i+1], 0)
			if got, found := readBack(t, s); !slices.Equal(got, want) || !slices.Equal(found, elements) {
				t.Fatalf("seed %d: after %d files: the shape %v, want %v, or other elements", seed, i+1, got, want)
			}
		}
		for _, name := range others {
			if found, err := store.Exists(t.Context(), s, store.MustKey(name)); !found || err != nil {
				t.Errorf("%s is gone (%v)", name, err)
			}
		}
	}
}

// TestVacuumBeside lets a program add a file while a vacuum without grace runs, at each
// of its requests, and the other way round. Whichever comes first, the manifest has all
// values that it names.
func TestVacuumBeside(t *testing.T) {
	none := &rechunk.VacuumOptions{Grace: -1}
	for _, held := range []string{"the program", "the vacuum"} {
		for at := 1; ; at++ {
			s := memtest.New()
			files := line(t, s, 3)
			joinAll(t, s, Join{Concat: "time"}, files[:1], rand.New(rand.NewPCG(1, 2)))
			if err := grown(t, s, files[1]).Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			path, n := mustPath(t, "m.vz"), 0
			vacuum := func(to store.Store) error { _, err := Vacuum(t.Context(), to, path, none); return err }
			add := func(to store.Store) error { return grown(t, to, files[2]).Update(t.Context()) }
			first, second := add, vacuum
			if held == "the vacuum" {
				first, second = vacuum, add
			}
			h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				if n++; n == at {
					return second(s)
				}
				return nil
			}})
			err := first(h)
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s is held at request %d: %v", held, at, err)
			}
			if n < at {
				if at < 5 {
					t.Errorf("%s makes %d requests", held, n)
				}
				break
			}
			if errors.Is(err, store.ErrConflict) {
				if held == "the vacuum" {
					t.Errorf("%s is held at request %d: %v", held, at, err)
				}
				if err := add(s); err != nil {
					t.Fatal(err)
				}
			}
			_, elements := concatenated(files, 0)
			if _, found := readBack(t, s); !slices.Equal(found, elements) {
				t.Errorf("%s is held at request %d: %v", held, at, found)
			}
		}
	}
}

// TestVacuumUnfinished has values of a stopped program. The youngest one counts, because
// the program may still run.
func TestVacuumUnfinished(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	a.add("epochs_days_01.nc", Join{Concat: "time"})
	put := func(name string) {
		if _, err := store.Write(t.Context(), a.store, store.Put(a.path.MustKey(name), []byte("x")), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	put("data/0123456789abcdef")
	a.age(30 * time.Hour)
	put("blocks/0123456789abcdef")
	if gone, kept := a.vacuum(nil); len(gone) > 0 || kept[kindUnfinished] != 2 {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	a.age(25 * time.Hour)
	if gone, kept := a.vacuum(nil); gone[kindUnfinished] != 2 || len(kept) > 0 {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	if got := a.elements("time"); len(got) == 0 {
		t.Error("no elements")
	}
}

// TestVacuumScans vacuums what a stopped first collection has kept, and deletes it.
func TestVacuumScans(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	if _, _, err := a.run(how, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	is := func() bool {
		found, err := IsManifest(t.Context(), a.store, a.path)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if gone, kept := a.vacuum(nil); len(gone) > 0 || kept[kindScans] != 1 || !is() {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	a.age(25 * time.Hour)
	if gone, kept := a.vacuum(nil); gone[kindScans] != 1 || len(kept) > 0 || is() {
		t.Errorf("%v are gone, %v are kept", gone, kept)
	}
	if _, err := Vacuum(t.Context(), a.store, a.path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	for _, stop := range []int{2, 0} {
		if _, _, err := a.run(how, stop); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := Delete(t.Context(), a.store, a.path); err != nil || is() {
			t.Errorf("stopped after %d files: %v", stop, err)
		}
	}
	if err := Delete(t.Context(), a.store, a.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
}

// TestSupersededIsBounded adds many files, with vacuums in between. The document forgets
// values that are gone.
func TestSupersededIsBounded(t *testing.T) {
	s := memtest.New()
	files := line(t, s, 3*mostSuperseded)
	joinAll(t, s, Join{Concat: "time"}, files[:1], rand.New(rand.NewPCG(1, 2)))
	path := mustPath(t, "m.vz")
	for i, f := range files[1:] {
		m := grown(t, s, f)
		if n := len(m.folder.superseded); n > mostSuperseded+1 {
			t.Fatalf("%d entries after %d files", n, i)
		}
		if err := m.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i%40 == 39 {
			if _, err := Vacuum(t.Context(), s, path, &rechunk.VacuumOptions{Grace: -1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, elements := concatenated(files, 0)
	if _, found := readBack(t, s); !slices.Equal(found, elements) {
		t.Errorf("%d elements, want %d", len(found), len(elements))
	}
}

// TestCopiesGone deletes copies of chunks before the manifest is stored that refers to
// them.
func TestCopiesGone(t *testing.T) {
	s := memtest.New()
	l := &layout{Rand: rand.New(rand.NewPCG(1, 1)), chunk: []int64{3, 2}, names: []string{"time", "x"}}
	files := []*drawnFile{l.file(t, s, "f0", []int64{5, 9}), l.file(t, s, "f1", []int64{5, 9})}
	j, err := NewJoined(Join{Concat: "time", CopyPadded: true})
	for _, f := range files {
		if err == nil {
			err = j.Add(t.Context(), f.part)
		}
	}
	var m *Manifest
	if err == nil {
		m, err = j.Finish()
	}
	c, collectorErr := NewCollector("/m.vz")
	if err := errors.Join(err, collectorErr); err != nil {
		t.Fatal(err)
	}
	path := mustPath(t, "m.vz")
	if err := c.CopyPadded(t.Context(), m, s, path); err != nil {
		t.Fatal(err)
	}
	if err := Delete(t.Context(), s, path); err != nil {
		t.Fatal(err)
	}
	// It is no conflict: there is no other manifest.
	if err := m.Create(t.Context(), s, path); !errors.Is(err, ErrCopiesGone) || errors.Is(err, store.ErrConflict) {
		t.Errorf("the copies are gone: %v", err)
	}
}

// TestForeignDocument deletes folders with the document of another program, which stay,
// and with a damaged one.
func TestForeignDocument(t *testing.T) {
	for text, ours := range map[string]bool{
		`{"name": "My app", "icons": []}`:        false,
		`{"Varve_manifest": 1}`:                  false,
		`[{"varve_manifest": 1}]`:                false,
		`null`:                                   false,
		`{"varve_manifest": 1, "nodes": [{"pat`:  true,
		``:                                       true,
		`{"varve_manifest": 99, "later": "yes"}`: true,
	} {
		s, path := memtest.New(), mustPath(t, "m.vz")
		for _, key := range []string{own.ManifestDocument, "data/0123456789abcdef"} {
			if _, err := s.Write(t.Context(), store.Put(path.MustKey(key), []byte(text)), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		is, err := IsManifest(t.Context(), s, path)
		if is != ours || errors.Is(err, scan.ErrUnsupported) == ours {
			t.Errorf("%s: %v, %v", text, is, err)
		}
		err = Delete(t.Context(), s, path)
		if ours != (err == nil) || !ours && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%s: %v", text, err)
		}
		for _, key := range []string{own.ManifestDocument, "data/0123456789abcdef"} {
			if found, err := store.Exists(t.Context(), s, path.MustKey(key)); err != nil || found == ours {
				t.Errorf("%s: %s is there: %v (%v)", text, key, found, err)
			}
		}
	}
}

// TestDeleteOrder stops a removal at each deletion. The manifest is whole or invisible,
// and the removal can be repeated.
func TestDeleteOrder(t *testing.T) {
	broken := errors.New("broken")
	for fails := 1; ; fails++ {
		s := memtest.New()
		files := line(t, s, 2)
		joinAll(t, s, Join{Concat: "time"}, files, rand.New(rand.NewPCG(1, 2)))
		var n atomic.Int64
		h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Delete" && n.Add(1) == int64(fails) {
				return broken
			}
			return nil
		}})
		path := mustPath(t, "m.vz")
		err := Delete(t.Context(), h, path)
		if err == nil {
			if fails < 3 {
				t.Errorf("only %d deletions", fails-1)
			}
			return
		}
		if found, existsErr := store.Exists(t.Context(), s, path.MustKey(own.ManifestDocument)); found != (fails == 1) || existsErr != nil || !errors.Is(err, broken) {
			t.Errorf("deletion %d: %v; the document is there: %v (%v)", fails, err, found, existsErr)
		}
		if fails == 1 {
			_, elements := concatenated(files, 0)
			if _, found := readBack(t, s); !slices.Equal(found, elements) {
				t.Error("other elements")
			}
		}
		if err := Delete(t.Context(), s, path); err != nil {
			t.Errorf("deletion %d, again: %v", fails, err)
		}
	}
}
