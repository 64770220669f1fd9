// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// folding is a store that takes some names for others, as file systems do that ignore
// case, or whose separator is a backslash.
type folding struct {
	memtest.Store
	fold func(string) string
}

func (f *folding) key(k store.Key) store.Key { return store.MustKey(f.fold(k.String())) }

func (f *folding) Get(ctx context.Context, k store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return f.Store.Get(ctx, f.key(k), q, dst)
}

func (f *folding) Stat(ctx context.Context, k store.Key) (store.Info, error) {
	return f.Store.Stat(ctx, f.key(k))
}

func (f *folding) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPut || c.Op == store.OpPutIf || c.Op == store.OpDelete {
		c.Key = f.key(c.Key)
	}
	return f.Store.Write(ctx, c, d)
}

// without hides the powers that memstore has beyond those of folding.
type without struct{ f *folding }

func (w without) Get(ctx context.Context, k store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return w.f.Get(ctx, k, q, dst)
}
func (w without) Stat(ctx context.Context, k store.Key) (store.Info, error) { return w.f.Stat(ctx, k) }
func (w without) Can(op store.Op) bool {
	return op == store.OpPut || op == store.OpPutIf || op == store.OpDelete
}

func (w without) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !w.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return w.f.Write(ctx, c, d)
}

func (w without) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	if dir.IsRoot() {
		return w.f.List(ctx, dir, how)
	}
	return w.f.List(ctx, w.f.key(dir.MustKey("-")).Dir(), how)
}

// TestOneNameAtDestination copies nodes whose names become one at the destination. That
// is an error before anything is visible there or deleted here.
func TestOneNameAtDestination(t *testing.T) {
	composed := strings.NewReplacer("e\u0301", "é")
	for what, c := range map[string]struct {
		names []string
		fold  func(string) string
	}{
		"case":      {[]string{"A", "a"}, strings.ToLower},
		"a file":    {[]string{"Notes/x", "notes/x"}, strings.ToLower},
		"Unicode":   {[]string{"é", "e\u0301"}, composed.Replace},
		"backslash": {[]string{`a\b`, "a/b"}, func(s string) string { return strings.ReplaceAll(s, `\`, "/") }},
		"the other": {[]string{"A", "a"}, func(s string) string { return strings.ReplaceAll(s, "/a/", "/A/") }},
		"plain":     {[]string{"Notes/x", "notes/y"}, func(s string) string { return strings.ReplaceAll(s, "/notes/", "/Notes/") }},
		"one alone": {[]string{"A"}, strings.ToLower},
		"a chunk":   {[]string{"C.0.1", "c.0.1"}, func(s string) string { return strings.ReplaceAll(s, "c.0.1", "C.0.1") }},
	} {
		for name, do := range map[string]func(src, dst *zarr.Location) error{
			"copy": func(src, dst *zarr.Location) error { _, err := transfer.Copy(t.Context(), src, dst, nil); return err },
			"move": func(src, dst *zarr.Location) error { _, err := transfer.Move(t.Context(), src, dst, nil); return err },
			"sync": func(src, dst *zarr.Location) error { _, err := transfer.Sync(t.Context(), src, dst, nil); return err },
			"convert": func(src, dst *zarr.Location) error {
				_, err := convert.ConvertTo(t.Context(), src, dst, 2, nil)
				return err
			},
		} {
			files := what == "a file" || what == "plain" || what == "a chunk"
			if files && name == "sync" {
				continue // which copies no files of other programs
			}
			src := memtest.New()
			putText(t, src, "g/zarr.json", groupText)
			for i, n := range c.names {
				if files {
					putText(t, src, "g/"+n, n)
					continue
				}
				putText(t, src, "g/"+n+"/zarr.json", arrayText)
				putText(t, src, "g/"+n+"/c/0", strings.Repeat(string(rune('0'+i)), 3))
			}
			was := keysOf(t, src)
			to := without{&folding{memtest.New(), c.fold}}
			err := do(zarr.At(src, "g"), zarr.At(to, "h"))
			if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "rename one of the two") {
				t.Errorf("%s, %s: %v", what, name, err)
			}
			if is := keysOf(t, src); !slices.Equal(is, was) {
				t.Errorf("%s, %s: the source has %q, want %q", what, name, is, was)
			}
			for _, document := range []string{"h/zarr.json", "h/.zgroup"} {
				if _, err := to.Stat(t.Context(), store.MustKey(document)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s, %s: the copy is visible: %v", what, name, err)
				}
			}
		}
	}
}

// TestSyncToOneName adds a node whose name the destination takes for that of another one.
// The other one stays as it is.
func TestSyncToOneName(t *testing.T) {
	src := memtest.New()
	to := without{&folding{memtest.New(), func(s string) string { return strings.ReplaceAll(s, "/a/", "/A/") }}}
	putText(t, src, "g/zarr.json", groupText)
	putText(t, src, "g/A/zarr.json", arrayText)
	putText(t, src, "g/A/c/0", "111")
	for _, name := range []string{"A", "a"} {
		putText(t, src, "g/"+name+"/zarr.json", arrayText)
		putText(t, src, "g/"+name+"/c/0", strings.Repeat(name, 3))
		_, err := transfer.Sync(t.Context(), zarr.At(src, "g"), zarr.At(to, "h"), nil)
		if (name == "A") != (err == nil) || err != nil && !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, _, err := to.Get(t.Context(), store.MustKey("h/A/c/0"), store.Request{}, nil); string(got) != "AAA" || err != nil {
		t.Errorf("the chunk is %q, error %v", got, err)
	}
}

const (
	groupText = `{"zarr_format":3,"node_type":"group"}`
	arrayText = `{"zarr_format":3,"node_type":"array","shape":[3],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}`
)

func putText(t *testing.T, s store.Store, key, text string) {
	t.Helper()
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(text)), store.Sync); err != nil {
		t.Fatal(err)
	}
}

func keysOf(t *testing.T, s store.Store) (keys []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Name)
	}
	slices.Sort(keys)
	return keys
}

// bucket is a store that also lists names of objects that are no keys.
type bucket struct {
	memtest.Store
	strange []string
}

func (b bucket) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range b.Store.List(ctx, dir, how) {
			if !yield(e, err) {
				return
			}
		}
		for _, name := range b.strange {
			if rel, below := strings.CutPrefix(name, dir.String()+"/"); below && !yield(store.Entry{Name: rel}, nil) {
				return
			}
		}
	}
}

// TestStrangeObjects works on a bucket whose objects have names that lead elsewhere. All
// calls fail, nothing is deleted, and the destination has no node.
func TestStrangeObjects(t *testing.T) {
	for _, strange := range []string{"g/../../etc/x", "g//x", "g/./x", "g/a/..", "g/x\x00", "g/dir/", "g/__varve/.zarray", "g/a/__varve/0"} {
		for name, do := range map[string]func(src, dst *zarr.Location) error{
			"copy": func(src, dst *zarr.Location) error { _, err := transfer.Copy(t.Context(), src, dst, nil); return err },
			"move": func(src, dst *zarr.Location) error { _, err := transfer.Move(t.Context(), src, dst, nil); return err },
			"sync": func(src, dst *zarr.Location) error { _, err := transfer.Sync(t.Context(), src, dst, nil); return err },
			"convert": func(src, dst *zarr.Location) error {
				_, err := convert.ConvertTo(t.Context(), src, dst, 2, nil)
				return err
			},
			"delete tree": func(src, _ *zarr.Location) error {
				dir, err := store.ParsePath("g")
				if err != nil {
					return err
				}
				return store.DeleteTree(t.Context(), src.Store(), dir, store.TreeOrder{First: []string{"zarr.json"}}, store.Flush)
			},
			"delete": func(src, _ *zarr.Location) error {
				return src.Delete(t.Context(), &zarr.Options{Write: true, SingleWriter: true})
			},
		} {
			src := bucket{memtest.New(), []string{strange}}
			putText(t, src, "g/zarr.json", groupText)
			putText(t, src, "g/a/zarr.json", arrayText)
			putText(t, src, "g/a/c/0", "abc")
			was, to := keysOf(t, src.Store), memtest.New()
			var bad *store.UnusableError
			if err := do(zarr.At(src, "g"), zarr.At(to, "h")); !errors.As(err, &bad) {
				t.Errorf("%q, %s: %v", strange, name, err)
			}
			if is := keysOf(t, src.Store); !slices.Equal(is, was) {
				t.Errorf("%q, %s: the source has %q, want %q", strange, name, is, was)
			}
			for _, key := range keysOf(t, to) {
				if !strings.HasPrefix(key, "h/") || key == "h/zarr.json" || key == "h/.zgroup" {
					t.Errorf("%q, %s: the destination has %q", strange, name, key)
				}
			}
		}
	}
}
