// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// knownAfter makes statistics of 40 numbers in chunks of four, changes the document by
// text and returns how many cells are known then.
func knownAfter(t *testing.T, spec zarr.Spec, from, to string) int {
	t.Helper()
	s := memtest.New()
	_, at := made(t, s, spec, fixture.Numbers(1, 40))
	data := fixture.Must(value(s, "a/zarr.json"))
	edited := bytes.ReplaceAll(data, []byte(from), []byte(to))
	if bytes.Equal(edited, data) {
		t.Fatalf("no %q in %s", from, data)
	}
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("a/zarr.json"), edited), store.Flush); err != nil {
		t.Fatal(err)
	}
	a, e, err := load(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if e == nil {
		return 0 // the entries are of another type
	}
	known := 0
	for cell := range a.Core().State().Finest().All() {
		if _, _, ok := e.Known(cell.Index); ok {
			known++
		}
	}
	return known
}

// TestMeaning changes what gives stored bytes their meaning, in documents whose chunks
// stay, and how that is spelled.
func TestMeaning(t *testing.T) {
	spec := fixture.Every(40, 4)
	spec.Codecs, spec.Attributes = fixture.Plain(), map[string]any{"missing_value": 3, "scale_factor": 2}
	for _, c := range []struct {
		from, to string
		known    int
	}{
		{`"fill_value"`, "\n\t\"fill_value\"", 10},
		{`"scale_factor": 2`, `"scale_factor": 3`, 10},
		{`"missing_value": 3`, `"missing_value": 4`, 0},
		{`"missing_value": 3`, `"_Unsigned": "true", "missing_value": 3`, 0},
		{`"fill_value": 0`, `"fill_value": 1`, 0},
		{`"data_type": "int32"`, `"data_type": "uint32"`, 0},
		{`"little"`, `"big"`, 0},
	} {
		if known := knownAfter(t, spec, c.from, c.to); known != c.known {
			t.Errorf("%s: %d known, want %d", c.to, known, c.known)
		}
	}
}

// described is a store that describes its values in another way.
type described struct {
	store.Store
	store.Writer
	below    memtest.Store
	describe func(*store.Info)
	reading  func(store.Key)
}

// describing returns a store whose values describe describes.
func describing(below memtest.Store, describe func(*store.Info)) *described {
	return &described{below, below, below, describe, func(store.Key) {}}
}

func (s *described) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.reading(key)
	out, info, err := s.below.Get(ctx, key, q, dst)
	s.describe(&info)
	return out, info, err
}

func (s *described) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := s.below.Stat(ctx, key)
	s.describe(&info)
	return info, err
}

func (s *described) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.below.List(ctx, dir, how) {
			info := store.Info{Size: e.Size, Version: e.Version}
			s.describe(&info)
			if e.Version, e.FileTime = info.Version, info.FileTime; !yield(e, err) {
				return
			}
		}
	}
}

// TestPlace changes which elements are in a chunk, or under which key it is, in documents
// whose chunks stay.
func TestPlace(t *testing.T) {
	edges := fixture.Edges(4, 4, 4, 4, 4, 4, 4, 4, 8)
	if known := knownAfter(t, edges, "40", "39"); known != 8 {
		t.Errorf("a shorter last chunk: %d known", known)
	}
	if known := knownAfter(t, fixture.Every(40, 4), "40", "44"); known != 10 {
		t.Errorf("one more chunk: %d known", known)
	}
	// The versions of some services count the writes of each key.
	ctx, below := t.Context(), memtest.New()
	s := describing(below, func(info *store.Info) { info.Version = store.MakeVersion("1") })
	_, at := made(t, below, fixture.Every(40, 4), fixture.Numbers(1, 40))
	at = zarr.At(s, at.Path())
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true, SingleWriter: true})
	if err == nil {
		_, err = statistics.Make(ctx, a, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if known, _, err := compare(ctx, at); known != 10 || err != nil {
		t.Fatal(known, err)
	}
	document := bytes.ReplaceAll(fixture.Must(value(below, "a/zarr.json")), []byte(`"separator": "/"`), []byte(`"separator": "."`))
	for key, data := range map[string][]byte{"a/zarr.json": document, "a/c.3": fixture.Must(value(below, "a/c/4"))} {
		if _, err := store.Write(ctx, below, store.Put(store.MustKey(key), data), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if known, stored, err := compare(ctx, at); known != 0 || stored != 1 || err != nil {
		t.Errorf("other keys: %d of %d known, %v", known, stored, err)
	}
}

// TestVague makes no statistics where two versions of a chunk may be described alike.
func TestVague(t *testing.T) {
	ctx, below := t.Context(), memtest.New()
	_, at := made(t, below, fixture.Every(40, 4), fixture.Numbers(1, 40))
	for _, version := range []string{"", "W/1"} {
		s := describing(below, func(info *store.Info) { info.Version = store.MakeVersion(version) })
		at = zarr.At(s, at.Path())
		a, err := at.OpenArray(ctx, &zarr.Options{Write: true, SingleWriter: true})
		if err == nil {
			_, err = statistics.Make(ctx, a, nil)
		}
		if !errors.Is(err, zarr.ErrUnsupported) {
			t.Errorf("%q: %v", version, err)
		}
		if r, err := statistics.Make(ctx, a, &statistics.Options{Discard: true}); err != nil || r.Known != 10 || r.Read != 10 {
			t.Errorf("%q: printed %+v, %v", version, r, err)
		}
		if _, e, err := load(ctx, at); e != nil || err != nil {
			t.Errorf("%q: %v, %v", version, e, err)
		}
	}
}

// TestSameTick reads files only after the clock that gives them their times has moved on
// since the listing.
func TestSameTick(t *testing.T) {
	var mu sync.Mutex
	below := memtest.New()
	_, at := made(t, below, fixture.Every(40, 4), fixture.Numbers(1, 40))
	waited, early, reads := 0, 0, 0
	defer statistics.Waiting(func() { waited++ })()
	s := describing(below, func(info *store.Info) { info.FileTime = time.Unix(1, 0) })
	s.reading = func(key store.Key) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(key.String(), "a/c/") {
			if reads++; waited == 0 {
				early++
			}
		}
	}
	a, err := zarr.At(s, at.Path()).OpenArray(t.Context(), &zarr.Options{Write: true, SingleWriter: true})
	if err == nil {
		_, err = statistics.Drop(t.Context(), a)
	}
	if err == nil {
		_, err = statistics.Make(t.Context(), a, nil)
	}
	if err != nil || waited != 1 || early > 0 || reads != 10 {
		t.Errorf("waited %d times, before all but %d of %d reads: %v", waited, early, reads, err)
	}
}

// TestGrowth appends along the last axis, chunk by chunk: the entries stay in one block.
func TestGrowth(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	spec := fixture.Within(fixture.Every(4, 2), 4, 2)
	spec.Chunks = grid.Chunks(2, 2)
	a, at := made(t, s, spec, fixture.Numbers(1, 8))
	for k := range int32(20) {
		if err := zarr.Append(ctx, a, 1, fixture.Numbers(k, 8), nil); err != nil {
			t.Fatal(err)
		}
		if r, err := remake(ctx, at, nil); err != nil || r.Read != 0 || r.Known != r.Cells {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	blocks := 0
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name, "statistics/c/") {
			blocks++
		}
	}
	if blocks != 1 {
		t.Errorf("%d blocks", blocks)
	}
}

// TestVerify finds entries that say what is not so: here a store gives a chunk that was
// written the version that it had.
func TestVerify(t *testing.T) {
	ctx, below := t.Context(), memtest.New()
	b, at := made(t, below, fixture.Every(40, 4), fixture.Numbers(1, 40))
	at = zarr.At(describing(below, func(info *store.Info) { info.Version = store.MakeVersion("1") }), at.Path())
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true, SingleWriter: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := statistics.Make(ctx, a, nil); err != nil {
		t.Fatal(err)
	}
	kinds := func(opt *check.Options) (kinds []zarr.Kind) {
		t.Helper()
		report, err := check.Run(ctx, a, opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			kinds = append(kinds, f.Kind)
		}
		return kinds
	}
	if found := kinds(nil); found != nil {
		t.Error(found)
	}
	keys := b.Core().State().Engine
	data, _, err := below.Get(ctx, keys.Key([]int64{4}), store.Request{}, nil)
	if err == nil {
		_, err = store.Write(ctx, below, store.Put(keys.Key([]int64{3}), data), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, err := statistics.Verify(ctx, a); err != nil || c.Cells != 1 || fmt.Sprint(c.First) != "[3]" {
		t.Errorf("%+v, %v", c, err)
	}
	if found := kinds(nil); !slices.Equal(found, []zarr.Kind{"statistics"}) {
		t.Error(found)
	}
	if found := kinds(&check.Options{Fast: true}); found != nil {
		t.Error(found)
	}
}

// TestUntimed writes to file systems whose files have times in whole seconds, or that
// refuse to set times: no entry is known that a later write in place may belie.
func TestUntimed(t *testing.T) {
	ctx := t.Context()
	refused := func(op vfs.Op) error {
		if op.Kind == "touch" {
			return fs.ErrPermission
		}
		return nil
	}
	a, at := made(t, fixture.FileStore(vfs.Hook(vfs.NewDisk(), refused)), fixture.Every(40, 4), fixture.Numbers(1, 40))
	if err := zarr.Write(ctx, a, selection.Box{{8, 16}}, fixture.Numbers(2, 8)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // writers go on without the versions that they are not told
		if err := zarr.Append(ctx, a, 0, fixture.Numbers(3, 4), nil); err != nil {
			t.Fatal(err)
		}
	}
	if known, stored, err := compare(ctx, at); err != nil || known != 8 || stored != 12 {
		t.Errorf("%d of %d known, %v", known, stored, err)
	}
	coarse := vfs.Stat{Size: 8, Dev: 1, Ino: 2, Ctime: 3e9, Mtime: 2e9}
	fine, finer := coarse, coarse
	fine.Ctime++
	finer.Mtime++
	for st, want := range map[vfs.Stat]bool{coarse: true, fine: false, finer: false} {
		if staging.IsVague(store.MakeVersion(st.Version())) != want {
			t.Error(st)
		}
	}
}

// TestFlooded changes chunks whose entries another program has laid out so that each has
// a long block: some are kept, in few bytes, and absent blocks take none.
func TestFlooded(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	spec := fixture.Every(400, 400)
	spec.InnerChunks = grid.Chunks(2)
	_, at := made(t, s, spec, fixture.Numbers(1, 400))
	key := store.MustKey("a/__varve/statistics/zarr.json")
	data, _, err := s.Get(ctx, key, store.Request{}, nil)
	if err == nil {
		block := regexp.MustCompile(`"chunk_shape":\[\d+\]`)
		data = block.ReplaceAll(data, []byte(`"chunk_shape":[1]`))
		_, err = store.Write(ctx, s, store.Put(key, data), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer statistics.Bounding(100 * 32)()
	b, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Write(ctx, b, nil, fixture.Numbers(2, 400))
	}
	if err != nil {
		t.Fatal(err)
	}
	if known, stored, err := compare(ctx, at); err != nil || stored != 200 || known != 100 {
		t.Errorf("%d of %d known, %v", known, stored, err)
	}
	if r, err := check.Run(ctx, b, nil); err != nil || len(r.Findings) > 0 {
		t.Error(r, err)
	}
}
