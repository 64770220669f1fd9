// SPDX-License-Identifier: Apache-2.0

// Package fence tests concurrent changes and reads of one array by goroutines and
// processes: with locks, with fences, with neither, and with processes that are killed
// or stopped. [Run] lets the tests of a driver do a part of it on a real object store.
package fence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// process is the view that one of several programs has of an object store. Writers of
// one key in one process exclude each other, so each program here gets keys of its own:
// "program…/x" is the shared key "x". No other key exists.
type process struct {
	direct, stepped stepping.ObjectStore
	begun           atomic.Bool           // until it is set, no operation waits for its turn
	quiet           func(key string) bool // reports keys that are never written; reading them waits for no turn
	name            string                // of the program; paths in journals contain it
	repeats         bool                  // its driver repeats writes whose answer is lost
}

// programPrefix is the start of all program names.
const programPrefix = "program"

// inside returns the shared name of a key. It returns false if the key is in no program.
func inside(name string) (string, bool) {
	first, rest, _ := strings.Cut(name, "/")
	return rest, strings.HasPrefix(first, programPrefix)
}

// at returns the store to use and the shared key.
func (p *process) at(key store.Key, reads bool) (stepping.ObjectStore, store.Key, error) {
	name, ok := inside(key.String())
	if !ok {
		return nil, key, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	if !p.begun.Load() || reads && p.quiet != nil && p.quiet(name) {
		return p.direct, store.MustKey(name), nil
	}
	return p.stepped, store.MustKey(name), nil
}

func (p *process) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s, key, err := p.at(key, true)
	if err != nil {
		return nil, store.Info{}, err
	}
	out, info, err := s.Get(ctx, key, q, dst)
	if err == nil && isJournal(key) {
		out = bytes.ReplaceAll(out, []byte(anyProgram), []byte(p.name+"/"))
	}
	return out, info, err
}

// anyProgram replaces the name of the program in shared journals.
const anyProgram = "@program/"

func isJournal(key store.Key) bool { return strings.Contains(key.String(), "__varve/") }

// common returns a value in its shared form.
func (p *process) common(key store.Key, value []byte) []byte {
	if isJournal(key) {
		return bytes.ReplaceAll(value, []byte(p.name+"/"), []byte(anyProgram))
	}
	return value
}

func (p *process) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s, key, err := p.at(key, true)
	if err != nil {
		return store.Info{}, err
	}
	return s.Stat(ctx, key)
}

func (p *process) Can(op store.Op) bool { return p.direct.Can(op) }

func (p *process) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	s, key, err := p.at(c.Key, false)
	if err != nil {
		return made, err
	}
	c.Key = key
	if c.Op == store.OpPut || c.Op == store.OpPutIf {
		c.Value = p.common(key, c.Value)
	}
	if c.Op != store.OpPutIf {
		return s.Write(ctx, c, d)
	}
	made.Version, err = p.repeat(c.If, func() (store.Version, error) {
		w, err := s.Write(ctx, c, d)
		return w.Version, err
	})
	return made, err
}

// attempts is how often a driver makes a request.
const attempts = 3

// repeat makes attempts of a write, as the driver of an object store does: on the same
// condition, as long as the answer is lost. A conflict after a lost answer tells nothing.
func (p *process) repeat(c store.Condition, write func() (store.Version, error)) (v store.Version, err error) {
	var lost error
	for range attempts {
		v, err = write()
		if err == nil || !isFault(err) || !p.repeats || c.IsUnrepeatable() {
			break
		}
		lost = err
	}
	if errors.Is(err, store.ErrConflict) && lost != nil {
		return v, fmt.Errorf("%w, and then: %v", lost, err)
	}
	return v, err
}

func (p *process) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	name, ok := inside(dir.String())
	to, err := store.ParsePath(name)
	if !ok || err != nil {
		return func(func(store.Entry, error) bool) {}
	}
	if !p.begun.Load() || p.quiet != nil && p.quiet(name) {
		return p.direct.List(ctx, to, how)
	}
	return p.stepped.List(ctx, to, how)
}

// wire is a network between programs and an object store that delivers writes and
// deletions on conditions late or twice. A late one may arrive at any time, also after
// its program has given up or crashed. A nil wire delivers every request once.
type wire struct {
	stepping.ObjectStore
	fault  int      // what happens to the next request: noFault, delay, delayAndCrash or repeat
	late   []func() // writes on their way
	hashed bool     // versions are hashes of the content
}

// newWire returns a wire, and the store at its near end.
func newWire(s stepping.ObjectStore) (*wire, stepping.ObjectStore) {
	w := &wire{ObjectStore: s}
	if d, ok := s.(store.Drafter); ok {
		w.hashed = true
		return w, wireWithDrafts{w, d}
	}
	return w, w
}

// carry delivers a request.
func (w *wire) carry(request func() (store.Version, error)) (store.Version, error) {
	switch w.fault {
	case delay, delayAndCrash:
		w.late = append(w.late, func() { _, _ = request() })
		return store.Version{}, stepping.ErrLost
	case repeat:
		_, _ = request()
	}
	return request()
}

func (w *wire) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	switch {
	case c.Op == store.OpPutIf:
		ctx, c.Value = context.WithoutCancel(ctx), bytes.Clone(c.Value) // the caller writes to it after this call
	// Where versions come back, a late deletion may hit what another writer has stored
	// again. CORRECTNESS.md says so.
	case c.Op == store.OpDeleteIf && !w.hashed:
		ctx = context.WithoutCancel(ctx)
	default:
		return w.ObjectStore.Write(ctx, c, d)
	}
	made.Version, err = w.carry(func() (store.Version, error) {
		made, err := w.ObjectStore.Write(ctx, c, d)
		return made.Version, err
	})
	return made, err
}

// all is the number of writes to deliver in the end.
const all = -1

// deliver delivers n late writes, the first ones first.
func (w *wire) deliver(n int) {
	for ; w.hasLate() && n != 0; n-- {
		w.late[0]()
		w.late = w.late[1:]
	}
}

func (w *wire) hasLate() bool { return w != nil && len(w.late) > 0 }

// wireWithDrafts is a wire to a store with drafts.
type wireWithDrafts struct {
	*wire
	drafter store.Drafter
}

func (w wireWithDrafts) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	made, err := w.drafter.Draft(ctx, key, value, d)
	return sentDraft{made, w.wire}, err
}

func (w wireWithDrafts) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	if d, ok := keep.(sentDraft); ok {
		keep = d.Draft
	}
	return w.drafter.Revoke(ctx, key, keep)
}

// sentDraft is a draft that is published over a wire.
type sentDraft struct {
	store.Draft
	wire *wire
}

func (d sentDraft) Publish(ctx context.Context, c store.Condition) (store.Version, error) {
	ctx = context.WithoutCancel(ctx)
	return d.wire.carry(func() (store.Version, error) { return d.Draft.Publish(ctx, c) })
}

// store returns the process as a store. It has drafts if the shared store has.
func (p *process) store() store.Store {
	if _, ok := p.direct.(store.Drafter); ok {
		return processWithDrafts{p}
	}
	return p
}

// processWithDrafts is a process whose store has drafts.
type processWithDrafts struct{ *process }

func (p processWithDrafts) Draft(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Draft, error) {
	s, key, err := p.at(key, false)
	if err != nil {
		return nil, err
	}
	made, err := s.(store.Drafter).Draft(ctx, key, p.common(key, value), d)
	if err != nil {
		return nil, err
	}
	return repeatedDraft{made, p.process}, nil
}

func (p processWithDrafts) Revoke(ctx context.Context, key store.Key, keep store.Draft) error {
	s, key, err := p.at(key, false)
	if err != nil {
		return err
	}
	if d, ok := keep.(repeatedDraft); ok {
		keep = d.Draft
	}
	return s.(store.Drafter).Revoke(ctx, key, keep)
}

// repeatedDraft is a draft whose publication the driver repeats.
type repeatedDraft struct {
	store.Draft
	p *process
}

func (d repeatedDraft) Publish(ctx context.Context, c store.Condition) (store.Version, error) {
	return d.p.repeat(c, func() (store.Version, error) { return d.Draft.Publish(ctx, c) })
}

// pair is the elements of the two arrays of a group.
type pair struct{ x, y []int32 }

func (p pair) equal(q pair) bool { return slices.Equal(p.x, q.x) && slices.Equal(p.y, q.y) }

// joint is what one program does to a group with two arrays: x with regular chunks, and
// y with listed edges.
type joint struct {
	name string
	do   func(ctx context.Context, g *zarr.Group, x *zarr.Array, saw func(pair)) error
	more pair // the elements that it appends
}

// joined appends to both arrays.
func joined(data ...int32) joint {
	return joint{fmt.Sprint("both ", data), func(ctx context.Context, g *zarr.Group, _ *zarr.Array, _ func(pair)) error {
		return g.Append(ctx, zarr.Add("x", 0, data, nil), zarr.Add("y", 0, data, nil))
	}, pair{data, data}}
}

// single appends to x.
func single(data ...int32) joint {
	return joint{fmt.Sprint("x ", data), func(ctx context.Context, g *zarr.Group, x *zarr.Array, _ func(pair)) (err error) {
		if x == nil {
			x, err = g.At("x").OpenArray(ctx, nil)
		}
		if err != nil {
			return err
		}
		return zarr.Append(ctx, x, 0, data, nil)
	}, pair{x: data}}
}

// looks opens the group and reads the arrays through its consolidated metadata.
func looks(times int) joint {
	return joint{"look", func(ctx context.Context, g *zarr.Group, _ *zarr.Array, saw func(pair)) error {
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
func (p *runner) playJoint(acts []joint, b bounds, by chooser) (stepping.Trace, error) {
	inner := p.newStore()
	was, err := setPair(inner)
	if err != nil {
		return nil, err
	}
	r := &run{prompt: p.prompt, stepper: stepping.NewStepper(inner), died: make([]bool, len(acts))}
	defer r.stepper.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	watchdog := time.AfterFunc(stallTime, cancel)
	defer watchdog.Stop()
	var saw []pair
	for i, act := range acts {
		r.stepper.Start(func(stepped store.Store) error {
			name := fmt.Sprintf("%s%s-%d", programPrefix, p.name, i)
			view := &process{direct: inner, stepped: stepped.(stepping.ObjectStore), name: name}
			view.quiet = func(key string) bool { return key == "zarr.json" }
			g, err := programGroup(view, name+"/g")
			if err != nil {
				return err
			}
			var x *zarr.Array
			if p.warm && len(act.more.y) == 0 && len(act.more.x) > 0 {
				if x, err = g.At("x").OpenArray(ctx, nil); err == nil {
					err = publishAgain(ctx, x)
				}
				if err != nil {
					return err
				}
			}
			view.begun.Store(true)
			return act.do(ctx, g, x, func(p pair) { saw = append(saw, p) })
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
	if err := joined(901, 902).do(ctx, g, nil, nil); err != nil {
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
	{joined(101, 102), looks(3)},
	{joined(101, 102), joined(201), looks(2)},
	{joined(101, 102), single(301), looks(2)},
	{joined(101, 102), single(301), joined(201)},
}
