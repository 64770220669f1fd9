// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Many writers change one shard with inner chunks of two numbers. Every update writes an
// inner chunk of its own, which shows that the update was made, and increments a counter
// in a shared one.
const (
	shardWriters = 16
	shardUpdates = 60
	shardInner   = 16 // numbers of an inner chunk: the counters of all writers
)

func init() { roles["update"] = updateInChild }

// updated is the spec of the array: one shard.
func updated() zarr.Spec {
	const n = shardInner * (1 + shardWriters*shardUpdates)
	return zarr.Spec{
		Shape: []int64{n}, Type: dtype.Int32, Chunks: grid.Chunks(n), InnerChunks: grid.Chunks(shardInner), Codecs: fixture.Plain(),
	}
}

// updater is one writer.
type updater struct {
	array   *zarr.Array
	writer  int
	updates int
	retries int // of each failed call; a retry writes the same elements
}

// run makes the updates. Each writes a number in its own inner chunk and increments the
// counter, which must have the value of the update before.
func (u *updater) run(ctx context.Context) error {
	counter := selection.Box{{int64(u.writer), int64(u.writer) + 1}}
	for i := range u.updates {
		own := int64(shardInner * (1 + u.writer*shardUpdates + i))
		data := fixture.Numbers(int32(own), shardInner)
		if err := u.write(ctx, selection.Box{{own, own + shardInner}}, data); err != nil {
			return fmt.Errorf("writer %d, update %d: %w", u.writer, i, err)
		}
		if err := u.count(ctx, counter, int32(i)); err != nil {
			return fmt.Errorf("writer %d, update %d: %w", u.writer, i, err)
		}
	}
	return nil
}

// count checks that the counter is i, and increments it.
func (u *updater) count(ctx context.Context, counter selection.Box, i int32) error {
	var b zarr.Block[int32]
	err := u.try(func() (err error) {
		b, err = zarr.Read[int32](ctx, u.array, counter)
		return err
	})
	if err != nil {
		return err
	}
	if b.Data[0] != i {
		return fmt.Errorf("the counter is %d, want %d", b.Data[0], i)
	}
	return u.write(ctx, counter, []int32{i + 1})
}

func (u *updater) write(ctx context.Context, box selection.Box, data []int32) error {
	return u.try(func() error { return zarr.Write(ctx, u.array, box, data) })
}

func (u *updater) try(do func() error) (err error) {
	for range u.retries + 1 {
		if err = do(); !errors.Is(err, fixture.ErrNoAnswer) {
			return err
		}
	}
	return err
}

// checkUpdates checks that every update in the array is whole, and that the array has
// all updates that the counters include.
func checkUpdates(ctx context.Context, a *zarr.Array, updates int, complete bool) error {
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		return err
	}
	lost := 0
	for w := range shardWriters {
		for i := range updates {
			own := shardInner * (1 + w*shardUpdates + i)
			got := b.Data[own : own+shardInner]
			missing := true
			for k, v := range got {
				missing = missing && v == 0
				if v != 0 && v != int32(own+k) || v != 0 && got[0] == 0 {
					return fmt.Errorf("update %d of writer %d is %v", i, w, got)
				}
			}
			if missing && (complete || i < int(b.Data[w])) {
				lost++
			}
		}
		if complete && b.Data[w] != int32(updates) {
			return fmt.Errorf("writer %d counted %d updates, want %d", w, b.Data[w], updates)
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d updates are lost", lost, shardWriters*updates)
	}
	return nil
}

// updatesOf returns the number of updates of each writer: the full number if the test is
// quick.
func updatesOf(quick bool) int {
	if fixture.Long() || quick && !racing.Detector {
		return shardUpdates
	}
	return shardUpdates / 4
}

// faultMixes are the kinds of faults on chunks.
var faultMixes = map[string]func() stepping.Hooks{
	"none": func() stepping.Hooks { return stepping.Hooks{} },
	"slow": func() stepping.Hooks {
		return stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
			return nil
		}}
	},
	"errors": func() stepping.Hooks {
		return stepping.Hooks{
			Before: func(_ context.Context, op stepping.Op) error { return sometimes(op, "Get", "PutIf", "Put") },
			After:  func(op stepping.Op, err error) error { return errors.Join(err, sometimes(op, "PutIf", "Put")) },
		}
	},
	"lost responses": func() stepping.Hooks {
		return stepping.Hooks{After: func(op stepping.Op, err error) error { return errors.Join(err, sometimes(op, "PutIf")) }}
	},
}

// faultsMade counts the faults.
var faultsMade atomic.Int64

// sometimes fails one in fifty of the named operations on chunks.
func sometimes(op stepping.Op, names ...string) error {
	for _, name := range names {
		if op.Name == name && op.Key.Base() != "zarr.json" && rand.IntN(50) == 0 {
			faultsMade.Add(1)
			return fixture.ErrNoAnswer
		}
	}
	return nil
}

// repeating is an object store that repeats writes without an answer, as the clients of
// object stores do. If the first try did succeed, its repetition conflicts with it.
type repeating struct{ stepping.ObjectStore }

func (r repeating) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	for range 20 {
		made, err = r.ObjectStore.Write(ctx, c, d)
		if c.Op != store.OpPutIf || !errors.Is(err, fixture.ErrNoAnswer) {
			break
		}
	}
	return made, err
}

// TestConcurrentShard lets sixteen programs change one shard of an object store, with
// every strategy and with faults. No update is lost, and none is made twice.
func TestConcurrentShard(t *testing.T) {
	for strategy, how := range fixture.Strategies {
		for mix, hooks := range faultMixes {
			t.Run(strategy+", faults: "+mix, func(t *testing.T) {
				m, before, updates := memtest.New(), faultsMade.Load(), updatesOf(true)
				var conflicts, requests atomic.Int64
				if _, err := zarr.At(m, "a").CreateArray(t.Context(), updated(), nil); err != nil {
					t.Fatal(err)
				}
				group, ctx := errgroup.WithContext(t.Context())
				for w := range shardWriters {
					h := hooks()
					after := h.After
					h.After = func(op stepping.Op, err error) error {
						if errors.Is(err, store.ErrConflict) {
							conflicts.Add(1)
						}
						if requests.Add(1)%7 == 0 {
							runtime.Gosched() // so that writers meet on one core, too
						}
						if after != nil {
							err = after(op, err)
						}
						return err
					}
					var s stepping.ObjectStore = stepping.Conditional(m, h)
					if mix == "lost responses" {
						s = repeating{s}
					}
					p := &process{direct: stepping.Conditional(m, stepping.Hooks{}), stepped: s, name: fmt.Sprintf("%s%d", programPrefix, w)}
					a := fixture.Must(zarr.At(p, p.name+"/a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1, Shards: zarr.Shards{Strategy: how}}))
					p.begun.Store(true)
					group.Go(func() error { return (&updater{a, w, updates, 20}).run(ctx) })
				}
				watchUpdates(t, group, m, updates)
				t.Logf("%d updates, %d conflicts, %d faults", 2*shardWriters*updates, conflicts.Load(), faultsMade.Load()-before)
				if conflicts.Load() < 10 {
					t.Error("too few conflicts between the writers")
				}
			})
		}
	}
}

// watchUpdates reads until the writers have ended, and checks the final array.
func watchUpdates(t *testing.T, writers *errgroup.Group, s store.Store, updates int) {
	t.Helper()
	a := fixture.Must(zarr.At(s, "a").OpenArray(t.Context(), nil))
	readers, done := new(errgroup.Group), make(chan struct{})
	readers.Go(func() error {
		for {
			if err := checkUpdates(t.Context(), a, updates, false); err != nil {
				return err
			}
			select {
			case <-done:
				return nil
			default:
			}
		}
	})
	err := writers.Wait()
	close(done)
	if err := errors.Join(err, readers.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := checkUpdates(t.Context(), a, updates, true); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentShardInMemory lets sixteen goroutines change a shard in a store with all
// optional methods, which patches values in place, while others read. Writers of one
// process exclude each other.
func TestConcurrentShardInMemory(t *testing.T) {
	for strategy, how := range fixture.Strategies {
		t.Run(strategy, func(t *testing.T) {
			m, updates := memtest.New(), updatesOf(true)
			if _, err := zarr.At(m, "a").CreateArray(t.Context(), updated(), nil); err != nil {
				t.Fatal(err)
			}
			group, ctx := errgroup.WithContext(t.Context())
			for w := range shardWriters {
				a := fixture.Must(zarr.At(m, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Shards: zarr.Shards{Strategy: how}}))
				group.Go(func() error { return (&updater{a, w, updates, 0}).run(ctx) })
			}
			watchUpdates(t, group, m, updates)
		})
	}
}

// TestConcurrentShardInFiles lets sixteen goroutines change a shard in a directory,
// through stores of their own. Every third one opens the array by another path, so that
// only the lock of the store excludes them, as between processes.
func TestConcurrentShardInFiles(t *testing.T) {
	for strategy, how := range fixture.Strategies {
		t.Run(strategy, func(t *testing.T) {
			dir := t.TempDir()
			inside := filepath.Join(dir, "b", "c")
			if err := os.MkdirAll(inside, 0o777); err != nil {
				t.Fatal(err)
			}
			names := []struct{ dir, path string }{{dir, "b/c/a"}, {filepath.Join(dir, "b"), "c/a"}, {inside, "a"}}
			s, updates := fixture.OpenStore(t, inside), updatesOf(false)
			if _, err := zarr.At(s, "a").CreateArray(t.Context(), updated(), nil); err != nil {
				t.Fatal(err)
			}
			group, ctx := errgroup.WithContext(t.Context())
			for w := range shardWriters {
				n := names[w%len(names)]
				opt := &zarr.Options{Write: true, Durability: store.Flush, Shards: zarr.Shards{Strategy: how}}
				a := fixture.Must(zarr.At(fixture.OpenStore(t, n.dir), n.path).OpenArray(t.Context(), opt))
				group.Go(func() error { return (&updater{a, w, updates, 0}).run(ctx) })
			}
			watchUpdates(t, group, s, updates)
		})
	}
}

// updateInChild makes the updates of some writers in a directory, once its parent tells
// it to start.
func updateInChild(args []string) error {
	s, err := filestore.Open(args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close(s)
	strategy, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	first, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	updates, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(context.Background())
	for w := first; w < first+shardWriters/4; w++ {
		opt := &zarr.Options{Write: true, Durability: store.Flush, Shards: zarr.Shards{Strategy: codec.Strategy(strategy)}}
		a, err := zarr.At(s, "a").OpenArray(ctx, opt)
		if err != nil {
			return err
		}
		group.Go(func() error { return (&updater{a, w, updates, 0}).run(ctx) })
	}
	return group.Wait()
}

// TestProcessesShareShard lets four processes with four writers each change a shard.
func TestProcessesShareShard(t *testing.T) {
	racing.Skip(t) // processes share no memory; the goroutines of TestConcurrentShardInFiles do
	for strategy, how := range fixture.Strategies {
		t.Run(strategy, func(t *testing.T) {
			dir := t.TempDir()
			s, updates := fixture.OpenStore(t, dir), updatesOf(false)
			if _, err := zarr.At(s, "a").CreateArray(t.Context(), updated(), nil); err != nil {
				t.Fatal(err)
			}
			group := new(errgroup.Group)
			var begin []func() error
			for first := 0; first < shardWriters; first += shardWriters / 4 {
				c := child(t, "update", dir, strconv.Itoa(int(how)), strconv.Itoa(first), strconv.Itoa(updates))
				begin = append(begin, startChild(t, c))
				group.Go(c.Wait)
			}
			for _, b := range begin {
				if err := b(); err != nil {
					t.Fatal(err)
				}
			}
			watchUpdates(t, group, s, updates)
		})
	}
}
