// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"errors"
	"reflect"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// fill sets every field below v that is zero.
func fill(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.String:
		v.SetString("append")
	case reflect.Func, reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			t.Fatalf("set %s in the test", v.Type())
		}
	default:
		t.Fatalf("set %s in the test", v.Type())
	}
}

// TestOptionsOver checks for every field that options which are not set come from the
// options below, so that a new field is not forgotten.
func TestOptionsOver(t *testing.T) {
	base := Options{
		Codecs: codec.Default, Observer: new(observe.Counter), Rehearsal: new(rehearsal.Ledger),
		Locking: store.Locking{Waiting: func(store.LockWait) {}},
	}
	fill(t, reflect.ValueOf(&base).Elem())
	got := Options{}.over(base)
	if got.Locking.Waiting == nil {
		t.Error("Locking.Waiting was not inherited")
	}
	got.Locking.Waiting, base.Locking.Waiting = nil, nil // DeepEqual never holds for functions
	if !reflect.DeepEqual(got, base) {
		t.Errorf("got %+v, want %+v", got, base)
	}
	if o := (Options{Concurrency: 3, Limits: Limits{Chunk: 5}}).over(base); o.Concurrency != 3 || o.Limits.Chunk != 5 || o.Limits.Rank != base.Limits.Rank {
		t.Errorf("options that are set did not win: %+v", o)
	}
}

// TestMemberOptions opens a member of a group with one option of its own.
func TestMemberOptions(t *testing.T) {
	ctx := t.Context()
	g, err := At(memstore.New(), "").CreateGroup(ctx, nil, &CreateOptions{Options: Options{Limits: Limits{Block: 1 << 20}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = g.At("a").CreateArray(ctx, Spec{Shape: []int64{4}, Type: dtype.Int8}, nil); err != nil {
		t.Fatal(err)
	}
	a, err := g.At("a").OpenArray(ctx, &Options{Concurrency: 3})
	if err != nil {
		t.Fatal(err)
	}
	if o := a.Options(); o.Concurrency != 3 || !o.Write || o.Limits.Block != 1<<20 {
		t.Errorf("options %+v", o)
	}
}

// TestSyncInFlushedGroup opens members of a group that is open with Flush. One that asks
// for Sync gets it.
func TestSyncInFlushedGroup(t *testing.T) {
	ctx := t.Context()
	g, err := At(memstore.New(), "").CreateGroup(ctx, nil, &CreateOptions{Options: Options{Durability: store.Flush}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := g.At("a").CreateArray(ctx, Spec{Shape: []int64{4}, Type: dtype.Int8}, &CreateOptions{Options: Options{Durability: store.Sync}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Options().Durability != store.Sync || b.Options().Durability != store.Flush {
		t.Errorf("a member that asks for Sync has %d, one that does not %d", a.Options().Durability, b.Options().Durability)
	}
}

// TestLocationOptions opens a node again from its own location, which has its options.
func TestLocationOptions(t *testing.T) {
	ctx := t.Context()
	o := new(observe.Counter)
	g, err := At(memstore.New(), "g").CreateGroup(ctx, nil, &CreateOptions{Options: Options{Observer: o}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := g.At("a").CreateArray(ctx, Spec{Shape: []int64{4}, Type: dtype.Int8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*Location{"group": g.Location().At("a"), "array": made.Location()} {
		a, err := l.OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Options().Observer != observe.Observer(o) || !a.Options().Write {
			t.Errorf("%s: options %+v", name, a.Options())
		}
	}
	read, err := g.Location().Root().At("g").OpenGroup(ctx, nil)
	if err != nil || read.Options().Write {
		t.Fatalf("the root of the store passes options on: %v", err)
	}
	if _, err := read.Location().CreateGroup(ctx, nil, &CreateOptions{Overwrite: true}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a group that is open for reading was replaced: %v", err)
	}
}
