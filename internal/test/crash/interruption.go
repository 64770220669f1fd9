// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

// interruption interrupts a writer at its operation n: the writer crashes before or
// after it, or loses the answer and goes on.
type interruption struct {
	name      string
	done      bool // the operation succeeds
	forGood   bool // the writer crashes there
	operation atomic.Int64
	n         int64
}

func (i *interruption) hooks() storetest.Hooks {
	return storetest.Hooks{
		Before: func(context.Context, storetest.Op) error {
			if at := i.operation.Add(1) - 1; at == i.n && !i.done || at > i.n && i.forGood {
				return fixture.ErrNoAnswer
			}
			return nil
		},
		After: func(_ storetest.Op, err error) error {
			if i.operation.Load()-1 == i.n && i.done {
				return fixture.ErrNoAnswer
			}
			return err
		},
	}
}

// happened reports whether the writer reached the operation.
func (i *interruption) happened() bool { return i.operation.Load() > i.n }

// interruptAll interrupts changes in every way, in stores that open returns: at every
// operation, or at every step-th one, the first of which is drawn. With the largest steps
// each change is interrupted in one way only, which is drawn. It returns the number of
// interruptions.
func interruptAll(t *testing.T, cases []crashCase, open func() storetest.ObjectStore, step int64) (points int) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			kinds := []*interruption{
				{name: "dies before", forGood: true}, {name: "dies after", done: true, forGood: true}, {name: "hears nothing of", done: true}, {name: "cannot do"},
			}
			if step >= fewKinds {
				k := rand.IntN(len(kinds))
				kinds = kinds[k : k+1]
			}
			for _, kind := range kinds {
				for n := rand.Int64N(step); ; n += step {
					i := &interruption{name: kind.name, done: kind.done, forGood: kind.forGood, n: n}
					if !c.interrupt(t, open(), i) {
						break
					}
					points++
				}
			}
		})
	}
	return points
}

// fewKinds is the step from which on only one way to interrupt is tried. Each takes at
// least one run without an interruption, to find the end.
const fewKinds = 16

// inMemory returns an object store without locks.
func inMemory() storetest.ObjectStore {
	return storetest.Conditional(memstore.New(), storetest.Hooks{})
}

// interrupt runs a change with an interruption, and checks the array. It returns false
// if the change ended before that operation.
func (c *crashCase) interrupt(t *testing.T, s storetest.ObjectStore, i *interruption) bool {
	t.Helper()
	ctx, quiet := context.Background(), zarr.At(s, "")
	old := c.prepareIn(t, quiet)
	early, err := quiet.At("g/a").OpenArray(ctx, nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	err = c.run(ctx, zarr.At(storetest.Conditional(s, i.hooks()), ""))
	label := fmt.Sprintf("%s operation %d (%v)", i.name, i.n, err)
	if err != nil && !i.happened() {
		t.Fatalf("%s: %v", label, err)
	}
	late, openErr := quiet.At("g/a").OpenArray(ctx, nil)
	if openErr != nil && !errors.Is(openErr, fs.ErrNotExist) {
		t.Fatalf("%s: %v", label, openErr)
	}
	got := fixture.LookAgain(t, late, label)
	c.expectOne(t, got, old, err == nil, label)
	unsure := errors.Is(err, zarr.ErrIncomplete) || errors.Is(err, zarr.ErrOutcomeUnknown)
	removed := got.Shape == nil // a repeated removal does no harm
	if err != nil && !unsure && !removed && !i.forGood && !c.loose && !c.gone && !c.again && len(c.expect(old)) == 1 && !got.Equal(old) {
		t.Fatalf("%s: found %v after the change failed", label, got)
	}
	if early != nil {
		c.expectOne(t, fixture.LookAgain(t, early, label).Cut(""), old, false, label+", reader from before")
	}
	if late != nil {
		growOn(t, quiet, got, label)
	}
	return i.happened()
}

// prepareIn creates the array of the case, with the numbers from 1 on.
func (c *crashCase) prepareIn(t *testing.T, h *zarr.Location) fixture.State {
	t.Helper()
	ctx := context.Background()
	if c.spec.Type.IsZero() {
		if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
			t.Fatal(err)
		}
		return fixture.State{}
	}
	a, err := h.At("g/a").CreateArray(ctx, c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, int32(fixture.Count(c.spec.Shape)))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return fixture.State{Shape: c.spec.Shape, Data: data, Grid: string(a.Grid().AppendConfiguration(nil))}
}

// growOn grows the array over all leftovers, first without elements and then by an
// append.
func growOn(t *testing.T, h *zarr.Location, got fixture.State, label string) {
	t.Helper()
	ctx := context.Background()
	a, err := openArray(ctx, h)
	if err != nil {
		t.Fatalf("%s: opening for writing afterwards: %v", label, err)
	}
	shape := slices.Clone(got.Shape)
	shape[0] += 20
	want := got.Resized(shape...)
	if err := a.Resize(ctx, shape, nil); err != nil {
		t.Fatalf("%s: growing afterwards: %v", label, err)
	}
	if grown := fixture.LookAgain(t, a, label); !grown.Equal(want) {
		t.Fatalf("%s: grew to %v, want %v", label, grown, want)
	}
	shape[0]++
	want = want.Resized(shape...)
	row := fixture.Numbers(900, int32(fixture.Count(shape[1:])))
	copy(want.Data[len(want.Data)-len(row):], row)
	if err := zarr.Append(ctx, a, 0, row, nil); err != nil {
		t.Fatalf("%s: appending afterwards: %v", label, err)
	}
	if grown := fixture.LookAgain(t, a, label); !grown.Equal(want) {
		t.Fatalf("%s: grew to %v, want %v", label, grown, want)
	}
}
