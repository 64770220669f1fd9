// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/filetest"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// blind is a store whose readers cannot notice that the array has changed, as those of
// other programs: documents have no version, and all values seem to be old.
type blind struct{ stepping.ObjectStore }

func hide(key store.Key, info store.Info) store.Info {
	info.Modified = time.Unix(1, 0)
	if name := key.Base(); name == "zarr.json" || name == ".zarray" {
		info.Version = store.Version{}
	}
	return info
}

func (b blind) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := b.ObjectStore.Get(ctx, key, q, dst)
	return out, hide(key, info), err
}

func (b blind) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := b.ObjectStore.Stat(ctx, key)
	return hide(key, info), err
}

// aging is a store in memory in which the beginning of the grace of a superseded grid is
// as many days ago as eras have passed. Everything else has its time.
type aging struct {
	memtest.Store
	era     func() int
	mu      sync.Mutex
	written map[string]int
}

func (a *aging) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPut {
		a.mu.Lock()
		a.written[c.Key.String()] = a.era()
		a.mu.Unlock()
	}
	return a.Store.Write(ctx, c, d)
}

func (a *aging) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := a.Store.Stat(ctx, key)
	if strings.HasSuffix(key.String(), ".since") {
		a.mu.Lock()
		defer a.mu.Unlock()
		info.Modified = info.Modified.AddDate(0, 0, a.written[key.String()]-a.era())
	}
	return info, err
}

// files makes a store of files one that readers can be blinded in.
type files struct{ filetest.Store }

func (f files) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return f.Store.List(ctx, dir, how)
}

// reader is a program that has opened the array at some time.
type reader struct {
	array *zarr.Array
	since int64 // of the chronicle
	era   int   // of the world
	blind bool
}

// world is an array in a store, its writers, and readers that read between any two
// operations of the writers.
type world struct {
	randomizer
	*chronicle
	seed  string
	plain stepping.ObjectStore // without hooks
	write func() store.Store   // a store for a writer, with hooks

	guard   sync.Mutex // of the fields below: a writer may have several goroutines
	active  bool       // readers read at every operation of a writer
	busy    bool
	rate    int  // one of so many operations opens a reader
	most    int  // readers that are open at one time
	sparse  int  // readers read at one of so many operations
	window  bool // another program merges chunks in place, so that errors are to be expected
	staging bool // the rechunk of this era is not finished
	era     int
	readers []*reader
	found   map[bool]*outcomes // of readers that are blind, and of others
	lags    map[int]*outcomes  // of blind readers, by the eras since they have opened
	failed  error
}

// newWorld returns a world with a drawn array. kind is the kind of store.
func newWorld(t *testing.T, kind string, seed, number uint64, spec func(r randomizer) zarr.Spec) (*world, *zarr.Array) {
	t.Helper()
	w := &world{
		randomizer: randomizer{rand.New(rand.NewPCG(seed, number))}, seed: fmt.Sprintf("%s, seed %d, world %d", kind, seed, number),
		rate: 4, most: 8, sparse: 1, found: map[bool]*outcomes{false: {}, true: {}}, lags: map[int]*outcomes{},
	}
	if kind == "files" {
		w.onFiles(t, t.TempDir())
	} else {
		inner := &aging{Store: memtest.New(), era: func() int { return w.era }, written: map[string]int{}}
		w.plain = inner
		w.write = func() store.Store {
			return &handle{stepping.Conditional(inner, stepping.Hooks{After: func(_ stepping.Op, err error) error {
				w.step()
				return err
			}})}
		}
	}
	s := spec(w.randomizer)
	a, err := zarr.At(w.write(), "a").CreateArray(t.Context(), s, nil)
	if err != nil {
		t.Fatalf("%s: %+v: %v", w.seed, s, err)
	}
	w.chronicle = newChronicle(s.Shape)
	return w, a
}

func (w *world) onFiles(t *testing.T, dir string) {
	w.plain = files{fixture.OpenStore(t, dir).(filetest.Store)}
	w.write = func() store.Store {
		root, err := vfs.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		s := fixture.FileStore(vfs.Hook(root, func(vfs.Op) error {
			w.step()
			return nil
		}))
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// writer opens the array for a program that changes it.
func (w *world) writer() (*zarr.Array, error) {
	return zarr.At(w.write(), "a").OpenArray(context.Background(), &zarr.Options{Write: true, Durability: store.Flush})
}

// step is called at every operation of a writer.
func (w *world) step() {
	w.guard.Lock()
	defer w.guard.Unlock()
	if !w.active || w.busy || w.failed != nil || !w.one(w.sparse) {
		return
	}
	w.busy = true
	defer func() { w.busy = false }()
	if w.failed = w.look(); w.failed != nil {
		w.failed = fmt.Errorf("%s: %w", w.seed, w.failed)
	}
}

// look opens a reader now and then, and lets two of them read.
func (w *world) look() error {
	if len(w.readers) < 2 || w.one(w.rate) {
		if err := w.open(w.one(3)); err != nil {
			return err
		}
	}
	for range 2 {
		if err := w.read(w.readers[w.IntN(len(w.readers))]); err != nil {
			return err
		}
	}
	return nil
}

// open opens the array for a reader, which may replace another one.
func (w *world) open(isBlind bool) error {
	s := w.plain
	if isBlind {
		s = blind{s}
	}
	w.mu.Lock()
	r := &reader{since: w.clock, era: w.era, blind: isBlind}
	w.mu.Unlock()
	if w.staging {
		r.era--
	}
	var err error
	if r.array, err = zarr.At(s, "a").OpenArray(context.Background(), nil); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if len(w.readers) < w.most {
		w.readers = append(w.readers, r)
	} else {
		w.readers[w.IntN(w.most)] = r
	}
	return nil
}

// read lets a reader read some elements, and counts the outcome. Readers of Varve must
// not find wrong elements, and an error only if some are no longer there.
func (w *world) read(r *reader) error {
	box := w.box(r.array.Grid())
	b, err := zarr.Read[int32](context.Background(), r.array, selection.BoxOf(box))
	o, wrong := loud, ""
	if err == nil {
		o, wrong = w.judge(box, b.Data, r.since)
	}
	w.count(r, o)
	switch {
	case r.blind || o == right || o == loud && (w.window || !w.holds(box)):
		return nil
	case o == loud:
		return fmt.Errorf("a reader since %d (now %d) reads %v: %w", r.since, w.clock, box, err)
	}
	return fmt.Errorf("a reader since %d (now %d) reads %v of %s: %s", r.since, w.clock, box, r.array, wrong)
}

func (w *world) count(r *reader, o outcome) {
	w.found[r.blind][o]++
	if !r.blind {
		return
	}
	lag := w.era - r.era
	if w.lags[lag] == nil {
		w.lags[lag] = new(outcomes)
	}
	w.lags[lag][o]++
}

// during lets readers read while a writer works.
func (w *world) during(work func() error) error {
	w.set(true)
	err := work()
	w.set(false)
	return errors.Join(err, w.failed)
}

func (w *world) set(active bool) {
	w.guard.Lock()
	defer w.guard.Unlock()
	w.active = active
}

// settled returns an error unless a reader that opens the array now finds the present
// values.
func (w *world) settled() error {
	a, err := zarr.At(w.plain, "a").OpenArray(context.Background(), nil)
	if err != nil {
		return err
	}
	b, err := zarr.Read[int32](context.Background(), a, nil)
	if err == nil {
		err = w.exactly(b)
	}
	if err != nil {
		return fmt.Errorf("%s: at rest, %s: %w", w.seed, a, err)
	}
	return nil
}

// put writes values to a drawn box.
func (w *world) put(a *zarr.Array) error {
	box := w.box(a.Grid())
	if !w.holds(box) { // another program has made it smaller
		box = w.anyBox(w.shape)
	}
	n, _ := box.Len()
	values := w.values(n)
	end := w.chronicle.write(box, values)
	defer end()
	if err := zarr.Write(context.Background(), a, selection.BoxOf(box), values); err != nil {
		return fmt.Errorf("%s: write %v: %w", w.seed, box, err)
	}
	return nil
}

// add appends values along a drawn axis.
func (w *world) add(a *zarr.Array) error {
	axis := w.IntN(a.Rank())
	rows, n := w.between(1, 2), int64(1)
	for i, extent := range w.shape {
		if i != axis {
			n *= extent
		}
	}
	values := w.values(n * rows)
	end := w.chronicle.append(axis, rows, values)
	defer end()
	if err := zarr.Append(context.Background(), a, axis, values, &zarr.AppendOptions{RoundUp: true}); err != nil {
		return fmt.Errorf("%s: append: %w", w.seed, err)
	}
	return nil
}

// reshapes changes the extents at random.
func (w *world) reshapes(a *zarr.Array) error {
	shape := make([]int64, a.Rank())
	for i, n := range w.shape {
		shape[i] = n
		if w.one(2) {
			shape[i] = w.between(1, mostOf[len(shape)]+1)
		}
	}
	how := []grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact}[w.IntN(3)]
	if how == grid.TrimExact && !w.trims() {
		how = grid.TrimEdges
	}
	end := w.chronicle.resize(shape)
	defer end()
	if err := a.Resize(context.Background(), shape, &zarr.ResizeOptions{RoundUp: true, Shrink: how}); err != nil {
		return fmt.Errorf("%s: resize to %v: %w", w.seed, shape, err)
	}
	return nil
}

// trims reports whether the last chunks of the array may have any length.
func (w *world) trims() bool {
	a, err := zarr.At(w.plain, "a").OpenArray(context.Background(), nil)
	if err != nil || a.Inner() != nil {
		return false
	}
	for i := range a.Rank() {
		if a.Grid().Axis(i).IsRegular() {
			return false
		}
	}
	return true
}

// tellLags returns the outcomes of blind readers by age.
func (w *world) tellLags(into map[int]*outcomes) {
	for lag, o := range w.lags {
		if into[lag] == nil {
			into[lag] = new(outcomes)
		}
		into[lag].add(*o)
	}
}

// table prints outcomes by the age of readers.
func table(lags map[int]*outcomes) string {
	var b strings.Builder
	for lag := range 100 {
		if o := lags[lag]; o != nil {
			fmt.Fprintf(&b, "\n\t%d eras old: %s", lag, o)
		}
	}
	return b.String()
}
