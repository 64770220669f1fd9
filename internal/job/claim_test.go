// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// fake is an operation that notes which tasks are executed.
type fake struct {
	mu     sync.Mutex
	begun  map[Task]int
	done   map[Task]int
	before func(ctx context.Context, t Task) error // of a task; may be nil
	early  []Task                                  // tasks that began before all of the stage before were done
	of     map[int]int64                           // the number of tasks of each stage
}

func newFake(of ...int64) *fake {
	f := &fake{begun: map[Task]int{}, done: map[Task]int{}, of: map[int]int64{}}
	for stage, n := range of {
		f.of[stage] = n
	}
	return f
}

func (f *fake) do(ctx context.Context, _ *Worker, t Task, _ *Record) error {
	f.mu.Lock()
	f.begun[t]++
	if t.Stage > 0 && f.countIn(t.Stage-1) < f.of[t.Stage-1] {
		f.early = append(f.early, t)
	}
	f.mu.Unlock()
	if f.before != nil {
		if err := f.before(ctx, t); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[t]++
	return ctx.Err()
}

// countIn returns the number of tasks of a stage that are done.
func (f *fake) countIn(stage int) (n int64) {
	for t := range f.done {
		if t.Stage == stage {
			n++
		}
	}
	return n
}

func (f *fake) leave() error                                            { return nil }
func (f *fake) Close() error                                            { return nil }
func (f *fake) publish(context.Context, *Worker, bool) (*Result, error) { return new(Result), nil }

// newWorkers returns workers of a plan with so many tasks in each stage. Each stands for
// a process, with the same store.
func newWorkers(t *testing.T, f *fake, s store.Store, workers int) (list []*Worker) {
	p := &Plan{Location: filepath.Join(t.TempDir(), "p.json"), ID: "x"}
	for stage := range len(f.of) {
		p.Work.Stages = append(p.Work.Stages, Stage{Name: "work", Tasks: f.of[stage]})
	}
	p.Work.Stages = append(p.Work.Stages, Stage{Name: "publish", Tasks: 1})
	for range workers {
		w := &Worker{plan: p, op: f, folder: newFolder(p)}
		if s != nil {
			w.folder.store = s
			w.folder.path, _ = store.ParsePath("p.json.tasks/x")
		}
		list = append(list, w)
		t.Cleanup(func() { _ = w.Close() })
	}
	return list
}

// TestTake lets workers take the tasks of two stages, in files and in a store in memory.
// Each task is executed once, and no task begins before the stage before is done.
func TestTake(t *testing.T) {
	for name, s := range map[string]store.Store{"files": nil, "memory": memtest.New(), "objects": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		t.Run(name, func(t *testing.T) {
			f := newFake(40, 17)
			var all sync.WaitGroup
			workers := newWorkers(t, f, s, 5)
			for _, w := range workers {
				all.Go(func() {
					if err := w.Take(t.Context(), Taking{Of: 1000, Lease: 20 * time.Second}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if len(f.done) != 57 || len(f.early) > 0 {
				t.Fatalf("%d tasks done, early: %v", len(f.done), f.early)
			}
			for task, n := range f.begun {
				if n != 1 {
					t.Errorf("%v: begun %d times", task, n)
				}
			}
			status, err := workers[0].Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if a, b := status.Stages[0], status.Stages[1]; a.Done != 40 || a.Of != 40 || a.Claimed != 0 || a.Repeated != 0 || b.Done != 17 || b.Of != 17 || len(b.Slowest) != 10 {
				t.Errorf("%+v", status)
			}
			if err := workers[0].Forget(t.Context()); err != nil {
				t.Fatal(err)
			}
			if status, err = workers[1].Status(t.Context()); err != nil || status.Stages[0].Of != 0 {
				t.Errorf("after Forget: %+v (%v)", status, err)
			}
		})
	}
}

// TestTakeAtRandom lets workers come, fail and be killed: a killed one leaves its claims.
// In the end each task is done.
func TestTakeAtRandom(t *testing.T) {
	var deaths atomic.Int64
	defer func() {
		if deaths.Load() < 50 {
			t.Errorf("only %d workers ended early", deaths.Load())
		}
	}()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
			f := newFake(int64(1+draw(30)), int64(1+draw(9)))
			how := Taking{Of: int64(1 + draw(40)), Lease: time.Minute}
			for stage, n := range f.of {
				f.of[stage] = min(n, how.Of)
			}
			f.before = func(ctx context.Context, _ Task) error {
				if draw(8) == 0 {
					return errors.New("a fault of the network")
				}
				return lease.Sleep(ctx, time.Duration(draw(200))*time.Second)
			}
			m := memtest.New()
			var all sync.WaitGroup
			last := newWorkers(t, f, stepping.Conditional(m, stepping.Hooks{}), 1)[0]
			for range 6 {
				// Nothing of what a process does after its death reaches the store.
				death := time.Now().Add(time.Duration(draw(900)) * time.Second)
				w := newWorkers(t, f, stepping.Conditional(m, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
					if time.Now().After(death) {
						return errors.New("the process is dead")
					}
					return nil
				}}), 1)[0]
				all.Go(func() {
					ctx, cancel := context.WithDeadline(t.Context(), death)
					defer cancel()
					if w.Take(ctx, how) != nil {
						deaths.Add(1)
					}
				})
			}
			for {
				if err := last.Take(t.Context(), how); err == nil {
					break
				}
			}
			all.Wait()
			for stage, of := range f.of {
				if f.countIn(stage) != of {
					t.Fatalf("seed %d: stage %d: %d of %d tasks done", seed, stage, f.countIn(stage), of)
				}
			}
			if len(f.early) > 0 {
				t.Fatalf("seed %d: began before the stage before was done: %v", seed, f.early)
			}
		})
	}
}

// TestTakeOver checks when a claim is taken over: if it was not renewed for a lease, and
// not before. A worker whose claim is taken over leaves the task to the other one.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFake(1), stepping.Conditional(memtest.New(), stepping.Hooks{})
		w := newWorkers(t, f, s, 3)
		dead := &taker{Worker: w[0], how: Taking{}.orUsual(), of: 1, done: map[int64]bool{}, seen: map[int64]sight{}}
		if h, err := dead.claim(t.Context(), listed{Task: Task{Of: 1}}); h == nil || err != nil {
			t.Fatal(h, err)
		}
		began := time.Now()
		if err := w[1].Take(t.Context(), Taking{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Minute || took > 80*time.Second {
			t.Errorf("taken over after %v", took)
		}
		status, err := w[1].Status(t.Context())
		if err != nil || status.Stages[0].Repeated != 1 {
			t.Errorf("%+v (%v)", status, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, s := newFake(1), stepping.Conditional(memtest.New(), stepping.Hooks{})
		f.before = func(ctx context.Context, _ Task) error { return lease.Sleep(ctx, time.Hour) }
		w := newWorkers(t, f, s, 2)
		var all sync.WaitGroup
		for _, w := range w {
			all.Go(func() {
				if err := w.Take(t.Context(), Taking{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := f.begun[Task{Of: 1}]; n != 1 {
			t.Errorf("a task whose claim is renewed was begun %d times", n)
		}
	})
}

// TestTakenOver lets the store refuse renewals for some time, so that a living worker
// loses its claim. It leaves the task to the one that has taken it.
func TestTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(1), memtest.New()
		var begun atomic.Bool // by the first worker, which is slow
		f.before = func(ctx context.Context, _ Task) error {
			if begun.CompareAndSwap(false, true) {
				return lease.Sleep(ctx, 24*time.Hour)
			}
			return nil
		}
		cut := time.Now().Add(3 * time.Minute)
		hooks := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "PutIf" && time.Now().Before(cut) && time.Since(cut) > -170*time.Second {
				return errors.New("no network")
			}
			return nil
		}}
		w := newWorkers(t, f, stepping.Conditional(m, hooks), 1)
		w = append(w, newWorkers(t, f, stepping.Conditional(m, stepping.Hooks{}), 1)...)
		began := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			if err := w[0].Take(t.Context(), Taking{}); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_ = lease.Sleep(t.Context(), time.Second)
			if err := w[1].Take(t.Context(), Taking{}); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		if took := time.Since(began); took > 10*time.Minute {
			t.Errorf("the first worker went on for %v", took)
		}
		if f.done[Task{Of: 1}] == 0 {
			t.Error("the task was not done")
		}
	})
}

// TestTakeNeedsConditions refuses a store without conditional writes, and a plan that was
// read from nowhere.
func TestTakeNeedsConditions(t *testing.T) {
	f := newFake(1)
	w := newWorkers(t, f, plain{memtest.New()}, 1)[0]
	if err := w.Take(t.Context(), Taking{}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("without conditional writes: %v", err)
	}
	w.folder = nil
	if err := w.Take(t.Context(), Taking{}); !errors.Is(err, errNoFolder) {
		t.Errorf("without a place: %v", err)
	}
}

// plain is a store that can only be read, listed and written.
type plain struct{ s memtest.Store }

func (p plain) Get(ctx context.Context, key store.Key, r store.Request, dst []byte) ([]byte, store.Info, error) {
	return p.s.Get(ctx, key, r, dst)
}

func (p plain) Can(op store.Op) bool { return op == store.OpPut }

func (p plain) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !p.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return p.s.Write(ctx, c, d)
}

// TestDivision checks that the status of a stage is that of the division of which most is
// done.
func TestDivision(t *testing.T) {
	of := func(numbers ...int64) (list []listed) {
		for i, n := range numbers {
			list = append(list, listed{Task: Task{Number: int64(i), Of: n}})
		}
		return list
	}
	for want, list := range map[int64][]listed{0: nil, 3: of(3, 3, 100), 100: of(100), 4: of(4, 9), 1: of(8, 1, 8)} {
		if got := division(list, 0); got != want {
			t.Errorf("%v: %d, want %d", list, got, want)
		}
	}
	if got := division(of(3), 1); got != 0 {
		t.Errorf("another stage: %d", got)
	}
}

// FuzzName checks that names of tasks are parsed as they are made, and nothing else is
// taken for one.
func FuzzName(f *testing.F) {
	for _, s := range []string{"0-4-3", "1-4-4", "-1-4-3", "0-4-3x", "00-4-3", "0-4--1", "+1-2-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		task, ok := parseName(name)
		if ok && (task.name() != name || task.Number < 0 || task.Number >= task.Of) {
			t.Errorf("%q: %v", name, task)
		}
	})
}

// TestRenewal lets renewals fail, and answers of renewals get lost: a worker that no
// other one has displaced continues its task.
func TestRenewal(t *testing.T) {
	for name, lost := range map[string]bool{"refused": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, m, n := newFake(1), memtest.New(), 0
				f.before = func(ctx context.Context, _ Task) error { return lease.Sleep(ctx, time.Hour) }
				fails := func(op stepping.Op) bool {
					if op.Name == "PutIf" && strings.Contains(op.Key.String(), claimsDir) {
						n++
					}
					return n == 3
				}
				hooks := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
					if !lost && fails(op) {
						return errors.New("503")
					}
					return nil
				}, After: func(op stepping.Op, err error) error {
					if lost && fails(op) {
						return errors.New("no answer")
					}
					return err
				}}
				w := newWorkers(t, f, stepping.Conditional(m, hooks), 1)[0]
				if err := w.Take(t.Context(), Taking{}); err != nil {
					t.Fatal(err)
				}
				if n := f.begun[Task{Of: 1}]; n != 1 {
					t.Errorf("the task was begun %d times", n)
				}
			})
		})
	}
}

// TestDamagedClaim takes over a claim that a power cut has emptied, and counts a damaged
// record as a task that is done.
func TestDamagedClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFake(3), stepping.Conditional(memtest.New(), stepping.Hooks{})
		w := newWorkers(t, f, s, 1)[0]
		for dir, k := range map[string]int64{claimsDir: 1, recordsDir: 2} {
			if _, err := store.Write(t.Context(), s, store.Put(w.folder.key(dir, Task{Number: k, Of: 3}), nil), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Take(t.Context(), Taking{}); err != nil {
			t.Fatal(err)
		}
		if f.begun[Task{Number: 0, Of: 3}] != 1 || f.begun[Task{Number: 1, Of: 3}] != 1 || f.begun[Task{Number: 2, Of: 3}] != 0 {
			t.Errorf("begun: %v", f.begun)
		}
		if s, err := w.Status(t.Context()); err != nil || s.Stages[0].Done != 3 {
			t.Errorf("%+v (%v)", s, err)
		}
	})
}

// TestUnreadableClaim returns the error of a claim that cannot be read, instead of
// waiting for ever, and a worker whose claim cannot be read for a while continues.
func TestUnreadableClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(1), memtest.New()
		denied := errors.New("access denied")
		s := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Get" && strings.Contains(op.Key.String(), claimsDir) {
				return denied
			}
			return nil
		}})
		w := newWorkers(t, f, s, 1)[0]
		if _, err := store.Write(t.Context(), m, store.Put(w.folder.key(claimsDir, Task{Of: 1}), []byte("{}")), store.Flush); err != nil {
			t.Fatal(err)
		}
		if err := w.Take(t.Context(), Taking{}); !errors.Is(err, denied) {
			t.Errorf("%v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f, m := newFake(1), memtest.New()
		f.before = func(ctx context.Context, _ Task) error { return lease.Sleep(ctx, time.Hour) }
		lost, until := false, time.Now().Add(5*time.Minute)
		s := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Get" && lost && time.Now().Before(until) {
				return errors.New("no network")
			}
			return nil
		}, After: func(op stepping.Op, err error) error {
			if op.Name == "PutIf" && time.Since(until) > -4*time.Minute && !lost { // a renewal that is stored
				lost = true
				return errors.New("no answer")
			}
			return err
		}})
		if err := newWorkers(t, f, s, 1)[0].Take(t.Context(), Taking{}); err != nil {
			t.Fatal(err)
		}
		if n := f.begun[Task{Of: 1}]; n != 1 {
			t.Errorf("the task was begun %d times", n)
		}
	})
}

// TestFailingTask continues with other tasks if one fails, and returns its error in the
// end. Attempts are counted.
func TestFailingTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFake(10), stepping.Conditional(memtest.New(), stepping.Hooks{})
		broken := errors.New("broken")
		f.before = func(_ context.Context, task Task) error {
			switch {
			case task.Number == 4:
				return broken
			case task.Number == 7 && f.begun[task] < 3:
				return errors.New("for now")
			}
			return nil
		}
		w := newWorkers(t, f, s, 1)[0]
		if err := w.Take(t.Context(), Taking{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "task 4/10") {
			t.Fatalf("%v", err)
		}
		status, err := w.Status(t.Context())
		if err != nil || status.Stages[0].Done != 9 || status.Stages[0].Repeated != 2 {
			t.Errorf("%+v (%v)", status, err)
		}
		broken = nil
		if err := w.Take(t.Context(), Taking{}); err != nil || len(f.done) != 10 {
			t.Errorf("%d done (%v)", len(f.done), err)
		}
	})
}
