// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// requests notes the requests for chunks.
type requests struct {
	mu    sync.Mutex
	words []string
}

func (r *requests) note(key store.Key, format string, args ...any) {
	if key.Base() == "zarr.json" || strings.Contains(key.String(), "__varve") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.words = append(r.words, "c/"+key.Base()+" "+fmt.Sprintf(format, args...))
}

// taken returns the noted requests, by shard, and clears them.
func (r *requests) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	words := r.words
	r.words = nil
	slices.SortStableFunc(words, func(a, b string) int { return strings.Compare(a[:3], b[:3]) }) // requests to one shard stay in order
	return words
}

// far is an object store that notes its requests.
type far struct {
	stepping.ObjectStore
	*requests
}

func newFar() far {
	return far{stepping.Conditional(memtest.New(), stepping.Hooks{}), new(requests)}
}

// asked describes a requested range in short.
func asked(q store.Request) string {
	if q.Range == store.Whole() {
		return "whole"
	}
	return q.Range.String()
}

func (f far) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	f.note(key, "get %s", asked(q))
	return f.ObjectStore.Get(ctx, key, q, dst)
}

func (f far) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	f.note(key, "stat")
	return f.ObjectStore.Stat(ctx, key)
}

func (f far) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	switch c.Op {
	case store.OpPut:
		f.note(c.Key, "put %d", len(c.Value))
	case store.OpPutIf:
		f.note(c.Key, "put %d if", len(c.Value))
	case store.OpDelete:
		f.note(c.Key, "delete")
	case store.OpDeleteIf:
		f.note(c.Key, "delete if")
	}
	return f.ObjectStore.Write(ctx, c, d)
}

// requestCases are the operations of the table, on an array of ten bytes with inner
// chunks of two, in regular shards of four, and in listed ones of four, two and four.
// python is the number of requests of zarr-python 3.4.1.
var requestCases = []struct {
	name    string
	run     func(ctx context.Context, a *zarr.Array) error
	empty   bool // no chunk is stored at first
	regular string
	python  int
	listed  string
	python2 int
}{
	{"write all", writeBytes(0, 10), true, "c/0 put 40, c/1 put 40, c/2 put 38", 4, "c/0 put 40, c/1 put 22, c/2 put 40", 3},
	{"write all again", writeBytes(0, 10), false, "c/0 put 40, c/1 put 40, c/2 put 38", 4, "c/0 put 40, c/1 put 22, c/2 put 40", 3},
	{"read all", readBytes(0, 10), false, "c/0 get whole, c/1 get whole, c/2 get whole", 4, "c/0 get whole, c/1 get whole, c/2 get whole", 3},
	{"read the last shard", readBytes(8, 10), false, "c/2 get whole", 2, "c/2 get whole", 2},
	{"read [0:1]", readBytes(0, 1), false, "c/0 get whole", 2, "c/0 get whole", 2},
	{"read [1:3]", readBytes(1, 3), false, "c/0 get whole", 1, "c/0 get whole", 1},
	{"read [0:1] of a missing shard", readFill(0, 1), true, "c/0 get whole", 1, "c/0 get whole", 1},
	{"write [0:2]", writeBytes(0, 2), false, "c/0 get whole, c/0 put 40 if", 2, "c/0 get whole, c/0 put 40 if", 2},
	{"write [0:1]", writeBytes(0, 1), false, "c/0 get whole, c/0 put 40 if", 2, "c/0 get whole, c/0 put 40 if", 2},
	{"write [0:1] into a missing shard", writeBytes(0, 1), true, "c/0 get whole, c/0 put 38 if", 2, "c/0 get whole, c/0 put 38 if", 2},
	{"write [0:4] = fill value", func(ctx context.Context, a *zarr.Array) error {
		return zarr.Fill[uint8](ctx, a, selection.Box{{0, 4}}, 0)
	}, false, "c/0 delete", 1, "c/0 delete", 1},
	{"append 4", func(ctx context.Context, a *zarr.Array) error {
		return zarr.Append(ctx, a, 0, []uint8{11, 12, 13, 14}, nil)
	}, false, "c/2 get whole, c/2 put 40 if, c/3 put 38", 4, "c/3 put 40", 1},
	{"resize to 8", fixture.ResizeTo(8), false, "c/2 delete", 1, "c/2 stat, c/2 get whole, c/2 put 38 if", 0},
	{"resize to 7", fixture.ResizeTo(7), false, "c/1 stat, c/1 get whole, c/1 put 40 if, c/2 delete", 1, "c/2 stat, c/2 get whole, c/2 put 38 if", 0},
}

func writeBytes(from, to int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		data := make([]uint8, to-from)
		for i := range data {
			data[i] = uint8(from) + uint8(i) + 1
		}
		return zarr.Write(ctx, a, selection.Box{{from, to}}, data)
	}
}

func readBytes(from, to int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		b, err := zarr.Read[uint8](ctx, a, selection.Box{{from, to}})
		for i, v := range b.Data {
			if v != uint8(from)+uint8(i)+1 {
				return fmt.Errorf("element %d is %d", i, v)
			}
		}
		return err
	}
}

func readFill(from, to int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		b, err := zarr.Read[uint8](ctx, a, selection.Box{{from, to}})
		for i, v := range b.Data {
			if v != 0 {
				return fmt.Errorf("element %d is %d", i, v)
			}
		}
		return err
	}
}

// tenBytes returns an array of ten bytes in shards, opened by a single writer.
func tenBytes(t *testing.T, s store.Store, shards grid.Cut, empty bool) *zarr.Array {
	t.Helper()
	h := zarr.At(s, "")
	_, err := h.At("a").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{10}, Type: dtype.Uint8, Chunks: []grid.Cut{shards}, InnerChunks: grid.Chunks(2),
		Codecs: []metadata.Extension{codec.Bytes("")},
	}, nil)
	open := func() (*zarr.Array, error) {
		return h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true, SingleWriter: true, Concurrency: 1})
	}
	a, openErr := open()
	if err == nil && openErr == nil && !empty {
		err = writeBytes(0, 10)(t.Context(), a)
		a, openErr = open()
	}
	if err := errors.Join(err, openErr); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestShardRequests counts the requests to an object store, and compares them with those
// of zarr-python. Varve makes more only where it keeps elements that are cut off from
// reappearing.
func TestShardRequests(t *testing.T) {
	t.Logf("| operation | regular shards: Varve | zarr-python | listed shards: Varve | zarr-python |")
	for _, tt := range requestCases {
		row := "| " + tt.name + " |"
		for _, kind := range []struct {
			cut    grid.Cut
			want   string
			python int
		}{{grid.Every(4), tt.regular, tt.python}, {grid.Edges(4, 2, 4), tt.listed, tt.python2}} {
			s := newFar()
			a := tenBytes(t, s, kind.cut, tt.empty)
			s.taken()
			if err := tt.run(t.Context(), a); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			words := s.taken()
			if got := strings.Join(words, ", "); got != kind.want {
				t.Errorf("%s: %s\nwant %s", tt.name, got, kind.want)
			}
			if len(words) > kind.python && !strings.HasPrefix(tt.name, "resize") {
				t.Errorf("%s: %d requests, zarr-python has %d", tt.name, len(words), kind.python)
			}
			row += fmt.Sprintf(" %d: %s | %d |", len(words), strings.Join(words, ", "), kind.python)
		}
		t.Log(row)
	}
}

// largeShards returns a newly opened array of two shards of 4 MiB, of which the second
// is missing, with uncompressed inner chunks of 64 KiB.
func largeShards(t *testing.T, s store.Store, atStart bool, opt zarr.Options) *zarr.Array {
	t.Helper()
	h := zarr.At(s, "")
	a, err := h.At("a").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{2 << 20}, Type: dtype.Int32, Chunks: grid.Chunks(1 << 20), InnerChunks: grid.Chunks(16 << 10),
		Codecs: fixture.Plain(), IndexAtStart: atStart,
	}, &zarr.CreateOptions{Options: zarr.Options{SingleWriter: true}})
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.Box{{0, 1 << 20}}, fixture.Numbers(1, 1<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	opt.Write, opt.SingleWriter, opt.Concurrency = true, true, 1
	if a, err = h.At("a").OpenArray(t.Context(), &opt); err != nil {
		t.Fatal(err)
	}
	return a
}

// readInner reads one element of each of n inner chunks, step apart.
func readInner(first, step, n int64) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		const inner = 16 << 10
		b, err := zarr.Read[int32](ctx, a, selection.Basic{selection.Stepped(first*inner, (first+(n-1)*step)*inner+1, step*inner)})
		for i, v := range b.Data {
			if want := int32((first+int64(i)*step)*inner + 1); v != want && first < 64 {
				return fmt.Errorf("%d was read, want %d", v, want)
			}
		}
		return err
	}
}

// TestLargeShardRequests counts the requests of reads of large shards, with and without
// a cached index.
func TestLargeShardRequests(t *testing.T) {
	for _, tt := range []struct {
		name       string
		atStart    bool
		run        func(context.Context, *zarr.Array) error
		cold, warm string
	}{
		{"an inner chunk", false, readInner(3, 1, 1), "c/0 get the last 66564 bytes, c/0 get bytes [196608, 196608+65536)", "c/0 get bytes [196608, 196608+65536)"},
		{"the last inner chunk", false, readInner(63, 1, 1), "c/0 get the last 66564 bytes", "c/0 get bytes [4128768, 4128768+65536)"},
		{"inner chunks within the gap", false, readInner(3, 10, 3), "c/0 get the last 66564 bytes, c/0 get bytes [196608, 196608+1376256)", "c/0 get bytes [196608, 196608+1376256)"},
		{"inner chunks far from each other", false, readInner(0, 33, 2), "c/0 get the last 66564 bytes, c/0 get bytes [0, 0+65536), c/0 get bytes [2162688, 2162688+65536)", "c/0 get bytes [0, 0+65536), c/0 get bytes [2162688, 2162688+65536)"},
		{"half of it", false, readInner(0, 1, 32), "c/0 get the last 66564 bytes, c/0 get bytes [0, 0+2097152)", "c/0 get bytes [0, 0+2097152)"},
		{"all of it", false, readInner(0, 1, 64), "c/0 get whole", "c/0 get whole"},
		{"an inner chunk, index at the start", true, readInner(3, 1, 1), "c/0 get bytes [0, 0+1028), c/0 get bytes [197636, 197636+65536)", "c/0 get bytes [197636, 197636+65536)"},
		{"a missing shard", false, readInner(70, 1, 1), "c/1 get the last 66564 bytes", "c/1 get the last 66564 bytes"},
	} {
		s := newFar()
		a := largeShards(t, s, tt.atStart, zarr.Options{Shards: zarr.Shards{Order: codec.C}})
		for _, want := range []string{tt.cold, tt.warm} {
			s.taken()
			if err := tt.run(t.Context(), a); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			words := s.taken()
			if got := strings.Join(words, ", "); got != want {
				t.Errorf("%s: %s\nwant %s", tt.name, got, want)
			}
			t.Logf("| %s | %d: %s |", tt.name, len(words), strings.Join(words, ", "))
		}
	}
}
