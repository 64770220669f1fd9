// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// pair is the elements of the two arrays of a group.
type pair struct{ x, y []int32 }

func (p pair) equal(q pair) bool { return slices.Equal(p.x, q.x) && slices.Equal(p.y, q.y) }

// joint is what one program does to a group with two arrays: x with regular chunks, and
// y with listed edges.
type joint struct {
	name string
	do   func(ctx context.Context, g *zarr.Group, saw func(pair)) error
	more pair // the elements that it appends
}

// both appends to both arrays.
func both(data ...int32) joint {
	return joint{fmt.Sprint("both ", data), func(ctx context.Context, g *zarr.Group, _ func(pair)) error {
		return g.Append(ctx, zarr.Add("x", 0, data, nil), zarr.Add("y", 0, data, nil))
	}, pair{data, data}}
}

// single appends to x.
func single(data ...int32) joint {
	return joint{fmt.Sprint("x ", data), func(ctx context.Context, g *zarr.Group, _ func(pair)) error {
		a, err := g.At("x").OpenArray(ctx, nil)
		if err != nil {
			return err
		}
		return zarr.Append(ctx, a, 0, data, nil)
	}, pair{x: data}}
}

// looks opens the group and reads the arrays through its consolidated metadata.
func looks(times int) joint {
	return joint{"look", func(ctx context.Context, g *zarr.Group, saw func(pair)) error {
		for range times {
			p, err := shown(ctx, g)
			if err != nil {
				return err
			}
			saw(p)
		}
		return nil
	}, pair{}}
}

// shown returns the elements that readers of the consolidated metadata see.
func shown(ctx context.Context, g *zarr.Group) (p pair, err error) {
	if g, err = g.At("").OpenGroup(ctx, &zarr.Options{Concurrency: 1}); err != nil {
		return p, err
	}
	for m, err := range g.Members(ctx, false) {
		if err = errors.Join(err, m.Err); err != nil {
			return p, err
		}
		b, err := zarr.Read[int32](ctx, m.Node.(*zarr.Array), nil)
		if err != nil {
			return p, err
		}
		if m.Name() == "x" {
			p.x = b.Data
		} else {
			p.y = b.Data
		}
	}
	return p, nil
}

// setPair creates the group in a new store.
func setPair(s store.Store) (pair, error) {
	ctx, p := context.Background(), pair{fixture.Numbers(1, 5), fixture.Numbers(1, 5)}
	g, err := zarr.At(s, "g").CreateGroup(ctx, nil, nil)
	for name, spec := range map[string]zarr.Spec{"x": fixture.Every(5, 4), "y": fixture.Edges(2, 3)} {
		var a *zarr.Array
		spec.Codecs = fixture.Plain()
		if err == nil {
			a, err = g.At(name).CreateArray(ctx, spec, nil)
		}
		if err == nil {
			err = zarr.Write(ctx, a, nil, p.x)
		}
	}
	if err == nil {
		err = g.Consolidate(ctx)
	}
	return p, err
}

// possible calls see with every pair that some of the programs may have made, in any
// order, until see returns true.
func possible(p pair, acts []joint, outcomes []outcome, see func(p pair, whole bool) bool) bool {
	if see(p, !slices.Contains(outcomes, done)) {
		return true
	}
	for i, f := range outcomes {
		if f == undone {
			continue
		}
		rest := slices.Clone(outcomes)
		rest[i] = undone
		next := pair{slices.Concat(p.x, acts[i].more.x), slices.Concat(p.y, acts[i].more.y)}
		if possible(next, acts, rest, see) {
			return true
		}
	}
	return false
}

// programGroup opens the group in the view of one program.
func programGroup(s store.Store, place string) (*zarr.Group, error) {
	return zarr.At(s, place).OpenGroup(context.Background(), &zarr.Options{Write: true, Concurrency: 1})
}

// playJoint runs programs on one group and checks the result.
func (p *runner) playJoint(acts []joint, b bounds, by chooser) (storetest.Trace, error) {
	inner := p.newStore()
	was, err := setPair(inner)
	if err != nil {
		return nil, err
	}
	r := &run{prompt: p.prompt, stepper: storetest.NewStepper(inner), died: make([]bool, len(acts))}
	defer r.stepper.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watchdog := time.AfterFunc(stallTime, cancel)
	defer watchdog.Stop()
	var saw []pair
	for i, act := range acts {
		r.stepper.Start(func(stepped store.Store) error {
			name := fmt.Sprintf("%s%s-%d", programPrefix, p.name, i)
			view := &process{direct: inner, stepped: stepped.(storetest.ObjectStore), name: name}
			view.quiet = func(key string) bool { return key == "zarr.json" }
			g, err := programGroup(view, name+"/g")
			if err != nil {
				return err
			}
			view.begun.Store(true)
			return act.do(ctx, g, func(p pair) { saw = append(saw, p) })
		})
	}
	r.drive(b, by)
	if ctx.Err() != nil {
		p.name = fmt.Sprint(generation.Add(1))
		return nil, nil
	}
	outcomes, told, err := r.jointOutcomes(acts)
	if err == nil {
		err = judgeJoint(&process{direct: inner, name: programPrefix}, programPrefix+"/g", was, acts, outcomes, saw)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, strings.Join(told, "\n"))
	}
	return r.stepper.Trace(), err
}

// jointOutcomes returns the outcome of every program.
func (r *run) jointOutcomes(acts []joint) (outcomes []outcome, told []string, err error) {
	for i, act := range acts {
		got := r.stepper.Err(i)
		f := outcomeOf(got, r.died[i])
		outcomes, told = append(outcomes, f), append(told, fmt.Sprintf("%s: %v (%v)", act.name, f, got))
		if got != nil && !isFault(got) && !r.permits(got) {
			err = errors.Join(err, fmt.Errorf("%s: %w", act.name, got))
		}
	}
	return outcomes, told, err
}

// judgeJoint checks that every read showed a published state, including one before the
// next program. It then opens for writing and expects all arrays to have grown, or none.
func judgeJoint(s store.Store, place string, was pair, acts []joint, outcomes []outcome, saw []pair) error {
	ctx := context.Background()
	g, err := zarr.At(s, place).OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		return err
	}
	before, err := shown(ctx, g)
	if err != nil {
		return err
	}
	for _, p := range append(saw, before) {
		if !possible(was, acts, outcomes, func(q pair, _ bool) bool { return q.equal(p) }) {
			return fmt.Errorf("the consolidated metadata showed %v", p)
		}
	}
	if _, err := g.At("y").OpenArray(ctx, nil); err != nil { // opening for writing finishes a decided change
		return err
	}
	is, err := stored(ctx, g)
	if err != nil {
		return err
	}
	if !possible(was, acts, outcomes, func(q pair, whole bool) bool { return whole && q.equal(is) }) {
		return fmt.Errorf("the arrays hold %v", is)
	}
	if err := both(901, 902).do(ctx, g, nil); err != nil {
		return fmt.Errorf("the next append: %w", err)
	}
	want := pair{append(is.x, 901, 902), append(is.y, 901, 902)}
	now, err := stored(ctx, g)
	if err != nil || !now.equal(want) {
		return fmt.Errorf("after the next append the arrays hold %v, want %v (%v)", now, want, err)
	}
	if now, err = shown(ctx, g); err != nil || !now.equal(want) {
		return fmt.Errorf("after the next append the consolidated metadata shows %v, want %v (%v)", now, want, err)
	}
	return nil
}

// stored returns the elements of both arrays.
func stored(ctx context.Context, g *zarr.Group) (p pair, err error) {
	for name, rows := range map[string]*[]int32{"x": &p.x, "y": &p.y} {
		a, err := g.At(name).OpenArray(ctx, &zarr.Options{Concurrency: 1})
		if err != nil {
			return p, err
		}
		b, err := zarr.Read[int32](ctx, a, nil)
		if err != nil {
			return p, err
		}
		*rows = b.Data
	}
	return p, nil
}

// jointScenes are sets of concurrent programs on one group.
var jointScenes = [][]joint{
	{both(101, 102), looks(3)},
	{both(101, 102), both(201), looks(2)},
	{both(101, 102), single(301), looks(2)},
	{both(101, 102), single(301), both(201)},
}

// TestFenceTransaction lets programs append to both arrays of a group, and to one of
// them, in a store without locks, in many orders and with faults. Both arrays have grown
// or neither, and readers of the consolidated metadata never see one without the other.
func TestFenceTransaction(t *testing.T) {
	fixture.Sequential(t)
	most, times := 40, 20
	if os.Getenv("VARVE_LONG") != "" {
		most, times = 800, 300
	}
	seed := uint64(time.Now().UnixNano())
	var runs atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(8)
	for i, acts := range jointScenes {
		for kind := range stores {
			for _, b := range []bounds{{0, 1}, {1, 0}, {1, 1}} {
				group.Go(func() error {
					p, n := newRunner(kind), 0
					storetest.Explore(func(choose func(int) int) bool {
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
					p := newRunner(kind)
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
	*memstore.Store
	left    int  // operations until the crash
	after   bool // it crashes after the operation
	revives bool // only the answer is lost
	dead    bool // it has crashed
}

var errCrashed = errors.New("the program has crashed")

func (m *crashing) do(act func() error) error {
	if m.left--; m.left != 0 && !m.dead {
		return act()
	}
	was := m.dead
	if m.dead = !m.revives; m.after && !was {
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

func (m *crashing) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (v store.Version, err error) {
	err = m.do(func() error { v, err = m.Store.Put(ctx, key, value, d); return err })
	return v, err
}

func (m *crashing) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition, d store.Durability) (v store.Version, err error) {
	err = m.do(func() error { v, err = m.Store.PutIf(ctx, key, value, c, d); return err })
	return v, err
}

func (m *crashing) Delete(ctx context.Context, key store.Key) error {
	return m.do(func() error { return m.Store.Delete(ctx, key) })
}

func (m *crashing) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	return m.do(func() error { return m.Store.DeleteIf(ctx, key, v) })
}

// Batch begins a batch whose writes are counted like single ones.
func (m *crashing) Batch(context.Context, store.Durability) (store.Batch, error) {
	return crashingBatch{m}, nil
}

type crashingBatch struct{ *crashing }

func (b crashingBatch) Put(ctx context.Context, key store.Key, value []byte) error {
	_, err := b.crashing.Put(ctx, key, value, store.Flush)
	return err
}

func (b crashingBatch) PutIf(ctx context.Context, key store.Key, value []byte, c store.Condition) error {
	_, err := b.crashing.PutIf(ctx, key, value, c, store.Flush)
	return err
}

func (b crashingBatch) Commit(context.Context) error { return nil }
func (b crashingBatch) Discard()                     {}

// TestLockTransaction crashes a program that appends to both arrays of a group in a
// store with locks, before and after every operation, and loses every answer in turn.
func TestLockTransaction(t *testing.T) {
	points := 0
	for _, m := range []crashing{{}, {after: true}, {revives: true}, {after: true, revives: true}} {
		for n := 1; ; n++ {
			m.Store, m.left, m.dead = memstore.New(), -1, false
			was, err := setPair(m.Store)
			if err != nil {
				t.Fatal(err)
			}
			p, act := m, both(101, 102)
			g, err := programGroup(&p, "g")
			if err != nil {
				t.Fatal(err)
			}
			p.left = n
			err = act.do(t.Context(), g, nil)
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
	s := storetest.NewStepper(inner)
	defer s.Close()
	start := func(name string, act joint) int {
		return s.Start(func(stepped store.Store) error {
			view := &process{direct: inner, stepped: stepped.(storetest.ObjectStore), name: programPrefix + name}
			view.begun.Store(true)
			g, err := programGroup(view, view.name+"/g")
			if err != nil {
				return err
			}
			return act.do(t.Context(), g, nil)
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
	all := start("all", both(101, 102))
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
