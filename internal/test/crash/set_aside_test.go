// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// TestShrinkSetAsideChunk shrinks an array and lets it grow again. A crashed program has
// set aside a shorter form of its last chunk. No old value reappears.
func TestShrinkSetAsideChunk(t *testing.T) {
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(2)}} {
		ctx, m := t.Context(), memtest.New()
		spec := fixture.Edges(8, 8)
		spec.InnerChunks = inner
		a, err := zarr.At(m, "a").CreateArray(ctx, spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 16))
		}
		if err != nil {
			t.Fatal(err)
		}
		crashed, errCrashed := false, errors.New("the program has crashed")
		dying := stepping.Conditional(m, stepping.Hooks{
			Before: func(context.Context, stepping.Op) error {
				if crashed {
					return errCrashed
				}
				return nil
			},
			After: func(op stepping.Op, err error) error {
				if op.Key.Base() == "zarr.json" && op.Name == "PutIf" && err == nil {
					b, openErr := zarr.At(m, "a").OpenArray(ctx, nil)
					crashed = openErr == nil && b.Shape()[0] == 14
				}
				return err
			},
		})
		b := fixture.Must(zarr.At(dying, "a").OpenArray(ctx, &zarr.Options{Write: true}))
		if err := b.Resize(ctx, []int64{14}, &zarr.ResizeOptions{Shrink: grid.TrimExact}); !errors.Is(err, zarr.ErrIncomplete) {
			t.Fatalf("%s: %v, want a change that is published and not finished", name, err)
		}
		for _, n := range []int64{11, 14} {
			if err := a.Resize(ctx, []int64{n}, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		want := append(fixture.Numbers(1, 11), 0, 0, 0)
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s: %v (%v), want %v", name, got.Data, err, want)
		}
	}
}

// TestFaultMovingChunk checks a trim of several chunks of which one cannot be moved to
// its place. The other chunks are moved, the error says what is left, and the next
// opening for writing moves it.
func TestFaultMovingChunk(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	spec := zarr.Spec{
		Shape: []int64{16, 3}, Type: dtype.Int32, Codecs: fixture.Plain(), Chunks: []grid.Cut{grid.Edges(8, 8), grid.Edges(1, 1, 1)},
	}
	a, err := zarr.At(m, "a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 48))
	}
	if err != nil {
		t.Fatal(err)
	}
	fault := errors.New("it is full")
	failing := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Key.String() == "a/c/1/1" && strings.HasPrefix(op.Name, "Put") {
			return fault
		}
		return nil
	}})
	b := fixture.Must(zarr.At(failing, "a").OpenArray(ctx, &zarr.Options{Write: true}))
	err = b.Resize(ctx, []int64{14, 3}, &zarr.ResizeOptions{Shrink: grid.TrimExact})
	if !errors.Is(err, fault) || !errors.Is(err, zarr.ErrIncomplete) || !strings.Contains(err.Error(), "opened for writing") {
		t.Fatal(err)
	}
	sizes := func() (bytes []int64) {
		for _, key := range []string{"a/c/1/0", "a/c/1/1", "a/c/1/2"} {
			_, info, err := m.Get(ctx, store.MustKey(key), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			bytes = append(bytes, info.Size)
		}
		return bytes
	}
	if got := sizes(); !slices.Equal(got, []int64{24, 32, 24}) {
		t.Errorf("chunks of %d bytes, want all but one moved", got)
	}
	read := func() {
		t.Helper()
		r := fixture.Must(zarr.At(m, "a").OpenArray(ctx, nil))
		if got, err := zarr.Read[int32](ctx, r, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 42)) {
			t.Errorf("%v, %v", got.Data, err)
		}
	}
	read()
	fixture.Must(zarr.At(m, "a").OpenArray(ctx, &zarr.Options{Write: true}))
	if got := sizes(); !slices.Equal(got, []int64{24, 24, 24}) {
		t.Errorf("after opening for writing, chunks have %d bytes, want 24 each", got)
	}
	read()
}

// TestTrimRefused checks that trimming shards without an index checksum is refused, and
// that nothing changes. An old shard could decode as a shorter one.
func TestTrimRefused(t *testing.T) {
	spec := fixture.Edges(8, 8)
	spec.Codecs = []metadata.Extension{fixture.Must(codec.Shards(codec.Sharding{
		Inner: grid.Chunks(2), Codecs: fixture.Plain(), IndexCodecs: fixture.Plain(),
	}))}
	a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = a.Resize(t.Context(), []int64{14}, &zarr.ResizeOptions{Shrink: grid.TrimExact})
	if !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("error is %v, want %v", err, zarr.ErrUnsupported)
	}
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 16)) {
		t.Errorf("%v (%v)", got.Data, err)
	}
}
