// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// renewing is a manifest of three files that may change.
type renewing struct {
	t    *testing.T
	dir  string
	home store.Store
	path store.Path
}

// newRenewing makes made.vz of a.nc, b.nc and c.nc along time.
func newRenewing(t *testing.T) *renewing {
	t.Helper()
	r := &renewing{t: t, dir: t.TempDir()}
	for i, name := range []string{"a.nc", "b.nc", "c.nc"} {
		copyOf(t, []string{"epochs_days_01.nc", "epochs_days_02.nc", "epochs_days_03.nc"}[i], filepath.Join(r.dir, name))
	}
	j, err := collect(t, r.dir, virtual.Join{Concat: "time"}, "a.nc", "b.nc", "c.nc")
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	stored(t, r.dir, m)
	if r.home, r.path, err = store.OpenLocation(t.Context(), r.dir, store.ReadWrite); err == nil {
		r.path, err = r.path.Join("made.vz")
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *renewing) file(name string) string { return filepath.Join(r.dir, name) }

// replace replaces a file by another one of the test data.
func (r *renewing) replace(name, by string) {
	r.t.Helper()
	copyOf(r.t, by, r.file(name))
	if err := os.Chtimes(r.file(name), time.Time{}, time.Unix(1<<30, 0)); err != nil {
		r.t.Fatal(err)
	}
}

// renew looks for changes of files, and stores the manifest again if there are any.
func (r *renewing) renew(names ...string) (*virtual.Renewal, error) {
	r.t.Helper()
	m, err := virtual.Open(r.t.Context(), r.home, r.path)
	if err != nil {
		return nil, err
	}
	c, err := virtual.NewCollector(r.file("made.vz"))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for i, name := range names {
		names[i] = r.file(name)
	}
	found, err := c.Renew(r.t.Context(), m, names)
	if found == nil || err != nil {
		return nil, err
	}
	if err := c.Collect(r.t.Context(), found.Joined, found.Files); err != nil {
		return found, err
	}
	if m, err = found.Joined.Finish(); err != nil {
		return found, err
	}
	return found, m.Update(r.t.Context())
}

// same compares the manifest with one that is made of files anew.
func (r *renewing) same(files ...string) {
	r.t.Helper()
	j, err := collect(r.t, r.dir, virtual.Join{Concat: "time"}, files...)
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		r.t.Fatal(err)
	}
	path, err := r.path.Parent().Join("again.vz")
	if err == nil {
		err = m.Create(r.t.Context(), r.home, path)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range []string{"t", "time"} {
		wantShape, want, err := sum(r.t, r.file("again.vz/"+name))
		shape, got, readErr := sum(r.t, r.file("made.vz/"+name))
		if err != nil || readErr != nil || got != want || !slices.Equal(shape, wantShape) {
			r.t.Errorf("%s: shape %v, want %v (%v, %v)", name, shape, wantShape, err, readErr)
		}
	}
	if err := os.RemoveAll(r.file("again.vz")); err != nil {
		r.t.Fatal(err)
	}
}

// TestRenew changes files of a manifest, in their length, too.
func TestRenew(t *testing.T) {
	r := newRenewing(t)
	if found, err := r.renew("b.nc", "a.nc"); found != nil || err != nil {
		t.Errorf("no file has changed: %v, %v", found, err)
	}
	r.replace("b.nc", "epochs_days_01.nc")
	if _, _, err := sum(t, r.file("made.vz/t")); !errors.Is(err, zarr.ErrSourceChanged) || !strings.Contains(err.Error(), r.file("b.nc")+": ") {
		t.Error(err)
	}
	// Files that were not named are not looked at.
	if found, err := r.renew("a.nc"); found != nil || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	found, err := r.renew("a.nc", "b.nc")
	if err != nil || !slices.Equal(found.Changed, []string{r.file("b.nc")}) || len(found.Files) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	r.same("a.nc", "b.nc", "c.nc")
	// A file is added, and another one that was not named has changed, too.
	copyOf(t, "epochs_days_03.nc", r.file("d.nc"))
	r.replace("a.nc", "epochs_days_02.nc")
	r.replace("c.nc", "epochs_days_02.nc")
	if found, err = r.renew("c.nc", "d.nc"); err != nil || len(found.Files) != 4 {
		t.Fatalf("%v, %v", found, err)
	}
	r.same("a.nc", "b.nc", "c.nc", "d.nc")
}

// TestRenewRefuses leaves a manifest as it is if its files do not fit any more.
func TestRenewRefuses(t *testing.T) {
	r := newRenewing(t)
	document := func() string {
		b, err := os.ReadFile(r.file("made.vz/" + own.ManifestDocument))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	was := document()
	for _, by := range []string{"nc4_basic.nc", "geotiff_bands.tif", "h5_types.h5", "refs_whole.bin"} {
		r.replace("b.nc", by)
		if _, err := r.renew("b.nc"); err == nil {
			t.Errorf("%s fits", by)
		}
	}
	if err := os.Remove(r.file("b.nc")); err != nil {
		t.Fatal(err)
	}
	var of *virtual.SourceError
	if _, err := r.renew("b.nc"); !errors.Is(err, zarr.ErrSourceChanged) || !errors.As(err, &of) || of.Location != r.file("b.nc") {
		t.Error(err)
	}
	if document() != was {
		t.Error("the manifest has changed")
	}
}

// TestRenewLeadsNowhereElse renews a manifest of which a file is elsewhere: it is not
// opened unless the caller has named or allowed it.
func TestRenewLeadsNowhereElse(t *testing.T) {
	r := newRenewing(t)
	elsewhere := copyOf(t, "epochs_days_03.nc", filepath.Join(t.TempDir(), "secret.nc"))
	j, err := collect(t, r.dir, virtual.Join{Concat: "time"}, "a.nc", mustRel(t, r.dir, elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(r.file("made.vz")); err != nil {
		t.Fatal(err)
	}
	stored(t, r.dir, m)
	r.replace("a.nc", "epochs_days_02.nc")
	if _, err := r.renew("a.nc"); !errors.Is(err, virtual.ErrNotAllowed) {
		t.Error(err)
	}
	if found, err := r.renew("a.nc", mustRel(t, r.dir, elsewhere)); err != nil || len(found.Files) != 2 {
		t.Error(found, err)
	}
}
