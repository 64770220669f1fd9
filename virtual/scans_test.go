// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual/scan"
)

// archive is a folder with files and a manifest of them.
type archive struct {
	t     *testing.T
	dir   string
	store *aging
	path  store.Path
}

// aging is a store whose values can be made older.
type aging struct {
	*filestore.Store
	older map[store.Version]time.Duration
}

func (s *aging) aged(i store.Info) store.Info {
	i.Modified = i.Modified.Add(-s.older[i.Version])
	return i
}

func (s *aging) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	b, info, err := s.Store.Get(ctx, key, q, dst)
	return b, s.aged(info), err
}

func (s *aging) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := s.Store.Stat(ctx, key)
	return s.aged(info), err
}

func (s *aging) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.ListVersions(ctx, dir, deep) {
			e.Modified = s.aged(store.Info{Version: e.Version, Modified: e.Modified}).Modified
			if !yield(e, err) {
				return
			}
		}
	}
}

func newArchive(t *testing.T, pattern string) *archive {
	t.Helper()
	a := &archive{t: t, dir: t.TempDir()}
	names, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(names) == 0 {
		t.Fatal(pattern, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(a.dir, filepath.Base(name)), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a.store = &aging{older: map[store.Version]time.Duration{}}
	if a.store.Store, err = filestore.Open(a.dir, nil); err == nil {
		a.path, err = store.ParsePath("made.vz")
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// files returns the files of the folder.
func (a *archive) files() []string {
	names, err := filepath.Glob(filepath.Join(a.dir, "*.nc"))
	if err != nil {
		a.t.Fatal(err)
	}
	return names
}

// scanned returns the values with kept scans.
func (a *archive) scanned() []string {
	names, err := filepath.Glob(filepath.Join(a.dir, "made.vz/scan/*"))
	if err != nil {
		a.t.Fatal(err)
	}
	return names
}

// run collects all files into a new manifest, and stops after a number of them. It
// returns how many were scanned, and how many were not because they were kept.
func (a *archive) run(how Join, stop int) (fresh, kept int, err error) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	j, err := NewJoined(how)
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := NewCollector(filepath.Join(a.dir, "made.vz"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	c.Concurrency, c.keepAfter = 1, time.Hour
	if err := c.Keep(ctx, a.store, a.path); err != nil {
		a.t.Fatal(err)
	}
	c.Added = func(p *Part) {
		if p.Kept {
			kept++
		} else {
			fresh++
		}
		if fresh+kept == stop {
			cancel()
		}
	}
	if err := c.Collect(ctx, j, a.files()); err != nil {
		return fresh, kept, err
	}
	m, err := j.Finish()
	if err == nil {
		err = m.Create(ctx, a.store, a.path)
	}
	if err == nil {
		err = c.Forget(ctx)
	}
	return fresh, kept, err
}

// elements returns all elements of an array of the manifest.
func (a *archive) elements(name string) []byte {
	a.t.Helper()
	array, err := zarr.OpenArray(a.t.Context(), filepath.Join(a.dir, "made.vz", name), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	defer array.Close()
	n := int64(array.Type().Size())
	for _, x := range array.Shape() {
		n *= x
	}
	b := make([]byte, n)
	if err := array.ReadBytes(a.t.Context(), nil, b); err != nil {
		a.t.Fatal(err)
	}
	return b
}

// TestKeep interrupts a collection after each file. Repeated, it scans no file twice, and
// the manifest is that of one run. Nothing is left in its folder.
func TestKeep(t *testing.T) {
	for _, how := range []Join{{Concat: "time"}, {Stack: "member"}} {
		pattern := map[bool]string{true: "epochs_days_0*.nc", false: "members_0*.nc"}[how.Concat != ""]
		whole := newArchive(t, pattern)
		if fresh, _, err := whole.run(how, 0); err != nil || fresh != 3 {
			t.Fatal(fresh, err)
		}
		for stop := 1; stop < 3; stop++ {
			a := newArchive(t, pattern)
			if _, _, err := a.run(how, stop); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if names := a.scanned(); len(names) != 1 {
				t.Fatalf("kept %q", names)
			}
			fresh, kept, err := a.run(how, 0)
			if err != nil || fresh != 3-stop || kept != stop {
				t.Errorf("stopped after %d: %d were scanned, %d were kept (%v)", stop, fresh, kept, err)
			}
			for _, name := range []string{"t", "time"} {
				if !bytes.Equal(a.elements(name), whole.elements(name)) {
					t.Errorf("stopped after %d: other elements of %s", stop, name)
				}
			}
			if names := a.scanned(); len(names) > 0 {
				t.Errorf("%q stay", names)
			}
		}
	}
}

// TestKeepChanged changes a file after a collection was interrupted, so that it has only
// another time. It is scanned again, and what is new in it is found.
func TestKeepChanged(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	if _, _, err := a.run(how, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(a.files()[0], now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a.files()[2], a.files()[1]); err != nil { // the size of this one is another, too
		t.Fatal(err)
	}
	fresh, kept, err := a.run(how, 0)
	if err != nil || fresh != 2 || kept != 0 {
		t.Errorf("%d were scanned, %d were kept (%v)", fresh, kept, err)
	}
	if got := a.elements("t"); len(got) != 4*62*4*5 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestKeepOther goes on in another way than before, which needs values that were not read
// then.
func TestKeepOther(t *testing.T) {
	a := newArchive(t, "members_0*.nc")
	if _, _, err := a.run(Join{Stack: "member"}, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// The lengths of coordinates that files repeat are compared in a merge only.
	_, kept, err := a.run(Join{Concat: "time"}, 0)
	if err != nil || kept != 2 {
		t.Errorf("%d were kept (%v)", kept, err)
	}
}

// TestKeepDamaged damages what is kept. The files are scanned again.
func TestKeepDamaged(t *testing.T) {
	whole := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	if _, _, err := whole.run(how, 0); err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		a, r := newArchive(t, "epochs_days_0*.nc"), rand.New(rand.NewPCG(seed, 1))
		if _, _, err := a.run(how, 2); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		name := a.scanned()[0]
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if seed%2 == 0 {
			b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
		} else {
			b = b[:r.IntN(len(b))]
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.run(how, 0); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !bytes.Equal(a.elements("t"), whole.elements("t")) {
			t.Errorf("seed %d: other elements", seed)
		}
		if names := a.scanned(); len(names) > 0 {
			t.Errorf("seed %d: %q stay", seed, names)
		}
	}
}

// records returns what scans of files of testdata have found, as it is kept.
func records(t testing.TB, names ...string) (list [][]byte, sources []Source) {
	t.Helper()
	s, err := filestore.Open("testdata", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p, err := OpenPart(t.Context(), s, store.MustKey(name), "../"+name, "file")
		if err != nil {
			t.Fatal(err)
		}
		values := map[string][]byte{}
		for _, a := range p.Manifest.Arrays[:min(1, len(p.Manifest.Arrays))] {
			if values[a.Path], err = p.Values(t.Context(), a.Path); err != nil {
				t.Fatal(err)
			}
		}
		line, err := recordOf(p, values)
		if err != nil {
			t.Fatal(err)
		}
		list, sources = append(list, line), append(sources, p.Manifest.Sources[0])
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return list, sources
}

// TestRecords keeps scans of files with groups, holes, values in headers, and arrays that
// are refused.
func TestRecords(t *testing.T) {
	names := []string{"h5_groups.h5", "h5_holes.h5", "h5_types.h5", "h5_unsupported.h5", "grib_steps.grib2", "geotiff_sparse.tif"}
	lines, sources := records(t, names...)
	for i, line := range lines {
		m, r, err := parseRecord(line, sources[i])
		if err != nil {
			t.Errorf("%s: %v", names[i], err)
			continue
		}
		p := r.part(m, nil)
		again, err := recordOf(p, r.Values)
		if err != nil || !bytes.Equal(again, line) {
			t.Errorf("%s: another record (%v)", names[i], err)
		}
		for _, x := range p.Refused {
			if !errors.Is(x.Err, scan.ErrUnsupported) || x.Err.Error() == "" {
				t.Errorf("%s: %s: %v", names[i], x.Path, x.Err)
			}
		}
		if (len(p.Refused) > 0) != (names[i] == "h5_unsupported.h5") {
			t.Errorf("%s: %d arrays are refused", names[i], len(p.Refused))
		}
	}
}

// TestHostileRecords parses records that no scan makes.
func TestHostileRecords(t *testing.T) {
	lines, sources := records(t, "h5_groups.h5")
	for name, change := range map[string]func(r string) string{
		"not JSON":   func(r string) string { return r[1:] },
		"no group":   func(r string) string { return strings.Replace(r, `node_type\": \"group`, `node_type\": \"grp`, 1) },
		"a path":     func(r string) string { return strings.Replace(r, `"path":"`, `"path":"../`, 1) },
		"no blocks":  func(r string) string { return strings.Replace(r, `"references":[`, `"references":["AAAA",`, 1) },
		"no array":   func(r string) string { return strings.Replace(r, `"values":{`, `"values":{"none":"AA==",`, 1) },
		"no element": func(r string) string { return strings.Replace(r, `"values":{`, `"values":{"a/variable_01":"AA==",`, 1) },
		"beyond end": func(r string) string { return r },
	} {
		source := sources[0]
		if name == "beyond end" {
			source.Size = 100
		}
		changed := change(string(lines[0]))
		if changed == string(lines[0]) && name != "beyond end" {
			t.Fatalf("%s: nothing has changed", name)
		}
		if _, _, err := parseRecord([]byte(changed), source); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzScanRecord parses records of any bytes. What is accepted can be stored again.
func FuzzScanRecord(f *testing.F) {
	lines, _ := records(f, "h5_groups.h5", "h5_holes.h5", "h5_unsupported.h5")
	for _, line := range lines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, r, err := parseRecord(line, Source{Location: "../f", Size: 1 << 20})
		if err != nil {
			return
		}
		if _, err := recordOf(r.part(m, nil), r.Values); err != nil && !errors.Is(err, metadata.ErrInvalid) {
			t.Error(err)
		}
		for _, a := range m.Arrays {
			if n, ok := a.Grid.NumChunks(); !ok || int(n) != a.refs.len() {
				t.Errorf("%d references of %v chunks", a.refs.len(), a.Grid.Chunks())
			}
		}
	})
}
