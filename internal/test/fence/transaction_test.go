// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// TestFenceTransaction lets programs append to both arrays of a group, and to one of
// them, in a store without locks, in many orders and with faults. In half of the runs,
// the last of the latter knows the document from a change before. Both arrays have grown
// or neither, and readers of the consolidated metadata never see one without the other.
func TestFenceTransaction(t *testing.T) {
	fixture.Sequential(t)
	most, times := 16, 8
	switch {
	case fixture.Long():
		most, times = 800, 300
	case fixture.Whole():
		most, times = 40, 20
	}
	seed := uint64(time.Now().UnixNano())
	var runs atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(8)
	for i, acts := range jointScenes {
		for kind := range stores {
			for k, b := range []bounds{{0, 1}, {1, 0}, {1, 1}, {0, 1}, {1, 0}, {1, 1}} {
				group.Go(func() error {
					p, n := runnerOn(kind), 0
					p.warm = k >= 3
					stepping.Explore(func(choose func(int) int) bool {
						n++
						trace, err := p.playJoint(acts, b, chooser{choose, choose})
						if err != nil {
							t.Errorf("scene %d (%s), run %d, %+v: %v\n%v", i, kind, n, b, err, trace)
						}
						return err == nil && n < most
					})
					runs.Add(int64(n))
					return nil
				})
			}
			for k, b := range []bounds{{2, 0}, {3, 1}, {-1, 0}, {-1, 2}} {
				group.Go(func() error {
					p := runnerOn(kind)
					p.warm = (uint64(k)+seed)%2 == 0
					for n := range times {
						r := rand.New(rand.NewPCG(seed+uint64(k), uint64(n)))
						trace, err := p.playJoint(acts, b, randomly(r))
						if err != nil {
							t.Errorf("scene %d (%s), seed %d, run %d, %+v: %v\n%v", i, kind, seed, n, b, err, trace)
							break
						}
						runs.Add(1)
					}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	rarely(t, runs.Load())
}

// crashing is a store with locks whose program crashes at one operation: before it, or
// after it so that only the answer is lost. The crash frees its lock.
type crashing struct {
	memtest.Store
	mu      *sync.Mutex // guards what follows
	left    int         // operations until the crash
	after   bool        // it crashes after the operation
	revives bool        // only the answer is lost
	dead    bool        // it has crashed
}

var errCrashed = errors.New("the program has crashed")

func (m *crashing) do(act func() error) error {
	m.mu.Lock()
	m.left--
	was, lives := m.dead, m.left != 0 && !m.dead
	if !lives {
		m.dead = !m.revives
	}
	m.mu.Unlock()
	if lives {
		return act()
	}
	if m.after && !was {
		_ = act()
	}
	return errCrashed
}

func (m *crashing) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) (out []byte, i store.Info, err error) {
	err = m.do(func() error { out, i, err = m.Store.Get(ctx, key, q, dst); return err })
	return out, i, err
}

func (m *crashing) Stat(ctx context.Context, key store.Key) (i store.Info, err error) {
	err = m.do(func() error { i, err = m.Store.Stat(ctx, key); return err })
	return i, err
}

func (m *crashing) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	if c.Op > store.OpDeleteIf {
		return m.Store.Write(ctx, c, d)
	}
	err = m.do(func() error { made, err = m.Store.Write(ctx, c, d); return err })
	return made, err
}

// Batch begins a batch whose writes are counted like single ones.
func (m *crashing) Batch(context.Context, store.Durability) (store.Batch, error) {
	return crashingBatch{m}, nil
}

type crashingBatch struct{ *crashing }

func (b crashingBatch) Can(op store.Op) bool { return op <= store.OpDeleteIf }

func (b crashingBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.crashing.Write(ctx, c, store.Flush)
}

func (b crashingBatch) Commit(context.Context) error { return nil }
func (b crashingBatch) Discard()                     {}

// TestLockTransaction crashes a program that appends to both arrays of a group in a
// store with locks, before and after every operation, and loses every answer in turn.
func TestLockTransaction(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	points := 0
	for _, m := range []crashing{{}, {after: true}, {revives: true}, {after: true, revives: true}} {
		for n := 1; ; n++ {
			m.Store, m.left, m.dead = memtest.New(), -1, false
			was, err := setPair(m.Store)
			if err != nil {
				t.Fatal(err)
			}
			p, act := m, joined(101, 102)
			p.mu = new(sync.Mutex)
			g, err := programGroup(&p, "g")
			if err != nil {
				t.Fatal(err)
			}
			p.left = n
			err = act.do(t.Context(), g, nil, nil)
			if p.left > 0 {
				break
			}
			points++
			outcomes := []outcome{outcomeOf(err, p.dead)}
			if bad := judgeJoint(m.Store, "g", was, []joint{act}, outcomes, nil); bad != nil {
				t.Errorf("operation %d, after it %t, lost %t: %v (%v, %v)", n, m.after, m.revives, bad, outcomes, err)
			}
		}
	}
	if t.Logf("%d points", points); points < 80 {
		t.Errorf("%d points, want at least 80", points)
	}
}

// TestConsolidationDuringTransaction appends to x and delays the update of the
// consolidated metadata, until another program has published a longer x but not y. The
// consolidated metadata never shows one without the other.
func TestConsolidationDuringTransaction(t *testing.T) {
	inner := stores["counted"]()
	if _, err := setPair(inner); err != nil {
		t.Fatal(err)
	}
	s := stepping.NewStepper(inner)
	defer s.Close()
	start := func(name string, act joint) int {
		return s.Start(func(stepped store.Store) error {
			view := &process{direct: inner, stepped: stepped.(stepping.ObjectStore), name: programPrefix + name}
			view.begun.Store(true)
			g, err := programGroup(view, view.name+"/g")
			if err != nil {
				return err
			}
			return act.do(t.Context(), g, nil, nil)
		})
	}
	until := func(i, writes int, key string) {
		for writes > 0 {
			op, ended := s.Step(i)
			if op.Name == "PutIf" && op.Key.String() == key {
				writes--
			}
			if ended {
				t.Fatalf("the program has ended: %v\n%v", s.Err(i), s.Trace())
			}
		}
	}
	beside := start("beside", single(301))
	until(beside, 2, "g/x/zarr.json") // the fence and the document
	s.Step(beside)                    // the group
	all := start("all", joined(101, 102))
	until(all, 3, "g/x/zarr.json") // two fences and the document
	for _, ended := s.Next(beside); ended; _, ended = s.Next(beside) {
		s.Step(beside)
		g, err := programGroup(&process{direct: inner, name: programPrefix}, programPrefix+"/g")
		if err != nil {
			t.Fatal(err)
		}
		p, err := shown(t.Context(), g)
		if err != nil || len(p.x)/7 != len(p.y)/7 { // 5 or 6 and 5, 8 and 7
			t.Fatalf("the consolidated metadata shows %v (%v)\n%v", p, err, s.Trace())
		}
	}
	if err := s.Err(beside); err != nil {
		t.Error(err)
	}
}
