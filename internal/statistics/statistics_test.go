// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// load reads the entries of an array, beside its present document and listing.
func load(ctx context.Context, at *zarr.Location) (*zarr.Array, *statistics.Entries, error) {
	a, err := at.OpenArray(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return a, nil, err
	}
	s := a.Core().State()
	listed, err := staging.List(ctx, s)
	if err != nil {
		return a, nil, err
	}
	e, err := statistics.Load(ctx, a, s, c, listed, 1<<30)
	return a, e, err
}

// compare compares every entry that counts as known with the elements that a reader
// finds. It returns how many cells are known, and how many of stored chunks there are.
func compare(ctx context.Context, at *zarr.Location) (known, stored int, err error) {
	a, e, err := load(ctx, at)
	if err != nil {
		return 0, 0, err
	}
	s := a.Core().State()
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return 0, 0, err
	}
	listed, err := staging.List(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	cells := s.Finest()
	for cell := range cells.All() {
		chunk, _, err := s.Grid.Locate(cell.Start)
		if err != nil {
			return known, stored, err
		}
		if listed.Contains(chunk) {
			stored++
		}
		if e == nil {
			continue
		}
		got, n, ok := e.Known(cell.Index)
		if !ok {
			continue
		}
		known++
		data := make([]byte, n*int64(a.Type().Size()))
		if err := a.ReadBytes(ctx, selection.BoxOf(cell.Box()), data); err != nil {
			return known, stored, err
		}
		if want := plain(a, c, data); !c.Equal(got, want) || !listed.Contains(chunk) {
			return known, stored, fmt.Errorf("cell %v: %+v, want %+v", cell.Index, got, want)
		}
	}
	return known, stored, nil
}

// plain summarizes elements one by one.
func plain(a *zarr.Array, c *cf.Comparer, data []byte) (s cf.Summary) {
	size, fill := a.Type().Size(), cf.FillOf(a)
	var order [1]cf.Order
	for ; len(data) > 0; data = data[size:] {
		elem := data[:size]
		c.Compare(order[:], elem, cf.Value{})
		one := cf.Summary{Minimum: elem, Maximum: elem}
		if order[0] == cf.Absent {
			one = cf.Summary{Missing: 1}
		}
		if c.Equal(cf.Summary{Minimum: elem, Maximum: elem}, cf.Summary{Minimum: fill, Maximum: fill}) {
			one.Fill = 1
		}
		c.Merge(&s, one)
	}
	return s
}

func remake(ctx context.Context, at *zarr.Location, opt *statistics.Options) (*statistics.Report, error) {
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		return nil, err
	}
	return statistics.Make(ctx, a, opt)
}

// history draws an array and what programs do to it.
type history struct {
	*rand.Rand
	at *zarr.Location
}

func (h *history) create(ctx context.Context) error {
	s := zarr.Spec{Type: dtype.Int16, FillValue: zarr.FillJSON("-1"), Attributes: map[string]any{"_FillValue": 7}}
	s.Shape = []int64{8 + h.Int64N(30)}
	s.Chunks = []grid.Cut{grid.Every(6)}
	if h.IntN(2) == 0 {
		s.Chunks = []grid.Cut{grid.Edges(6, 12, 6, 6, 12)}
		s.Shape[0] = 42
	}
	if h.IntN(2) == 0 {
		s.Shape, s.Chunks = append(s.Shape, 5), append(s.Chunks, grid.Every(4))
	}
	if h.IntN(2) == 0 {
		for range s.Shape {
			s.InnerChunks = append(s.InnerChunks, grid.Every(2))
		}
	}
	if h.IntN(3) == 0 {
		s.Codecs = fixture.Plain()
	}
	_, err := h.at.CreateArray(ctx, s, nil)
	return err
}

// step does one thing.
func (h *history) step(ctx context.Context) (what string, err error) {
	a, err := h.at.OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		return "", err
	}
	shape := a.Shape()
	switch h.IntN(12) {
	case 0, 1, 2:
		box := make(selection.Box, len(shape))
		for i, n := range shape {
			if n == 0 {
				return "nothing", nil
			}
			start := h.Int64N(n)
			box[i] = [2]int64{start, start + 1 + h.Int64N(n-start)}
		}
		return "write", zarr.Write(ctx, a, box, h.values(box))
	case 3:
		box := selection.BoxOf(grid.BoxOf(shape))
		box[0] = [2]int64{0, 1 + h.Int64N(7)}
		part := slices.Clone(shape)
		part[0] = box[0][1]
		return "append", zarr.Append(ctx, a, 0, h.values(box), nil)
	case 4:
		shape[0] = max(1, shape[0]-h.Int64N(9))
		return "resize", a.Resize(ctx, shape, &zarr.ResizeOptions{KeepStale: h.IntN(2) == 0})
	case 5:
		// The keys of former grids are free again, and get chunks of the next one.
		_, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1})
		if err == nil {
			_, err = rechunk.Do(ctx, a, h.rechunk(a), nil)
		}
		return "rechunk", err
	case 6:
		return "attribute", a.SetAttribute(ctx, "_FillValue", h.IntN(4)-1)
	case 7, 8:
		_, err := remake(ctx, h.at, &statistics.Options{Memory: []int64{0, 1}[h.IntN(2)]})
		return "statistics", err
	case 9:
		return "edit", h.foreign(ctx)
	case 10:
		return "stream", h.stream(ctx, a)
	}
	shape[0] += h.Int64N(9)
	return "grow", a.Resize(ctx, shape, &zarr.ResizeOptions{KeepStale: true})
}

// stream appends some planes, which are encoded before the array grows.
func (h *history) stream(ctx context.Context, a *zarr.Array) error {
	s, err := a.Stream(ctx, 0, &zarr.StreamOptions{Budget: 1 + h.Int64N(400), Every: h.Int64N(4)})
	if err != nil {
		return err
	}
	box := selection.BoxOf(grid.BoxOf(a.Shape()))
	for range 1 + h.IntN(12) {
		box[0] = [2]int64{0, 1 + h.Int64N(4)}
		if err := zarr.WritePlanes(ctx, s, h.values(box)); err != nil {
			return errors.Join(err, s.Close(ctx))
		}
	}
	return s.Close(ctx)
}

// rechunk draws a change of the grid. Some keep chunks as they are, under other keys.
func (h *history) rechunk(a *zarr.Array) rechunk.Request {
	extent := a.Shape()[0]
	switch h.IntN(3) {
	case 0:
		return rechunk.Compaction{UpTo: 12}
	case 1:
		return rechunk.Removal{Range: grid.Interval{Stop: min(6, extent/2)}, Unlock: true}
	}
	cuts := make(rechunk.Cuts, a.Rank())
	for i := range cuts {
		cuts[i] = grid.Every(2 * (1 + h.Int64N(6)))
	}
	return rechunk.Rechunking{Chunks: cuts}
}

func (h *history) values(box selection.Box) []int16 {
	n := int64(1)
	for _, in := range box {
		n *= in[1] - in[0]
	}
	list := make([]int16, n)
	for i := range list {
		list[i] = int16(h.IntN(12) - 3)
	}
	return list
}

// foreign does what another program may do: it edits the document, or stores the bytes of
// one chunk as another.
func (h *history) foreign(ctx context.Context) error {
	s, key := h.at.Store(), store.MustKey(h.at.Path()+"/zarr.json")
	if h.IntN(2) == 0 {
		data, _, err := s.Get(ctx, key, store.Request{}, nil)
		if err != nil {
			return err
		}
		edited := regexp.MustCompile(`"fill_value": -?[0-9]+`).ReplaceAll(data, fmt.Appendf(nil, `"fill_value": %d`, h.IntN(3)-1))
		_, err = store.Write(ctx, s, store.Put(key, edited), store.Flush)
		return err
	}
	a, err := h.at.OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	var keys []store.Key
	for k := range a.Grid().All() {
		keys = append(keys, a.Core().State().Engine.Key(slices.Clone(k.Index)))
	}
	if len(keys) < 2 {
		return nil
	}
	data, _, err := s.Get(ctx, keys[h.IntN(len(keys)-1)], store.Request{}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if to := a.Grid(); err == nil && to.IsRegular() { // the chunks have one shape
		_, err = store.Write(ctx, s, store.Put(keys[h.IntN(len(keys))], data), store.Flush)
	}
	return err
}

// TestNeverWrong lets drawn programs change arrays. Whatever they do, an entry that
// counts as known says what a reader finds, and after Make all are known.
func TestNeverWrong(t *testing.T) {
	for seed := range fixture.Soaked(t, 80, 5000) {
		h := &history{Rand: rand.New(rand.NewPCG(uint64(seed), 1)), at: zarr.At(memstore.New(), "a")}
		if seed%8 == 0 {
			s, err := filestore.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			h.at = zarr.At(s, "a")
		}
		ctx := t.Context()
		if err := h.create(ctx); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for range 14 {
			what, err := h.step(ctx)
			if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported) {
				continue // such as shards that inner chunks do not divide
			}
			if err != nil {
				t.Fatalf("seed %d: %v, %s: %v", seed, steps, what, err)
			}
			steps = append(steps, what)
			known, stored, err := compare(ctx, h.at)
			if err == nil && what == "statistics" && known != stored {
				err = fmt.Errorf("%d of %d cells are known", known, stored)
			}
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, steps, err)
			}
		}
	}
}

// made makes an array with the elements and its statistics.
func made(t *testing.T, s store.Store, spec zarr.Spec, data []int32) (*zarr.Array, *zarr.Location) {
	t.Helper()
	at := zarr.At(s, "a")
	a, err := at.CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, data)
	}
	if err == nil {
		_, err = statistics.Make(t.Context(), a, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, at
}

// TestTypes makes statistics of arrays of every type, or refuses them.
func TestTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range fixture.Types(t) {
		for _, format := range []int{2, 3} {
			at := zarr.At(memstore.New(), "a")
			a, err := at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{50}, Chunks: grid.Chunks(8), Type: typ, Format: format}, nil)
			if err != nil {
				continue // format 2 lacks types
			}
			var data []byte
			for range 50 {
				data = append(data, fixture.Element(r, typ)...)
			}
			if !typ.Variable() {
				if err := a.WriteBytes(t.Context(), nil, data); err != nil {
					t.Fatal(err)
				}
			}
			_, err = statistics.Make(t.Context(), a, nil)
			if err != nil {
				if _, ordered := cf.ComparerOf(t.Context(), a); ordered == nil && !errors.Is(err, zarr.ErrUnsupported) {
					t.Errorf("%s: %v", typ, err)
				}
				continue
			}
			if known, stored, err := compare(t.Context(), at); err != nil || known != stored {
				t.Errorf("%s: %d of %d: %v", typ, known, stored, err)
			}
		}
	}
}

// TestAgain reads only what has no entry of its present version.
func TestAgain(t *testing.T) {
	ctx := t.Context()
	a, at := made(t, memstore.New(), fixture.Every(40, 4), fixture.Numbers(1, 40))
	make := func(opt *statistics.Options) statistics.Report {
		t.Helper()
		r, err := remake(ctx, at, opt)
		if err != nil {
			t.Fatal(err)
		}
		return *r
	}
	if r := make(nil); r.Read != 0 || r.Known != 10 || r.Elements != 40 || fmt.Sprint(r.Summary.Minimum, r.Summary.Maximum) != fmt.Sprint(fixture.Int32Bytes([]int32{1}), fixture.Int32Bytes([]int32{40})) {
		t.Fatalf("nothing changed: %+v", r)
	}
	if err := zarr.Append(ctx, a, 0, fixture.Numbers(41, 8), nil); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, selection.Box{{5, 6}}, []int32{-7}); err != nil {
		t.Fatal(err)
	}
	if r := make(nil); r.Read != 0 || r.Known != 12 {
		t.Fatalf("the writers kept them in step: %+v", r)
	}
	// Another program stores the bytes that are there.
	for _, index := range []int64{1, 10, 11} {
		key := a.Core().State().Engine.Key([]int64{index})
		data, _, err := at.Store().Get(ctx, key, store.Request{}, nil)
		if err == nil {
			_, err = store.Write(ctx, at.Store(), store.Put(key, data), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := make(&statistics.Options{DryRun: true}); r.Read != 3 || r.Known != 9 || r.Cells != 12 {
		t.Fatalf("dry run: %+v", r)
	}
	if r := make(&statistics.Options{Discard: true}); r.Read != 3 || r.Known != 12 {
		t.Fatalf("nothing kept: %+v", r)
	}
	done := int64(0)
	if r := make(&statistics.Options{Progress: func(n, _ int64) { done = n }}); r.Read != 3 || r.Known != 12 || done != 12 {
		t.Fatalf("after an append and a write: %+v, %d", r, done)
	}
	if r := make(nil); r.Read != 0 {
		t.Fatalf("at last: %+v", r)
	}
	readOnly, err := at.OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = statistics.Make(ctx, readOnly, nil); !errors.Is(err, zarr.ErrReadOnly) {
		t.Fatal(err)
	}
	if _, err := statistics.Make(ctx, readOnly, &statistics.Options{Discard: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		if found, err := statistics.Drop(ctx, a); found != want || err != nil {
			t.Fatal(found, err)
		}
	}
	if r := make(&statistics.Options{DryRun: true}); r.Read != 12 {
		t.Fatalf("dropped: %+v", r)
	}
}

// TestUnstored counts the elements of chunks that are not stored.
func TestUnstored(t *testing.T) {
	a, at := made(t, memstore.New(), fixture.Every(40, 4), make([]int32, 40))
	if err := zarr.Write(t.Context(), a, selection.Box{{8, 9}}, []int32{5}); err != nil {
		t.Fatal(err)
	}
	r, err := remake(t.Context(), at, nil)
	if err != nil || r.Chunks != 1 || r.Elements != 40 || r.Summary.Fill != 39 || r.Summary.Minimum[0] != 0 || r.Summary.Maximum[0] != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// interrupted is a store in which another program acts before some operation.
type interrupted struct {
	memtest.Store
	before func(op string, key store.Key) error
}

func (s *interrupted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := s.before("get", key); err != nil {
		return nil, store.Info{}, err
	}
	return s.Store.Get(ctx, key, q, dst)
}

func (s *interrupted) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if err := s.before("write", c.Key); err != nil {
		return store.Written{}, err
	}
	return s.Store.Write(ctx, c, d)
}

func (s *interrupted) Batch(context.Context, store.Durability) (store.Batch, error) {
	return writes{s}, nil
}

// writes is a batch whose writes happen at once.
type writes struct{ *interrupted }

func (w writes) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return w.interrupted.Write(ctx, c, store.Flush)
}

func (w writes) Commit(context.Context) error { return nil }

func (w writes) Discard() {}

// TestWrittenMeanwhile writes a chunk between the listing and the reading of it.
func TestWrittenMeanwhile(t *testing.T) {
	ctx, below := t.Context(), memtest.New()
	_, at := made(t, below, fixture.Every(40, 4), fixture.Numbers(1, 40))
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		_, err = statistics.Drop(ctx, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := &interrupted{Store: below}
	written := false
	s.before = func(op string, key store.Key) error {
		if op != "get" || key.String() != "a/c/3" || written {
			return nil
		}
		written = true
		return zarr.Write(ctx, a, selection.Box{{12, 16}}, fixture.Numbers(100, 4))
	}
	r, err := remake(ctx, zarr.At(s, "a"), nil)
	if err != nil || r.Changed != 1 || r.Known != 9 {
		t.Fatalf("%+v, %v", r, err)
	}
	if known, _, err := compare(ctx, at); known != 9 || err != nil {
		t.Fatal(known, err)
	}
}

// TestStops stops the making of statistics at every write. What is kept is true, and the
// next call completes it.
func TestStops(t *testing.T) {
	ctx := t.Context()
	for at, stopped := 0, true; stopped; at++ {
		below := memtest.New()
		a, loc := made(t, below, fixture.ShardsOf8(48), fixture.Numbers(1, 48))
		// Statistics of another type are in the way.
		if at%2 == 0 {
			other := bytes.ReplaceAll(fixture.Must(value(below, "a/__varve/statistics/zarr.json")), []byte("int32"), []byte("float64"))
			if _, err := store.Write(ctx, below, store.Put(store.MustKey("a/__varve/statistics/zarr.json"), other), store.Flush); err != nil {
				t.Fatal(err)
			}
		} else if err := zarr.Write(ctx, a, nil, fixture.Numbers(2, 48)); err != nil {
			t.Fatal(err)
		}
		s, n := &interrupted{Store: below}, 0
		stopped = false
		s.before = func(op string, key store.Key) error {
			if op != "write" {
				return nil
			}
			if n++; n > at/2 {
				stopped = true
				return errors.New("stopped")
			}
			return nil
		}
		if _, err := remake(ctx, zarr.At(s, "a"), nil); (err != nil) != stopped {
			t.Fatal(err)
		}
		if _, _, err := compare(ctx, loc); err != nil {
			t.Fatalf("stopped at %d: %v", at, err)
		}
		if _, err := remake(ctx, loc, nil); err != nil {
			t.Fatal(err)
		}
		if known, stored, err := compare(ctx, loc); err != nil || known != stored {
			t.Fatalf("stopped at %d, made again: %d of %d, %v", at, known, stored, err)
		}
		if at%2 == 0 {
			stopped = true // the other kind decides
		}
	}
}

func value(s store.Store, key string) ([]byte, error) {
	data, _, err := s.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	return data, err
}

// TestDamage damages what is kept. Nothing is known then, and nothing fails.
func TestDamage(t *testing.T) {
	ctx := t.Context()
	const document, block = "a/__varve/statistics/zarr.json", "a/__varve/statistics/c/0"
	for key, damages := range map[string][]string{
		document: {"", "{", "[]", `{"zarr_format":3,"node_type":"group"}`, "2560 is 1<<40"},
		block:    {"", "x", strings.Repeat("x", 1000)},
	} {
		for _, data := range damages {
			s := memtest.New()
			_, at := made(t, s, fixture.Every(40, 4), fixture.Numbers(1, 40))
			if from, to, ok := strings.Cut(data, " is 1<<"); ok { // blocks that fit into no memory
				data = strings.ReplaceAll(string(fixture.Must(value(s, document))), "["+from+"]", "[10995116277"+to+"]")
			}
			if _, err := store.Write(ctx, s, store.Put(store.MustKey(key), []byte(data)), store.Flush); err != nil {
				t.Fatal(err)
			}
			const other = "a/__varve/statistics/c/7" // a block that nobody needs
			if _, err := store.Write(ctx, s, store.Put(store.MustKey(other), []byte("x")), store.Flush); err != nil {
				t.Fatal(err)
			}
			if known, _, err := compare(ctx, at); known != 0 || err != nil {
				t.Errorf("%s is %.9q: %d known, %v", key, data, known, err)
			}
			if r, err := remake(ctx, at, nil); err != nil || r.Read != 10 || r.Known != 10 {
				t.Errorf("%s is %.9q: %+v, %v", key, data, r, err)
			}
			if known, _, err := compare(ctx, at); known != 10 || err != nil {
				t.Errorf("%s was %.9q: %d known, %v", key, data, known, err)
			}
			if _, err := value(s, other); (err != nil) != (key == document) {
				t.Errorf("%s was %.9q: what lies beside it: %v", key, data, err)
			}
		}
	}
}

// TestHidden looks for statistics as readers of nodes would: they see none, and copies
// and removals leave nothing behind.
func TestHidden(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := zarr.At(s, "").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, at := made(t, s, fixture.Every(40, 4), fixture.Numbers(1, 40))
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	for _, group := range []*zarr.Group{g, g.Unconsolidated()} {
		n := 0
		for m, err := range group.Members(ctx, true) {
			if n++; err != nil || m.Path != "a" {
				t.Fatal(m, err)
			}
		}
		if n != 1 {
			t.Fatal(n)
		}
	}
	if _, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
		t.Fatal(err)
	}
	if known, _, err := compare(ctx, at); known != 10 || err != nil {
		t.Fatal(known, err)
	}
	if err := at.Delete(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
