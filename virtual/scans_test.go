// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual/internal/hdf5"
	"varve.dev/zarr/virtual/scan"
)

func init() { parallel.Crash.Store(true) } // tests look for panics

// archive is a folder with files and a manifest of them.
type archive struct {
	t     *testing.T
	dir   string
	store *aging
	path  store.Path
	ahead int // files that are scanned at once, but one
}

// aging is a store whose values can be made older.
type aging struct {
	filetest.Store
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

func (s *aging) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.Store.List(ctx, dir, how) {
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
	a.store.Store = filetest.Open(t, a.dir)
	a.path, err = store.ParsePath("made.vz")
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
	c.Concurrency, c.keepAfter = 1+a.ahead, time.Hour
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

// TestKeepAhead interrupts a collection that has scanned files before their turn. They
// are kept, with the values that are needed of them.
func TestKeepAhead(t *testing.T) {
	for _, how := range []Join{{Concat: "time"}, {Stack: "member"}} {
		a := newArchive(t, map[bool]string{true: "epochs_days_0*.nc", false: "members_0*.nc"}[how.Concat != ""])
		a.ahead = 2
		if fresh, _, err := a.run(how, 1); !errors.Is(err, context.Canceled) || fresh != 1 {
			t.Fatal(fresh, err)
		}
		for _, f := range a.files() { // so that only what is kept can be read
			info, err := os.Stat(f)
			if err == nil {
				err = os.WriteFile(f, make([]byte, info.Size()), 0o666)
			}
			if err == nil {
				err = os.Chtimes(f, info.ModTime(), info.ModTime())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if fresh, kept, err := a.run(how, 0); err != nil || fresh != 0 || kept != 3 {
			t.Errorf("%d were scanned, %d were kept (%v)", fresh, kept, err)
		}
	}
}

// TestKeepCount counts the scans that are kept of the files of a collection, and not
// those of others.
func TestKeepCount(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	if _, _, err := a.run(Join{Concat: "time"}, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for n, files := range [][]string{a.files()[2:], a.files()[1:], a.files()} {
		c, err := NewCollector(filepath.Join(a.dir, "made.vz"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Keep(t.Context(), a.store, a.path); err != nil {
			t.Fatal(err)
		}
		j, err := NewJoined(Join{Concat: "time"})
		if err == nil {
			err = c.Collect(t.Context(), j, files)
		}
		if err = errors.Join(err, c.Close()); err != nil || c.Kept() != n {
			t.Errorf("%d of %d files are kept, want %d (%v)", c.Kept(), len(files), n, err)
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

// TestKeepOther continues in another way than before, which needs values that were not
// read then.
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
	racing.Skip(t) // damaged bytes, one after the other
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

// goOn adds files of the folder to the manifest, keeps what is scanned, and stops after a
// number of files. It returns how many were scanned, and how many were kept.
func (a *archive) goOn(stop int, files ...string) (fresh, kept int) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(a.t.Context())
	defer cancel()
	m, err := Open(ctx, a.store, a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	j, err := Extend(ctx, m, filepath.Join(a.dir, "made.vz"))
	if err != nil {
		a.t.Fatal(err)
	}
	c, err := NewCollector(filepath.Join(a.dir, "made.vz"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer c.Close()
	c.Concurrency, c.keepAfter = 1, time.Hour
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
	if err = c.Keep(ctx, a.store, a.path); err == nil {
		err = c.Collect(ctx, j, files)
	}
	if stop > 0 && errors.Is(err, context.Canceled) {
		return fresh, kept
	}
	if err == nil {
		m, err = j.Finish()
	}
	if err == nil {
		err = m.Update(ctx)
	}
	if err == nil {
		err = c.Forget(ctx)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return fresh, kept
}

// TestForgetOthers adds a file while the scans of others are kept, which stay until the
// manifest has these files, too. A value with another name is not touched.
func TestForgetOthers(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	a.add("epochs_days_01.nc", Join{Concat: "time"})
	files := a.files()
	if fresh, _ := a.goOn(1, files[1:]...); fresh != 1 || len(a.scanned()) != 1 {
		t.Fatalf("%d were scanned, %q", fresh, a.scanned())
	}
	others := a.scanned()
	readme := filepath.Join(a.dir, "made.vz/scan/README")
	if err := os.WriteFile(readme, []byte("what is this?"), 0o666); err != nil {
		t.Fatal(err)
	}
	a.goOn(0, files[2])
	if names := a.scanned(); len(names) != 2 || names[0] != others[0] && names[1] != others[0] {
		t.Errorf("%q stay, want %q", names, others)
	}
	if fresh, kept := a.goOn(0, files[1:]...); fresh != 0 || kept != 1 {
		t.Errorf("%d were scanned, %d were kept", fresh, kept)
	}
	if names := a.scanned(); len(names) != 1 || names[0] != readme {
		t.Errorf("%q stay", names)
	}
}

// TestKeepOlder continues the scans of a program with other scanners. The files are
// scanned again.
func TestKeepOlder(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	if _, _, err := a.run(how, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	name := a.scanned()[0]
	b, err := os.ReadFile(name)
	if err == nil {
		b, err = scanDecoder.DecodeAll(b, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	older := bytes.Replace(b, fmt.Appendf(nil, `"scanners":%d,`, scannersVersion), nil, 1)
	if bytes.Equal(older, b) {
		t.Fatal("no version of the scanners")
	}
	if err := os.WriteFile(name, blockEncoder.EncodeAll(older, nil), 0o666); err != nil {
		t.Fatal(err)
	}
	if fresh, kept, err := a.run(how, 0); err != nil || fresh != 3 || kept != 0 {
		t.Errorf("%d were scanned, %d were kept (%v)", fresh, kept, err)
	}
	if names := a.scanned(); len(names) > 0 {
		t.Errorf("%q stay", names)
	}
}

// TestKeepRegistered continues after a scanner was registered, which may know the files
// better. They are scanned again, and then kept.
func TestKeepRegistered(t *testing.T) {
	a := newArchive(t, "epochs_days_0*.nc")
	how := Join{Concat: "time"}
	if _, _, err := a.run(how, 2); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	none := Scanner{Format: "files of " + t.Name(), Version: 3, Matches: func(*scan.File) bool { return false }, Scan: hdf5.Scan}
	Register(none)
	if fresh, kept, err := a.run(how, 2); !errors.Is(err, context.Canceled) || fresh != 2 || kept != 0 {
		t.Errorf("%d were scanned, %d were kept (%v)", fresh, kept, err)
	}
	if fresh, kept, err := a.run(how, 0); err != nil || fresh != 1 || kept != 2 {
		t.Errorf("%d were scanned, %d were kept (%v)", fresh, kept, err)
	}
	for _, s := range []Scanner{none, {Format: "TIFF", Matches: none.Matches, Scan: none.Scan}, {Format: "x", Matches: none.Matches}, {Format: "x", Scan: none.Scan}, {Matches: none.Matches, Scan: none.Scan}} {
		if !panics(func() { Register(s) }) {
			t.Errorf("%q is registered", s.Format)
		}
	}
}

// panics reports whether a function panics.
func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// records returns what scans of files of testdata have found, as it is kept.
func records(t testing.TB, names ...string) (list [][]byte, sources []Source) {
	t.Helper()
	s, err := filestore.Open("testdata", &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p, err := openPart(t.Context(), s, store.MustKey(name), "../"+name, "file")
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
		if err := p.close(); err != nil {
			t.Fatal(err)
		}
	}
	return list, sources
}

// TestRecords keeps scans of files with groups, holes, values in headers, and arrays that
// are refused.
func TestRecords(t *testing.T) {
	names := []string{"h5_groups.h5", "h5_holes.h5", "h5_types.h5", "h5_unsupported.h5", "grib_steps.grib2", "grib_ieee.grib2", "geotiff_sparse.tif"}
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

// TestHostilePoints parses records whose arrays have places along axes that no scan has
// found.
func TestHostilePoints(t *testing.T) {
	lines, sources := records(t, "grib_ieee.grib2")
	for name, change := range map[string][2]string{
		"an axis":     {`"axis":0`, `"axis":3`},
		"below zero":  {`"axis":0`, `"axis":-1`},
		"a name":      {`"name":"time"`, `"name":"../time"`},
		"no document": {`"name":"time","document":"{`, `"name":"time","document":"[`},
		"a shape":     {`\"shape\": [1]`, `\"shape\": [2]`},
		"no value":    {`"value":"`, `"value":"AAAA`},
	} {
		changed := strings.Replace(string(lines[0]), change[0], change[1], 1)
		if changed == string(lines[0]) {
			t.Fatalf("%s: nothing has changed", name)
		}
		if _, _, err := parseRecord([]byte(changed), sources[0]); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// arrayRecords returns records of arrays of uint8 in chunks of one element, whose
// references repeat a block.
func arrayRecords(chunks int64, block references, paths ...string) (list []nodeRecord) {
	doc := strings.NewReplacer("SHAPE", fmt.Sprint(chunks), "[2]", "[1]").Replace(arrayDocument)
	whole := appendBlock(nil, block)
	for _, path := range paths {
		n := nodeRecord{Path: path, Document: doc}
		for range chunks / mostReferences {
			n.Blocks = append(n.Blocks, whole)
		}
		if left := chunks % mostReferences; left > 0 {
			n.Blocks = append(n.Blocks, appendBlock(nil, block.slice(0, int(left))))
		}
		list = append(list, n)
	}
	return list
}

// TestLargeRecords has records of a few bytes that declare many chunks or nodes. They are
// refused before they take memory.
func TestLargeRecords(t *testing.T) {
	racing.Skip(t) // one goroutine parses
	absent, stored := makeReferences(mostReferences), makeReferences(mostReferences)
	for i := range stored.source {
		stored.source[i] = 1
	}
	recordOf := func(arrays []nodeRecord) []byte {
		line, err := json.Marshal(scanRecord{Format: "none", Arrays: arrays})
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	many := make([]string, 64)
	for i := range many {
		many[i] = fmt.Sprint("a", i)
	}
	for name, c := range map[string]struct {
		line []byte
		size int64
		ok   bool
	}{
		"sound":            {recordOf(arrayRecords(100, stored, "a", "b")), 4096, true},
		"stored":           {recordOf(arrayRecords(mostAbsent+100, stored, "a")), 4096, true},
		"many of a file":   {recordOf(arrayRecords(1<<24, stored, "a")), 4096, false},
		"many of any file": {recordOf(arrayRecords(1<<24, stored, "a")), 0, false},
		"together":         {recordOf(arrayRecords(mostAbsent/8, absent, many...)), 4096, false},
		"absent":           {recordOf(arrayRecords(1<<21, absent, "a")), 1 << 30, false},
		"absent of two":    {recordOf(arrayRecords(mostAbsent-1, absent, "a", "b")), 1 << 30, false},
		"absent of one":    {recordOf(append(arrayRecords(1<<21, absent, "a"), arrayRecords(1<<20, stored, "b")...)), 1 << 30, false},
		"too many":         {recordOf(arrayRecords(mostChunks+1, stored, "a")), 1 << 31, false},
		"one path":         {recordOf(arrayRecords(100, stored, "a", "a")), 4096, false},
		"nodes":            {[]byte(`{"arrays":[` + strings.Repeat("{},", 1<<22) + `{}]}`), 4096, false},
		"no list":          {[]byte(`{"arrays":{"path":"a"}}`), 4096, false},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := parseRecord(c.line, Source{Location: "../f", Size: c.size})
		runtime.ReadMemStats(&after)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		most := uint64(20<<20 + 8*len(c.line))
		if c.size == 1<<30 || c.ok { // it decodes blocks, one by one
			most = 400 << 20
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s: a record of %d bytes takes %d", name, len(c.line), used)
		}
	}
}

// TestManyScans has a value of a few bytes with many records or sources.
func TestManyScans(t *testing.T) {
	racing.Skip(t) // it measures memory
	for name, text := range map[string]string{
		"records": strings.Repeat("\n", 32<<20),
		"sources": `{"varve_scan":1,"sources":[` + strings.Repeat("{},", 10<<20) + `{}]}` + "\n{}",
	} {
		a := newArchive(t, "epochs_days_01.nc")
		value := blockEncoder.EncodeAll([]byte(text), nil)
		if _, err := store.Write(t.Context(), a.store, store.Put(a.path.MustKey("scan/0123456789abcdef"), value), store.Flush); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fresh, kept, err := a.run(Join{Concat: "time"}, 0)
		runtime.ReadMemStats(&after)
		if err != nil || fresh != 1 || kept != 0 {
			t.Errorf("%s: %d were scanned, %d were kept (%v)", name, fresh, kept, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 320<<20 {
			t.Errorf("%s: a value of %d bytes takes %d", name, len(value), used)
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
		m, r, err := parseRecord(line, Source{Location: "../f", Size: 1 << 16})
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
