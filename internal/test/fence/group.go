// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

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

// both appends to both arrays.
func both(data ...int32) joint {
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
	if err := both(901, 902).do(ctx, g, nil, nil); err != nil {
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
