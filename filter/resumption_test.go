// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// sourceChange is what happens between an interrupted filter and the next one.
type sourceChange struct {
	name   string
	where  string // what the next one keeps, if not the same
	change func(t *testing.T, src, dst store.Store)
	anew   bool // nothing can be resumed
	most   int64
}

// changes are all that the next filter may find. The chunks of the result are two of
// time and of station, and four of temp.
var changes = []sourceChange{
	{name: "nothing", most: 8},
	{name: "other rows", where: "time >= 2020-01-05", anew: true},
	{name: "other rows, as many", where: `time >= 2020-01-11 and time < 2020-01-21 or time >= 2020-01-01 and time < 2020-01-11 and station == "L7"`, anew: true},
	{name: "same rows by other words", where: `station == "K12" and time > 2019-12-31`, most: 8},
	{name: "a chunk that is copied", most: 7, change: func(t *testing.T, src, _ store.Store) {
		writeRows(t, src, 44, 46, -5)
	}},
	{name: "a chunk that is cut", most: 7, change: func(t *testing.T, src, _ store.Store) {
		writeRows(t, src, 30, 31, -6)
	}},
	{name: "a chunk becomes the fill value", most: 7, change: func(t *testing.T, src, _ store.Store) {
		writeRows(t, src, 40, 50, -1)
	}},
	{name: "growth", anew: true, change: func(t *testing.T, src, _ store.Store) {
		g, err := zarr.At(src, "all").OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = g.Append(t.Context(), zarr.Add("time", 0, []int32{60}, nil), zarr.Add("station", 0, []string{"K12"}, nil), zarr.Add("temp", 0, []float32{1, 2, 3, 4}, nil))
		}
		if err != nil {
			t.Fatal(err)
		}
	}},
	{name: "the result is damaged", most: 5, change: func(t *testing.T, _, dst store.Store) {
		for _, key := range []string{"b/temp/c/0/1", "b/temp/c/1/0", "b/station/c/0"} {
			if ok, err := store.Exists(t.Context(), dst, store.MustKey(key)); err != nil {
				t.Fatal(err)
			} else if ok {
				fixture.Put(t, dst, key, "of another program")
			}
		}
	}},
	{name: "the records are damaged", most: 4, change: func(t *testing.T, _, dst store.Store) {
		for _, key := range keysOf(t, dst, "b") {
			if strings.Contains(key, "__varve/filter/") && strings.HasPrefix(key, "temp/") {
				fixture.Put(t, dst, "b/"+key, "varve staging 1\nno")
			}
		}
	}},
}

// writeRows writes a value to the first two places of some rows of temp.
func writeRows(t *testing.T, src store.Store, from, to int64, v float32) {
	t.Helper()
	a, err := zarr.At(src, "all/temp").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Fill(t.Context(), a, selection.Box{{from, to}, {0, 2}}, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keysOf returns the keys below a path, relative to it.
func keysOf(t *testing.T, s store.Store, path string) (keys []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.MustKey(path+"/-").Dir(), store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Name)
	}
	slices.Sort(keys)
	return keys
}

// placed is a store that another process could open, too.
type located struct{ memtest.Store }

func (located) Traits() store.Traits { return store.Traits{Place: "memory://test"} }

func (located) CheckKey(store.Key) error { return nil }

// placedObjects is a placed store without locks.
type placedObjects struct{ stepping.ObjectStore }

func (placedObjects) Traits() store.Traits { return store.Traits{Place: "memory://test"} }

func (placedObjects) CheckKey(store.Key) error { return nil }

// interrupted is a filter that was stopped.
type interrupted struct {
	src store.Store
	// to returns the destination, b, for a program that begins now.
	to func() store.Store
}

// resume lets something happen, and filters again. It returns the report.
func (i interrupted) resume(t *testing.T, label string, m sourceChange) *filter.Report {
	t.Helper()
	opt, visible := new(filter.Options), false
	if _, err := zarr.At(i.to(), "b").OpenGroup(t.Context(), nil); err == nil {
		opt.Overwrite, visible = true, true // it is complete
	}
	begun, err := transfer.Unfinished(t.Context(), zarr.At(i.to(), "b"))
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	if m.change != nil {
		m.change(t, i.src, i.to())
	}
	where := where
	if m.where != "" {
		where = m.where
	}
	want := memtest.New()
	if _, err := filter.Do(t.Context(), zarr.At(i.src, "all"), zarr.At(want, "b"), parsed(t, where), nil); err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	report, err := filter.Do(t.Context(), zarr.At(i.src, "all"), zarr.At(i.to(), "b"), parsed(t, where), opt)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	if err := sameNodes(t.Context(), zarr.At(i.to(), "b"), zarr.At(want, "b")); err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	if is, must := keysOf(t, i.to(), "b"), keysOf(t, want, "b"); !slices.Equal(is, must) {
		t.Fatalf("%s: the destination has %q, want %q", label, is, must)
	}
	if report.Resumed > m.most || report.Resumed > 0 && (m.anew || visible) {
		t.Fatalf("%s: %d chunks were resumed", label, report.Resumed)
	}
	if begun && !visible && report.Others.Restarted != m.anew {
		t.Fatalf("%s: restarted is %v", label, report.Others.Restarted)
	}
	return report
}

// TestResumedFilter stops a filter before each of its file system operations, or before
// one in fourteen if something happens afterwards, and a third of them again while it is
// resumed. Whatever happened in between, the last one has the result of a filter that was
// never stopped, and leaves nothing else. It makes no chunk again that was recorded and
// that is of the present chunks of the source.
func TestResumedFilter(t *testing.T) {
	racing.Skip(t) // it takes long; TestFilterModel has short rounds, too
	defer filter.ShortRounds(2)()
	for k, m := range changes {
		t.Run(m.name, func(t *testing.T) {
			most, first, step := int64(0), int64(0), fixture.Stride(3)
			if k > 0 && !fixture.Long() {
				first, step = int64(k), 14
			}
			for n := first; ; n += step {
				i, done := stopped(t, n)
				if done {
					if n < 60 || most != m.most {
						t.Errorf("%d operations, at most %d chunks were resumed", n, most)
					}
					return
				}
				label := fmt.Sprintf("operation %d", n)
				if n/step%3 == 0 { // in other cases only once
					r := rand.New(rand.NewPCG(uint64(n), 0))
					again := r.Int64N(n + 20)
					label += fmt.Sprintf(", then %d", again)
					stop, _ := vfs.StopAt(again)
					_, _ = filter.Do(t.Context(), zarr.At(i.src, "all"), zarr.At(fixture.FileStore(vfs.Hook(i.disk, stop)), "b"), parsed(t, where), nil)
				}
				most = max(most, i.resume(t, label, m).Resumed)
			}
		})
	}
}

// onDisk is a filter to a disk that was stopped.
type onDisk struct {
	interrupted
	disk *vfs.Disk
}

// stopped stops a filter before an operation on the file system. It returns true if it
// was complete before.
func stopped(t *testing.T, n int64) (i onDisk, done bool) {
	t.Helper()
	i.src, i.disk = located{memtest.New()}, vfs.NewDisk()
	i.to = func() store.Store { return fixture.FileStore(i.disk) }
	stations(t, zarr.At(i.src, "all"))
	if _, err := zarr.At(i.to(), "").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	stop, stopped := vfs.StopAt(n)
	_, err := filter.Do(t.Context(), zarr.At(i.src, "all"), zarr.At(fixture.FileStore(vfs.Hook(i.disk, stop)), "b"), parsed(t, where), nil)
	if !stopped() && err != nil {
		t.Fatal(err)
	}
	return i, !stopped()
}

// TestFilterPowerCut resumes filters on what a power cut may leave.
func TestFilterPowerCut(t *testing.T) {
	racing.Skip(t) // many times what TestFilterModel does, one after the other
	defer filter.ShortRounds(2)()
	images, most := 0, int64(0)
	step := 12 / min(int64(fixture.Soaked(t, 1, 12)), 12)
	for n := int64(0); ; n += step {
		i, done := stopped(t, n)
		if done {
			if images < 60 || most < 4 {
				t.Errorf("%d images, at most %d chunks were resumed", images, most)
			}
			return
		}
		for label, left := range i.disk.Images(uint64(n), 1) {
			images++
			i.to = func() store.Store { return fixture.FileStore(left) }
			most = max(most, i.resume(t, fmt.Sprintf("operation %d, %s", n, label), changes[0]).Resumed)
		}
	}
}

// TestFilterLostAnswers stops a filter at each request to an object store, before it or
// after it, which loses the answer. The next one stores no more than what is missing.
func TestFilterLostAnswers(t *testing.T) {
	racing.Skip(t) // many times what TestFilterModel does, one after the other
	defer filter.ShortRounds(2)()
	for _, lost := range []bool{false, true} {
		most := int64(0)
		for k := int64(0); ; k++ {
			src, dst := located{memtest.New()}, memtest.New()
			stations(t, zarr.At(src, "all"))
			var puts atomic.Int64
			h, stopped := fixture.StopAt(k, lost)
			_, err := filter.Do(t.Context(), zarr.At(src, "all"), zarr.At(stepping.Conditional(dst, h), "b"), parsed(t, where), nil)
			if !stopped() {
				if err != nil || most != 8 {
					t.Fatalf("%d requests, at most %d resumed: %v", k, most, err)
				}
				break
			}
			counting := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				// The chunks of depth are copied again.
				if key := op.Key.String(); op.Name == "Put" && strings.Contains(key, "/c/") && !strings.HasPrefix(key, "b/depth/") {
					puts.Add(1)
				}
				return nil
			}}
			i := interrupted{src, func() store.Store { return stepping.Conditional(dst, counting) }}
			report := i.resume(t, fmt.Sprintf("request %d, lost is %v", k, lost), changes[0])
			most = max(most, report.Resumed)
			if puts.Load() != 8-report.Resumed {
				t.Fatalf("request %d: %d chunks were resumed, and %d stored again", k, report.Resumed, puts.Load())
			}
		}
	}
}

// TestRecordsAreNotNewer changes a column after the condition has read it, and while its
// elements are in the cache. A chunk that is made of these must not be taken for one of
// the present elements later.
func TestRecordsAreNotNewer(t *testing.T) {
	defer filter.ShortRounds(1)()
	s, stop := located{memtest.New()}, errors.New("stopped")
	stations(t, zarr.At(s, "all"))
	var mu sync.Mutex
	read, changed := false, false
	h := placedObjects{stepping.Conditional(s, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		mu.Lock()
		defer mu.Unlock()
		text := op.String()
		if read && !changed && (strings.HasPrefix(text, "List all/time") || strings.HasPrefix(text, "Put some/")) {
			changed = true
			a, err := zarr.At(s, "all/time").OpenArray(ctx, &zarr.Options{Write: true})
			if err == nil { // day 30 is the first of its chunk that is kept
				err = zarr.Write(ctx, a, selection.Box{{30, 31}}, []int32{1000})
			}
			if err != nil {
				return err
			}
		}
		read = read || text == "Get all/time/c/3"
		if op.Name == "Delete" && strings.Contains(text, "__varve/filter") {
			return stop // all chunks are recorded
		}
		return nil
	}})}
	if _, err := filter.Do(t.Context(), zarr.At(h, "all"), zarr.At(h, "some"), parsed(t, where), nil); !errors.Is(err, stop) || !changed {
		t.Fatalf("%v, changed is %v", err, changed)
	}
	report, err := filter.Do(t.Context(), zarr.At(s, "all"), zarr.At(s, "some"), parsed(t, where), nil)
	if err != nil || report.Resumed != 7 {
		t.Fatalf("%+v, %v", report, err)
	}
	a, err := zarr.At(s, "some/time").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](t.Context(), a, selection.Box{{0, 2}}); err != nil || !slices.Equal(got.Data, []int32{1000, 32}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestResumeWithoutPlace filters one memory of a program and then another one, which has
// the same documents and versions. Nothing of the first one may stay.
func TestResumeWithoutPlace(t *testing.T) {
	defer filter.ShortRounds(1)()
	dst, stop := memtest.New(), errors.New("stopped")
	h := stepping.Conditional(dst, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "Delete" && strings.Contains(op.Key.String(), "__varve/filter") {
			return stop // all chunks are recorded, if there are records
		}
		if op.Key.String() == "b/zarr.json" && strings.HasPrefix(op.Name, "Put") {
			return stop
		}
		return nil
	}})
	var src [2]memtest.Store
	for i := range src {
		src[i] = memtest.New()
		stations(t, zarr.At(src[i], "all"))
		writeRows(t, src[i], 20, 60, float32(i+1)) // by as many writes
	}
	if _, err := filter.Do(t.Context(), zarr.At(src[0], "all"), zarr.At(h, "b"), parsed(t, where), nil); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	report, err := filter.Do(t.Context(), zarr.At(src[1], "all"), zarr.At(dst, "b"), parsed(t, where), nil)
	if err != nil || report.Resumed != 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := memtest.New()
	if _, err := filter.Do(t.Context(), zarr.At(src[1], "all"), zarr.At(want, "b"), parsed(t, where), nil); err != nil {
		t.Fatal(err)
	}
	if err := sameNodes(t.Context(), zarr.At(dst, "b"), zarr.At(want, "b")); err != nil {
		t.Fatal(err)
	}
}

// TestFilterBeside stops a filter before its last documents, while another one with other
// rows begins there, and lets it continue then: it must not publish over the other one.
func TestFilterBeside(t *testing.T) {
	defer filter.ShortRounds(1)()
	src, dst, stop := located{memtest.New()}, memtest.New(), errors.New("stopped")
	stations(t, zarr.At(src, "all"))
	const other = `time >= 2020-01-11 and time < 2020-01-21 or time >= 2020-01-01 and time < 2020-01-11 and station == "L7"`
	var once sync.Once
	begun := stepping.Conditional(dst, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Key.String() == "b/zarr.json" && strings.HasPrefix(op.Name, "Put") {
			return stop
		}
		return nil
	}})
	h := stepping.Conditional(dst, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if strings.HasPrefix(op.Name, "Put") && strings.Contains(op.Key.String(), "/c/") {
			once.Do(func() {
				if _, err := filter.Do(ctx, zarr.At(src, "all"), zarr.At(begun, "b"), parsed(t, other), nil); !errors.Is(err, stop) {
					t.Errorf("the other one: %v", err)
				}
			})
		}
		return nil
	}})
	if _, err := filter.Do(t.Context(), zarr.At(src, "all"), zarr.At(h, "b"), parsed(t, where), nil); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("the first one: %v, want %v", err, zarr.ErrConflict)
	}
	// What the first one has stored since does not count for the second one.
	if _, err := filter.Do(t.Context(), zarr.At(src, "all"), zarr.At(dst, "b"), parsed(t, other), nil); err != nil {
		t.Fatal(err)
	}
	want := memtest.New()
	if _, err := filter.Do(t.Context(), zarr.At(src, "all"), zarr.At(want, "b"), parsed(t, other), nil); err != nil {
		t.Fatal(err)
	}
	if err := sameNodes(t.Context(), zarr.At(dst, "b"), zarr.At(want, "b")); err != nil {
		t.Fatal(err)
	}
}
