// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// parsed returns a request for the rows that fulfil a condition.
func parsed(t *testing.T, text string) filter.Request {
	t.Helper()
	e, err := filter.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return filter.Request{Where: e}
}

// stations is a table of 60 days from 2019-12-02 on, in chunks of ten. Two stations take
// turns in the fourth chunk; in the others there is one.
func stations(t *testing.T, at *zarr.Location) {
	t.Helper()
	ctx := t.Context()
	g, err := at.CreateGroup(ctx, map[string]any{"title": "two stations"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	days, names, values := make([]int32, 60), make([]string, 60), make([]float32, 60*4)
	for i := range days {
		days[i], names[i] = int32(i), "K12"
		if i >= 50 || i >= 30 && i < 40 && i%2 == 1 {
			names[i] = "L7"
		}
		for k := range 4 {
			values[4*i+k] = float32(10*i + k)
		}
	}
	tens, unit := grid.Chunks(10), "days since 2019-12-02"
	time := zarr.Spec{Shape: []int64{60}, Type: dtype.Int32, Chunks: tens, DimensionNames: []string{"time"}, Attributes: map[string]any{"units": unit}, FillValue: zarr.FillJSON("-1")}
	err = put(ctx, g.At("time"), time, days)
	if err == nil {
		err = put(ctx, g.At("station"), zarr.Spec{Shape: []int64{60}, Type: dtype.String, Chunks: tens, DimensionNames: []string{"time"}}, names)
	}
	if err == nil {
		s := zarr.Spec{Shape: []int64{60, 4}, Type: dtype.Float32, Chunks: grid.Chunks(10, 2), DimensionNames: []string{"time", "depth"}, FillValue: zarr.FillJSON("-1")}
		err = put(ctx, g.At("temp"), s, values)
	}
	if err == nil {
		err = put(ctx, g.At("depth"), zarr.Spec{Shape: []int64{4}, Type: dtype.Float32, DimensionNames: []string{"depth"}}, []float32{1, 2, 5, 10})
	}
	if err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// observing is an observer that calls a function.
type observing func(observe.Event)

func (o observing) Observe(_ context.Context, e observe.Event) { o(e) }

// where is what TestFilteredTable keeps: the last twenty days of the first 50, and every
// other one of the ten before.
const where = `time >= 2020-01-01 and station == "K12"`

// TestFilteredTable is the motivation of ZEP 3: a table that is filtered by its columns
// keeps chunks of any length. Chunks that are kept whole are copied, and those that are
// dropped are not even asked for.
func TestFilteredTable(t *testing.T) {
	s := memtest.New()
	src, dst := zarr.At(s, "all"), zarr.At(s, "some")
	stations(t, src)
	requests, decoded := map[string]int{}, map[string]int64{}
	var mu sync.Mutex
	opt := &filter.Options{}
	opt.Observer = observing(func(e observe.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Op.IsRequest() {
			requests[e.Key.String()]++
		}
		if e.Op == observe.Decode {
			decoded[e.Key.String()]++
		}
	})
	plan, err := filter.NewPlan(t.Context(), src, dst, parsed(t, where), nil)
	if err != nil {
		t.Fatal(err)
	}
	gets := map[string]int{}
	counting := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Name == "Get" {
			gets[op.Key.String()]++
		}
		return nil
	}})
	report, err := filter.Do(t.Context(), zarr.At(counting, "all"), zarr.At(counting, "some"), parsed(t, where), opt)
	if err != nil {
		t.Fatal(err)
	}
	a, err := dst.At("temp").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// 2020-01-01 is day 30: of 30 to 39 every other one is kept, and all of 40 to 49.
	want := []float32{}
	for i := 30; i < 50; i++ {
		if i >= 40 || i%2 == 0 {
			for k := range 4 {
				want = append(want, float32(10*i+k))
			}
		}
	}
	if err := same(t.Context(), dst.At("temp"), want); err != nil {
		t.Error(err)
	}
	if sizes := a.Grid().Axis(0).Sizes(); !slices.Equal(sizes, []grid.Run{{Length: 5, Count: 1}, {Length: 10, Count: 1}}) || a.Grid().Name() != "rectilinear" {
		t.Errorf("chunks of %v", sizes)
	}
	// One of time, one of station and two of temp are copied, and as many encoded.
	if n := report.Counts; n.Copied != 4 || n.Encoded != 4 || n.Dropped != 4*4 || report.Kept != 15 || report.Rows != 60 {
		t.Errorf("%+v", report)
	}
	if plan.Copied != 4 || plan.Encoded != 4 || plan.Dropped != 16 || plan.BytesDropped == 0 || plan.BytesRead == 0 || plan.BytesCopied != report.BytesCopied {
		t.Errorf("%+v", plan)
	}
	for k := range 6 {
		key := fmt.Sprintf("all/temp/c/%d/0", k)
		switch is := decoded[key]; {
		case k == 3 && is != 1, k != 3 && is != 0:
			t.Errorf("%s was decoded %d times", key, is)
		}
		if dropped := k < 3 || k == 5; dropped == (requests[key] > 0) {
			t.Errorf("%s: %d requests", key, requests[key])
		}
		// Also what is decoded twice is requested once.
		if n := gets[fmt.Sprintf("all/time/c/%d", k)]; k < 4 && n != 1 {
			t.Errorf("time %d was requested %d times", k, n)
		}
		// The condition needs every time once, and the stations from 2020 on.
		again := 0
		if k == 3 {
			again = 1 // what is cut is decoded to be encoded
		}
		if n := decoded[fmt.Sprintf("all/time/c/%d", k)]; n != int64(1+again) {
			t.Errorf("time %d was decoded %d times", k, n)
		}
		evaluated := 0
		if k >= 3 {
			evaluated = 1
		}
		if n := decoded[fmt.Sprintf("all/station/c/%d", k)]; n != int64(evaluated+again) {
			t.Errorf("station %d was decoded %d times", k, n)
		}
	}
}

// TestKeepNothingAndAll: the axis has no elements, or all of them.
func TestKeepNothingAndAll(t *testing.T) {
	for text, n := range map[string]int64{"time > 2031": 0, "time > 1999": 60} {
		s := memtest.New()
		stations(t, zarr.At(s, "all"))
		report, err := filter.Do(t.Context(), zarr.At(s, "all"), zarr.At(s, "some"), parsed(t, text), nil)
		if err != nil || report.Kept != n || report.Encoded != 0 || report.Copied != 24*n/60 || report.Others.Values != 1 {
			t.Fatalf("%s: %+v, %v", text, report, err)
		}
		a, err := zarr.At(s, "some/temp").OpenArray(t.Context(), &zarr.Options{Write: true})
		if err != nil || a.Shape()[0] != n || a.Shape()[1] != 4 {
			t.Fatalf("%s: %v, %v", text, a, err)
		}
		// The result grows as any array does.
		if err := zarr.Append(t.Context(), a, 0, []float32{1, 2, 3, 4}, nil); err != nil || a.Shape()[0] != n+1 {
			t.Errorf("%s: %v, %v", text, a, err)
		}
	}
}

// TestFilterArray filters one array of a group by its neighbours.
func TestFilterArray(t *testing.T) {
	s := memtest.New()
	stations(t, zarr.At(s, "all"))
	if _, err := filter.Do(t.Context(), zarr.At(s, "all/station"), zarr.At(s, "some"), parsed(t, "time <= 2019-12-03"), nil); err != nil {
		t.Fatal(err)
	}
	if err := same(t.Context(), zarr.At(s, "some"), []string{"K12", "K12"}); err != nil {
		t.Error(err)
	}
	// By number, across the axis of the times.
	r := filter.Request{Mask: []bool{true, false, false, true}, Axis: 1}
	if _, err := filter.Do(t.Context(), zarr.At(s, "all/temp"), zarr.At(s, "ends"), r, nil); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(s, "ends").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[float32](t.Context(), a, selection.Box{{7, 8}, {0, 2}}); err != nil || !slices.Equal(got.Data, []float32{70, 73}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestFilterRefuses checks errors about requests.
func TestFilterRefuses(t *testing.T) {
	s := memtest.New()
	src := zarr.At(s, "all")
	stations(t, src)
	put := func(name string, shape []int64, names ...string) {
		if _, err := src.At(name).CreateArray(t.Context(), zarr.Spec{Shape: shape, Type: dtype.Complex64, DimensionNames: names}, nil); err != nil {
			t.Fatal(err)
		}
	}
	put("wave", []int64{60}, "time")
	mask := make([]bool, 60)
	for _, c := range []struct {
		request filter.Request
		path    string
		kind    zarr.Kind
		words   []string
	}{
		{parsed(t, `wind > 5`), "all", "invalid-argument", []string{`the condition names "wind"`, "/all/wind"}},
		{parsed(t, `temp > 5`), "all", "invalid-argument", []string{"temp", "2 axes"}},
		{parsed(t, `time > 2020 and depth > 5`), "all", "invalid-argument", []string{`"depth"`, "the rows are those of time"}},
		{parsed(t, `time > "noon"`), "all", "invalid-argument", []string{"at character 8", "all/time", "noon"}},
		{parsed(t, `time > 2020 and wave == 1`), "all", "unsupported", []string{"wave", "complex64", "no order"}},
		{filter.Request{}, "all", "invalid-argument", []string{"either a condition or a mask"}},
		{filter.Request{Mask: mask}, "all", "invalid-argument", []string{"needs the name of the dimension"}},
		{filter.Request{Mask: mask[:59], Dimension: "time"}, "all", "invalid-argument", []string{"the mask has 59 rows", "60"}},
		{filter.Request{Mask: mask, Dimension: "lat"}, "all", "invalid-argument", []string{`no array has the dimension "lat"`, "depth", "time"}},
		{filter.Request{Mask: mask, Axis: 2}, "all/temp", "invalid-argument", []string{"no axis 2"}},
		{filter.Request{Mask: mask, Dimension: "lat"}, "all/temp", "invalid-argument", []string{"no axis lat"}},
		{filter.Request{Mask: mask}, "none", "not-found", []string{"none"}},
	} {
		_, err := filter.Do(t.Context(), zarr.At(s, c.path), zarr.At(s, "some"), c.request, nil)
		fixture.Expect(t, err, err, c.kind, c.words...)
		_, err = filter.NewPlan(t.Context(), zarr.At(s, c.path), zarr.At(s, "some"), c.request, nil)
		fixture.Expect(t, err, err, c.kind, c.words...)
	}
	put("short", []int64{59}, "time")
	_, err := filter.Do(t.Context(), src, zarr.At(s, "some"), parsed(t, "time > 2020"), nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "short has 59", "60")
	if _, err := zarr.At(s, "some").Open(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestFilterReplaces checks what is at the destination.
func TestFilterReplaces(t *testing.T) {
	s := memtest.New()
	src, dst := zarr.At(s, "all"), zarr.At(s, "some")
	stations(t, src)
	for i, text := range []string{"time < 2020", where} {
		if _, err := filter.Do(t.Context(), src, dst, parsed(t, text), &filter.Options{Overwrite: i > 0}); err != nil {
			t.Fatal(err)
		}
	}
	for _, try := range []func() error{
		func() error { _, err := filter.Do(t.Context(), src, dst, parsed(t, where), nil); return err },
		func() error { _, err := filter.NewPlan(t.Context(), src, dst, parsed(t, where), nil); return err },
	} {
		if err := try(); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if a, err := dst.At("time").OpenArray(t.Context(), nil); err != nil || a.Shape()[0] != 15 {
		t.Errorf("%v, %v", a, err)
	}
	_, err := filter.Do(t.Context(), src, src.At("inside"), parsed(t, where), nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument")
}

// TestStoppedFilter stops a filter before each of its file system operations, as a kill
// does. Nobody sees the result before it is complete, and the same filter then succeeds,
// whatever the first one left.
func TestStoppedFilter(t *testing.T) {
	racing.Skip(t) // it takes long; TestFilterModel has the same goroutines
	src := zarr.At(memtest.New(), "all")
	stations(t, src)
	want := memtest.New()
	if _, err := filter.Do(t.Context(), src, zarr.At(want, "b"), parsed(t, where), nil); err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		if _, err := zarr.At(fixture.FileStore(disk), "").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		stop, stopped := vfs.StopAt(n)
		_, err := filter.Do(t.Context(), src, zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "b"), parsed(t, where), nil)
		if !stopped() {
			if err != nil || n < 40 {
				t.Fatalf("%d operations: %v", n, err)
			}
			t.Logf("%d operations", n)
			return
		}
		to := zarr.At(fixture.FileStore(disk), "b")
		opt := new(filter.Options)
		if g, err := to.OpenGroup(t.Context(), nil); err == nil {
			// The node is visible, so it is complete.
			opt.Overwrite = true
			if err := sameNodes(t.Context(), g.At(""), zarr.At(want, "b")); err != nil {
				t.Fatalf("operation %d: %v", n, err)
			}
		}
		if _, err := filter.Do(t.Context(), src, to, parsed(t, where), opt); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if err := sameNodes(t.Context(), to, zarr.At(want, "b")); err != nil {
			t.Fatalf("operation %d: %v", n, err)
		}
		if begun, err := transfer.Unfinished(t.Context(), to); begun || err != nil {
			t.Fatalf("operation %d: unfinished %v, %v", n, begun, err)
		}
	}
}

// sameNodes compares the arrays of two tables.
func sameNodes(ctx context.Context, a, b *zarr.Location) error {
	for _, name := range []string{"time", "station", "temp", "depth"} {
		x, err := a.At(name).OpenArray(ctx, nil)
		if err != nil {
			return err
		}
		y, err := b.At(name).OpenArray(ctx, nil)
		if err != nil {
			return err
		}
		if d, err := zarr.Compare(ctx, x, y); d != nil || err != nil {
			return fmt.Errorf("%s: %v, %v", name, d, err)
		}
	}
	return nil
}

// hooked returns a store that calls do before the first chunk of the result is written.
func hooked(s memtest.Store, do func() error) store.Store {
	var once sync.Once
	return stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) (err error) {
		if strings.HasPrefix(op.Key.String(), "some/") && strings.Contains(op.Key.String(), "/c/") {
			once.Do(func() { err = do() })
		}
		return err
	}})
}

// TestFilterMeanwhile changes the source while it is filtered. Growth does not matter;
// everything else is a conflict, and leaves nothing to see.
func TestFilterMeanwhile(t *testing.T) {
	temp := func(s memtest.Store) (*zarr.Array, error) {
		return zarr.At(s, "all/temp").OpenArray(context.Background(), &zarr.Options{Write: true})
	}
	for name, change := range map[string]func(s memtest.Store) error{
		"growth": func(s memtest.Store) error {
			g, err := zarr.At(s, "all").OpenGroup(context.Background(), &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return g.Append(context.Background(), zarr.Add("time", 0, []int32{60}, nil), zarr.Add("station", 0, []string{"K12"}, nil), zarr.Add("temp", 0, []float32{1, 2, 3, 4}, nil))
		},
		"shrink": func(s memtest.Store) error {
			a, err := temp(s)
			if err != nil {
				return err
			}
			return a.Resize(context.Background(), []int64{55, 4}, nil)
		},
		"replacement": func(s memtest.Store) error {
			spec := zarr.Spec{Shape: []int64{60, 4}, Type: dtype.Float64, DimensionNames: []string{"time", "depth"}}
			_, err := zarr.At(s, "all/temp").CreateArray(context.Background(), spec, &zarr.CreateOptions{Overwrite: true})
			return err
		},
		"other codecs": func(s memtest.Store) error {
			a, err := temp(s)
			if err != nil {
				return err
			}
			spec := a.Spec()
			spec.Codecs = fixture.Plain()
			_, err = zarr.At(s, "all/temp").CreateArray(context.Background(), spec, &zarr.CreateOptions{Overwrite: true})
			return err
		},
		"attributes of the group": func(s memtest.Store) error {
			g, err := zarr.At(s, "all").OpenGroup(context.Background(), &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return g.UpdateAttributes(context.Background(), func([]byte) ([]byte, error) { return []byte(`{"title": "others"}`), nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			stations(t, zarr.At(s, "all"))
			h := hooked(s, func() error { return change(s) })
			_, err := filter.Do(t.Context(), zarr.At(h, "all"), zarr.At(h, "some"), parsed(t, where), nil)
			if name == "growth" {
				a, openErr := zarr.At(s, "some/time").OpenArray(t.Context(), nil)
				if err != nil || openErr != nil || a.Shape()[0] != 15 {
					t.Fatalf("%v, %v", err, openErr)
				}
				return
			}
			if !errors.Is(err, zarr.ErrSourceChanged) {
				t.Error(err)
			}
			if _, err := zarr.At(s, "some").Open(t.Context(), nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a node is there: %v", err)
			}
		})
	}
}

// TestFilterFaults fails each request to the store once. Every failure is reported, and
// what is seen then is complete.
func TestFilterFaults(t *testing.T) {
	failed := errors.New("no answer")
	for n := 0; ; n++ {
		s := memtest.New()
		stations(t, zarr.At(s, "all"))
		var mu sync.Mutex
		count, hit := 0, false
		h := stepping.Conditional(s, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if count++; count == n+1 {
				hit = true
				return failed
			}
			return nil
		}})
		_, err := filter.Do(t.Context(), zarr.At(h, "all"), zarr.At(h, "some"), parsed(t, where), nil)
		_, openErr := zarr.At(s, "some").OpenGroup(t.Context(), nil)
		switch {
		case !hit && err == nil && n > 60:
			t.Logf("%d requests", n)
			return
		case !hit:
			t.Fatalf("%d requests: %v", n, err)
		case err != nil && !errors.Is(err, failed), err == nil && openErr != nil:
			t.Fatalf("request %d: %v, %v", n, err, openErr)
		}
		if openErr == nil {
			a, err := zarr.At(s, "some/temp").OpenArray(t.Context(), nil)
			if err != nil || a.Shape()[0] != 15 {
				t.Fatalf("request %d: %v, %v", n, a, err)
			}
		}
	}
}

// TestFilterMemory checks that memory does not grow with the number of rows.
func TestFilterMemory(t *testing.T) {
	racing.Skip(t) // the detector takes memory, too
	const rows = 8 << 20
	s := memtest.New()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{rows}, Type: dtype.Int64, Chunks: grid.Chunks(1 << 14), DimensionNames: []string{"a"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]int64, rows)
	for i := range data {
		data[i] = rand.Int64N(100)
	}
	if err := zarr.Write(t.Context(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	keep, kept := make([]bool, rows), 0
	for i := range keep {
		if keep[i] = data[i] < 50; keep[i] {
			data[kept] = data[i]
			kept++
		}
	}
	r := filter.Request{Mask: keep}
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // the table itself is in memory, too
	used := fixture.LeastMiB(18, func() float64 {
		return fixture.HeapMiB(func() {
			if _, err := filter.Do(t.Context(), zarr.At(s, "a"), zarr.At(discarding{memtest.New()}, "b"), r, &filter.Options{Memory: 4 << 20}); err != nil {
				t.Error(err)
			}
		})
	})
	if used > 18 {
		t.Errorf("%.0f MiB for %d MiB of elements", used, rows*8>>20)
	}
	if _, err := filter.Do(t.Context(), zarr.At(s, "a"), zarr.At(s, "c"), r, &filter.Options{Memory: 64 << 10}); !errors.Is(err, zarr.ErrLimit) {
		t.Errorf("rows beyond the memory: %v", err)
	}
}

// discarding is a store that drops chunks.
type discarding struct{ stepping.ObjectStore }

func (d discarding) Write(ctx context.Context, c store.Change, how store.Durability) (store.Written, error) {
	if c.Op == store.OpPut && strings.Contains(c.Key.String(), "/c/") {
		return store.Written{}, nil
	}
	return d.ObjectStore.Write(ctx, c, how)
}

// TestPaddedChunks checks what looks like a whole chunk and is none: its last rows lie
// beyond the extent, or its rows end there along another axis.
func TestPaddedChunks(t *testing.T) {
	s := memtest.New()
	bounded, err := grid.New([]int64{4, 5}, grid.EveryTrimmed(2), grid.EveryTrimmed(3))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec            zarr.Spec
		copied, encoded int64
	}{
		"padded":  {zarr.Spec{Shape: []int64{4, 5}, Chunks: grid.Chunks(3, 3)}, 2, 2},
		"edges":   {zarr.Spec{Shape: []int64{4, 5}, Chunks: []grid.Cut{grid.Edges(3, 3), grid.Every(3)}}, 2, 2},
		"exact":   {zarr.Spec{Shape: []int64{4, 5}, Chunks: []grid.Cut{grid.Edges(3, 1), grid.Every(3)}}, 4, 0},
		"bounded": {zarr.Spec{Shape: []int64{4, 5}, Grid: bounded}, 0, 4},
	} {
		c.spec.Type = dtype.Int32
		values := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
		if err := put(t.Context(), zarr.At(s, name), c.spec, values); err != nil {
			t.Fatal(err)
		}
		report, err := filter.Do(t.Context(), zarr.At(s, name), zarr.At(s, "of/"+name), filter.Request{Mask: []bool{true, true, true, true}}, nil)
		if err != nil || report.Copied != c.copied || report.Encoded != c.encoded {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if err := same(t.Context(), zarr.At(s, "of/"+name), values); err != nil {
			t.Error(err)
		}
	}
}

// TestFilterLongText filters text that has more bytes than a block, in several chunks and
// in one.
func TestFilterLongText(t *testing.T) {
	for _, chunk := range []int64{4, 64} {
		s, words, mask, want := memtest.New(), make([]string, 64), make([]bool, 64), []string{}
		for i := range words {
			words[i] = strings.Repeat(string(rune('a'+i%26)), 1000+i)
			if mask[i] = i%3 > 0; mask[i] {
				want = append(want, words[i])
			}
		}
		if err := put(t.Context(), zarr.At(s, "a"), zarr.Spec{Shape: []int64{64}, Type: dtype.String, Chunks: grid.Chunks(chunk)}, words); err != nil {
			t.Fatal(err)
		}
		report, err := filter.Do(t.Context(), zarr.At(s, "a"), zarr.At(s, "b"), filter.Request{Mask: mask}, &filter.Options{Memory: 32 << 10})
		if err != nil || report.Encoded != 64/chunk {
			t.Fatalf("%+v, %v", report, err)
		}
		if err := same(t.Context(), zarr.At(s, "b"), want); err != nil {
			t.Error(err)
		}
	}
}

// unlisted is a store that can only be read, by key, as a web server.
type unlisted struct{ s memtest.Store }

func (u unlisted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return u.s.Get(ctx, key, q, dst)
}

// TestFilterUnlisted filters a table of a store that cannot be listed.
func TestFilterUnlisted(t *testing.T) {
	s := memtest.New()
	stations(t, zarr.At(s, "all"))
	if _, err := filter.Do(t.Context(), zarr.At(s, "all"), zarr.At(s, "some"), parsed(t, where), nil); err != nil {
		t.Fatal(err)
	}
	to := zarr.At(memtest.New(), "")
	report, err := filter.Do(t.Context(), zarr.At(unlisted{s}, "all"), to, parsed(t, where), nil)
	if err != nil || report.Copied != 4 || report.Encoded != 4 {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := sameNodes(t.Context(), to, zarr.At(s, "some")); err != nil {
		t.Error(err)
	}
}

// TestFilterUnknown copies arrays that cannot be opened, unless they have the dimension.
func TestFilterUnknown(t *testing.T) {
	s := memtest.New()
	stations(t, zarr.At(s, "all"))
	unknown := func(name string) string {
		return `{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8", "fill_value": 0, "dimension_names": ["` + name + `"], "codecs": [{"name": "acme"}],
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "chunk_key_encoding": {"name": "default"}}`
	}
	fixture.Put(t, s, "all/x/zarr.json", unknown("depth"))
	fixture.Put(t, s, "all/x/c/0", "what only acme knows")
	if _, err := filter.Do(t.Context(), zarr.At(s, "all"), zarr.At(s, "some"), parsed(t, where), nil); err != nil {
		t.Fatal(err)
	}
	if raw, _, err := s.Get(t.Context(), store.MustKey("some/x/c/0"), store.Request{}, nil); err != nil || string(raw) != "what only acme knows" {
		t.Errorf("%q, %v", raw, err)
	}
	fixture.Put(t, s, "all/x/zarr.json", unknown("time"))
	_, err := filter.Do(t.Context(), zarr.At(s, "all"), zarr.At(s, "more"), parsed(t, where), nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", "acme")
}
