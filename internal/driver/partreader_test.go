// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestPartReader reads drawn parts in pieces of drawn sizes, twice, and compares them
// with what [store.WriteParts] writes.
func TestPartReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := t.Context()
		s := memstore.New()
		keys := []store.Key{store.MustKey("a"), store.MustKey("b")}
		sizes := make([]int64, len(keys))
		for i, k := range keys {
			value := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "value")
			sizes[i] = int64(len(value))
			if _, err := store.Write(ctx, s, store.Put(k, value), store.Sync); err != nil {
				t.Fatal(err)
			}
		}
		var parts []store.Part
		for range rapid.IntRange(0, 40).Draw(t, "parts") {
			if rapid.IntRange(0, 3).Draw(t, "new") == 0 {
				parts = append(parts, store.Part{Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data")})
				continue
			}
			i := rapid.IntRange(0, 1).Draw(t, "key")
			off := rapid.Int64Range(0, sizes[i]).Draw(t, "off")
			parts = append(parts, store.Part{Key: keys[i], Off: off, N: rapid.Int64Range(0, sizes[i]-off).Draw(t, "n")})
		}
		for i := range parts { // nil data means a source
			if parts[i].Key.IsZero() && parts[i].Data == nil {
				parts[i].Data = []byte{}
			}
		}
		var want bytes.Buffer
		if err := store.WriteParts(ctx, &want, s, parts); err != nil {
			t.Fatal(err)
		}
		r, err := driver.NewPartReader(ctx, s, parts)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var got []byte
			for {
				n, before := rapid.Int64Range(1, 30).Draw(t, "piece"), len(got)
				if got, err = r.AppendPiece(ctx, got, n); err != nil {
					t.Fatal(err)
				}
				if k := int64(len(got) - before); k > n || k < n && len(got) != want.Len() {
					t.Fatalf("a piece of %d bytes, want %d; %d of %d in all", k, n, len(got), want.Len())
				}
				if len(got) == want.Len() {
					break
				}
			}
			if !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%x, want %x", got, want.Bytes())
			}
			r.Rewind()
		}
	})
}

// TestPartReaderPins reads parts of values that are missing, short, of another version,
// or replaced meanwhile.
func TestPartReaderPins(t *testing.T) {
	ctx, s, key := t.Context(), memstore.New(), store.MustKey("a")
	old, err := store.Write(ctx, s, store.Put(key, []byte("old value")), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	whole, some := store.Part{Key: key, N: 9}, store.Part{Key: key, Off: 1, N: 3}
	r, err := driver.NewPartReader(ctx, s, []store.Part{whole, some, {Data: []byte("x")}})
	if err != nil {
		t.Fatal(err)
	}
	is := func(p store.Part) bool { return r.IsWhole(p) }
	if p := r.Parts(); p[0].Version != old.Version || !is(p[0]) || slices.ContainsFunc(p[1:], is) {
		t.Errorf("parts %+v", p)
	}
	if _, err := store.Write(ctx, s, store.Put(key, []byte("new value")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := r.AppendPiece(ctx, nil, 20); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a replaced source: %v", err)
	}
	for name, c := range map[string]struct {
		part store.Part
		want error
	}{
		"missing":           {store.Part{Key: store.MustKey("b"), N: 1}, fs.ErrNotExist},
		"missing, pinned":   {store.Part{Key: store.MustKey("b"), N: 1, Version: old.Version}, store.ErrConflict},
		"of an old version": {store.Part{Key: key, N: 1, Version: old.Version}, store.ErrConflict},
	} {
		if _, err := driver.NewPartReader(ctx, s, []store.Part{c.part}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := driver.NewPartReader(ctx, s, []store.Part{{Key: key, N: 10}}); err == nil {
		t.Error("a part beyond the end: no error")
	}
}

// part returns the part of n bytes from offset off on of any version of a value.
func part(name string, off, n int64) store.Part {
	return store.Part{Key: store.MustKey(name), Off: off, N: n}
}

func TestContinues(t *testing.T) {
	v := part("a", 5, 5)
	v.Version = store.MakeVersion("v")
	for i, c := range []struct {
		first, second store.Part
		want          bool
	}{
		{part("a", 0, 5), part("a", 5, 5), true}, {part("a", 0, 4), part("a", 5, 5), false}, {part("a", 0, 5), part("b", 5, 5), false},
		{part("a", 0, 5), v, false}, {part("a", 5, 5), part("a", 0, 5), false}, {store.Part{Data: []byte{}}, store.Part{Data: []byte{}}, false}, {part("a", 0, 0), part("a", 0, 0), true},
	} {
		if got := driver.Continues(c.second, c.first); got != c.want {
			t.Errorf("case %d: %t, want %t", i, got, c.want)
		}
	}
}

// locked is a store whose values cannot be read any more.
type locked struct{ store.Store }

func (locked) Get(context.Context, store.Key, store.Request, []byte) ([]byte, store.Info, error) {
	return nil, store.Info{}, fmt.Errorf("sending: %w", &driver.Unsent{Err: fs.ErrPermission})
}

// TestPartReaderRefused reads from a service that refuses. That is no refusal of the
// service that the value is written to.
func TestPartReaderRefused(t *testing.T) {
	ctx, s, key := t.Context(), memstore.New(), store.MustKey("a")
	if _, err := store.Write(ctx, s, store.Put(key, []byte("value")), store.Sync); err != nil {
		t.Fatal(err)
	}
	r, err := driver.NewPartReader(ctx, locked{s}, []store.Part{{Key: key, Off: 1, N: 3}})
	if err == nil {
		_, err = r.AppendPiece(ctx, nil, 3)
	}
	if !errors.Is(err, fs.ErrPermission) || driver.IsRefusal(err) {
		t.Errorf("%v, a refusal: %t", err, driver.IsRefusal(err))
	}
}
