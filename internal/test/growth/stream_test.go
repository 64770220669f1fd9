// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/observed"
)

// stack is the spec of an empty stack of planes of 4×6 elements. Its shards have 8
// planes of 4×3 elements, and its inner chunks 2 planes of 2×3.
func stack() zarr.Spec {
	return zarr.Spec{
		Shape: []int64{0, 4, 6}, Type: dtype.Int32, Codecs: fixture.Plain(),
		Chunks: grid.Chunks(8, 4, 3), InnerChunks: grid.Chunks(2, 2, 3),
	}
}

// listedStack is a stack with listed edges: shards of the given numbers of planes, and
// further ones at the end.
func listedStack(planes ...int64) zarr.Spec {
	s := stack()
	for _, n := range planes {
		s.Shape[0] += n
	}
	s.Chunks[0] = grid.Edges(planes...)
	return s
}

const planeLen = 24

// streaming creates an array with the numbers from 1 on, and opens a stream to it.
func streaming(t *testing.T, s store.Store, spec zarr.Spec, opt *zarr.StreamOptions) (*zarr.Array, *zarr.Stream) {
	t.Helper()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, int32(fixture.Count(spec.Shape))))
	}
	if err != nil {
		t.Fatal(err)
	}
	if counted, ok := s.(*fixture.Tally); ok {
		counted.Taken()
	}
	stream, err := a.Stream(t.Context(), 0, opt)
	if err != nil {
		t.Fatal(err)
	}
	return a, stream
}

// nextPlanes returns n planes that continue the numbers of the stream.
func nextPlanes(s *zarr.Stream, n int32) []int32 {
	return fixture.Numbers(int32(s.Stats().Written)*planeLen+1, n*planeLen)
}

// feed writes total planes, atOnce at a time.
func feed(t *testing.T, s *zarr.Stream, total, atOnce int32) {
	t.Helper()
	for ; total > 0; total -= atOnce {
		if err := zarr.WritePlanes(t.Context(), s, nextPlanes(s, min(total, atOnce))); err != nil {
			t.Fatal(err)
		}
	}
}

// wantNumbers expects the array to have the numbers from 1 on, in the given number of
// planes.
func wantNumbers(t *testing.T, s store.Store, planes int32) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(b.Data, fixture.Numbers(1, planes*planeLen)) {
		t.Fatalf("%v of shape %v, %v; want %d planes", b.Data, b.Shape, err, planes)
	}
	return a
}

// TestStreamOperations counts the requests of streams. Every shard is put once, except
// where the case explains more.
func TestStreamOperations(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spec   zarr.Spec
		opt    zarr.StreamOptions
		planes int32
		atOnce int32
		ops    string
		stats  zarr.StreamStats
	}{
		{"plane by plane", stack(), zarr.StreamOptions{}, 16, 1,
			"4 get document, 2 get journal, 2 lock, 2 publish document, 4 put chunk", zarr.StreamStats{Publications: 2}},
		{"all at once", stack(), zarr.StreamOptions{}, 16, 16,
			"2 get document, 1 get journal, 1 lock, 1 publish document, 4 put chunk", zarr.StreamStats{Publications: 1}},
		{"seldom", stack(), zarr.StreamOptions{Every: 16}, 16, 1,
			"2 get document, 1 get journal, 1 lock, 1 publish document, 4 put chunk", zarr.StreamStats{Publications: 1}},
		{"within shards", stack(), zarr.StreamOptions{Every: 4}, 16, 1,
			"8 get document, 4 get journal, 4 lock, 4 open chunk, 4 publish chunk, 4 publish document, 4 put chunk", zarr.StreamStats{Publications: 4}},
		{"to listed edges", listedStack(8), zarr.StreamOptions{}, 16, 1,
			"4 get document, 2 get journal, 2 lock, 2 publish document, 4 put chunk", zarr.StreamStats{Publications: 2}},
		{"without room", stack(), zarr.StreamOptions{Budget: 8 * planeLen * 4}, 8, 1,
			"4 get document, 2 get journal, 2 lock, 2 open chunk, 2 publish chunk, 2 publish document, 2 put chunk", zarr.StreamStats{Publications: 2, Early: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fixture.NewTally()
			a, stream := streaming(t, s, tt.spec, &tt.opt)
			s.Taken()
			feed(t, stream, tt.planes, tt.atOnce)
			stats := stream.Stats()
			stats.Held, stats.Peak = 0, 0
			tt.stats.Written, tt.stats.Published = a.Shape()[0], a.Shape()[0]
			if ops, _, _ := s.Taken(); ops != tt.ops || stats != tt.stats {
				t.Errorf("asks for %s (%+v), want %s (%+v)", ops, stats, tt.ops, tt.stats)
			}
			wantNumbers(t, s, int32(a.Shape()[0]))
			if stream.Stats().Published != stream.Stats().Written || stream.Stats().Written != a.Shape()[0] {
				t.Errorf("published %d, next %d of %v", stream.Stats().Published, stream.Stats().Written, a.Shape())
			}
		})
	}
}

// TestStreamContinues closes a stream within a layer of a shard and opens another one.
// The shard is read once and stored once more, and the second stream fills its missing
// planes.
func TestStreamContinues(t *testing.T) {
	s := fixture.NewTally()
	_, stream := streaming(t, s, stack(), nil)
	feed(t, stream, 11, 2)
	if err := stream.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := wantNumbers(t, s, 11)
	s.Taken()
	stream, err := a.Stream(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	feed(t, stream, 8, 3)
	if ops, chunks, _ := s.Taken(); ops != "2 get document, 1 get journal, 1 lock, 2 open chunk, 2 publish chunk, 1 publish document, 1 stat document" || chunks != "a/c/1/0/0 a/c/1/0/1" {
		t.Errorf("%s (%s)", ops, chunks)
	}
	wantNumbers(t, s, 16)
	if stream.Stats().Published != 16 || stream.Stats().Written != 19 {
		t.Errorf("published %d, next %d", stream.Stats().Published, stream.Stats().Written)
	}
	if err := stream.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, s, 19)
}

// TestStreamGrowth streams to listed edges. The policy continues across publications.
// The last edge ends at the last plane, unless a checkpoint has published a longer one.
func TestStreamGrowth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		spec   zarr.Spec
		opt    zarr.StreamOptions
		planes []int32 // between checkpoints
		after  string
	}{
		{"the last edge", listedStack(6), zarr.StreamOptions{}, []int32{14}, "[[6, 3], 2]"},
		{"edges of a length", listedStack(6), zarr.StreamOptions{Every: 4}, []int32{14}, "[6, [4, 3], 2]"},
		{"a checkpoint within", listedStack(6), zarr.StreamOptions{Every: 4}, []int32{5, 2}, "[6, [4, 2]]"},
		{"fixed", listedStack(6), zarr.StreamOptions{Grow: grid.Fixed(2), Every: 4}, []int32{9}, "[6, [2, 5]]"},
		{"a pattern", listedStack(6), zarr.StreamOptions{Grow: grid.Pattern(2, 4)}, []int32{3, 9, 2}, "[6, 2, 4, 2, 4, 2]"},
		{"a plan", listedStack(6), zarr.StreamOptions{Grow: grid.Preplanned(grid.Run{Length: 4, Count: 5})}, []int32{7}, "[6, [4, 5]]"},
		{"rounded up", listedStack(6), zarr.StreamOptions{RoundUp: true}, []int32{9}, "[[6, 2], 4]"},
		{"from nothing", fixture.Within(listedStack(8), 0, 4, 6), zarr.StreamOptions{}, []int32{3}, "[8]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, total := memtest.New(), int32(tt.spec.Shape[0])
			_, stream := streaming(t, s, tt.spec, &tt.opt)
			for i, n := range tt.planes {
				total += n
				feed(t, stream, n, 1)
				if i < len(tt.planes)-1 {
					if err := stream.Checkpoint(t.Context()); err != nil {
						t.Fatal(err)
					}
					wantNumbers(t, s, total)
				}
			}
			if err := stream.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			a := wantNumbers(t, s, total)
			if got, want := string(a.Metadata().ChunkGrid.Configuration), fixture.List(tt.after+", 4, 3"); !sameJSON(got, want) {
				t.Errorf("the grid %s is stored, want %s", got, want)
			}
		})
	}
}

// TestStreamLastChunk closes a stream whose last shard would not consist of whole inner
// chunks. This is refused, and no elements are lost.
func TestStreamLastChunk(t *testing.T) {
	s := memtest.New()
	_, stream := streaming(t, s, listedStack(8), nil)
	feed(t, stream, 11, 4)
	wantNumbers(t, s, 16)
	fixture.Expect(t, stream.Close(t.Context()), zarr.ErrInvalidArgument, "invalid-argument", "3 planes", "2 or 4 would do", "RoundUp", "Checkpoint")
	wantNumbers(t, s, 16)
	if err := stream.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := wantNumbers(t, s, 19)
	if got := string(a.Metadata().ChunkGrid.Configuration); !sameJSON(got, fixture.List("[[8, 3]], 4, 3")) {
		t.Errorf("the grid %s is stored", got)
	}
	if err := stream.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	fixture.Expect(t, stream.Checkpoint(t.Context()), zarr.ErrInvalidArgument, "invalid-argument", "closed")
}

// TestStreamRefused opens streams and writes planes that are refused.
func TestStreamRefused(t *testing.T) {
	ctx := t.Context()
	for _, tt := range []struct {
		name   string
		spec   zarr.Spec
		axis   int
		opt    zarr.StreamOptions
		target error
		kind   zarr.Kind
		words  []string
	}{
		{"an axis that is not there", stack(), 3, zarr.StreamOptions{}, zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 3"}},
		{"another shape", stack(), 0, zarr.StreamOptions{Expect: []int64{1, 4, 6}}, zarr.ErrConflict, "conflict", []string{"[1 4 6]"}},
		{"a negative number", stack(), 0, zarr.StreamOptions{Every: -1}, zarr.ErrInvalidArgument, "invalid-argument", []string{"-1"}},
		{"a policy on a regular axis", stack(), 0, zarr.StreamOptions{Grow: grid.Fixed(8)}, zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "unlock"}},
		{"edges that are not whole", listedStack(8), 0, zarr.StreamOptions{Every: 3}, zarr.ErrInvalidArgument, "invalid-argument", []string{"2 or 4 would do"}},
		{"a policy that is not whole", listedStack(8), 0, zarr.StreamOptions{Grow: grid.Fixed(5)}, zarr.ErrInvalidArgument, "invalid-argument", []string{"4 or 6 would do"}},
		{"planes without elements", fixture.Within(stack(), 0, 0, 6), 0, zarr.StreamOptions{}, zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0", "elements"}},
		{"planes that are too large", fixture.Within(stack(), 0, 1<<40, 1<<40), 0, zarr.StreamOptions{}, zarr.ErrInvalidArgument, "invalid-argument", []string{"axis 0"}},
		{"no room behind", fixture.Within(stack(), 1<<63-1, 4, 6), 0, zarr.StreamOptions{}, zarr.ErrOverflow, "overflow", []string{"axis 0"}},
		{"a chunk that is too large", fixture.Every(0, 1<<40), 0, zarr.StreamOptions{}, zarr.ErrLimit, "limit", []string{"Limits.Chunk"}},
		{"no room for a chunk", fixture.Within(stack(), 1<<63-2, 4, 6), 0, zarr.StreamOptions{}, zarr.ErrOverflow, "overflow", []string{"axis 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, tt.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Stream(ctx, tt.axis, &tt.opt)
			fixture.Expect(t, err, tt.target, tt.kind, tt.words...)
		})
	}
	s := memtest.New()
	a, stream := streaming(t, s, stack(), nil)
	fixture.Expect(t, zarr.WritePlanes(ctx, stream, make([]int32, planeLen+1)), zarr.ErrInvalidArgument, "invalid-argument", "100 bytes", "96 bytes")
	fixture.Expect(t, zarr.WritePlanes(ctx, stream, make([]int16, planeLen)), zarr.ErrInvalidArgument, "invalid-argument", "int32", "int16")
	if stream.Stats().Written != 0 || stream.Stats().Held != 0 {
		t.Errorf("next %d, %+v", stream.Stats().Written, stream.Stats())
	}
	reader, err := zarr.At(s, "a").OpenArray(ctx, nil)
	if err == nil {
		_, err = reader.Stream(ctx, 0, nil)
	}
	fixture.Expect(t, err, zarr.ErrReadOnly, "permission")
	if _, err := a.Stream(ctx, -3, nil); err != nil {
		t.Errorf("a negative axis: %v", err)
	}
}

// TestStreamConflict changes the array while a stream is open. The stream ends with a
// conflict that names the reason, and publishes nothing.
func TestStreamConflict(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(ctx context.Context, s store.Store, a *zarr.Array) error
		says string
	}{
		{"another stream", func(ctx context.Context, s store.Store, a *zarr.Array) error {
			other, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			stream, err := other.Stream(ctx, 0, nil)
			if err != nil {
				return err
			}
			return errors.Join(zarr.WritePlanes(ctx, stream, fixture.Numbers(1, 3*planeLen)), stream.Close(ctx))
		}, "the shape became [3 4 6], it was [0 4 6]"},
		{"another axis", func(ctx context.Context, _ store.Store, a *zarr.Array) error {
			return a.Resize(ctx, []int64{0, 4, 7}, nil)
		}, "the shape became [0 4 7]"},
		{"unlocked", func(ctx context.Context, _ store.Store, a *zarr.Array) error { return a.MakeRectilinear(ctx, nil) }, "other chunks"},
		{"replaced", func(ctx context.Context, s store.Store, _ *zarr.Array) error {
			spec := stack()
			spec.InnerChunks[1] = grid.Every(4)
			_, err := zarr.At(s, "a").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true})
			return err
		}, "replaced"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), memtest.New()
			a, stream := streaming(t, s, stack(), nil)
			feed(t, stream, 7, 1)
			if err := tt.do(ctx, s, a); err != nil {
				t.Fatal(err)
			}
			before, _, err := s.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				fixture.Expect(t, zarr.WritePlanes(ctx, stream, fixture.Numbers(1, 2*planeLen)), zarr.ErrConflict, "conflict", tt.says, "axis 0", "open a new stream")
				fixture.Expect(t, stream.Close(ctx), zarr.ErrConflict, "conflict")
			}
			after, _, err := s.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
			if err != nil || !slices.Equal(before, after) {
				t.Errorf("the document became %s, %v", after, err)
			}
		})
	}
}

// TestStreamRetry fails every operation of a stream once. The stream keeps what was
// written before, and continues with the plane that Next returns.
func TestStreamRetry(t *testing.T) {
	broken := errors.New("broken")
	for n := 0; ; n++ {
		var operation atomic.Int64
		s := memtest.New()
		operation.Store(-1000)
		hooks := stepping.Hooks{Before: func(context.Context, stepping.Op) error {
			if operation.Add(1)-1 == int64(n) {
				return broken
			}
			return nil
		}}
		_, stream := streaming(t, stepping.Conditional(s, hooks), stack(), &zarr.StreamOptions{Budget: 5 * planeLen * 4})
		operation.Store(0)
		failed := 0
		for stream.Stats().Written < 21 {
			if err := zarr.WritePlanes(t.Context(), stream, nextPlanes(stream, min(3, 21-int32(stream.Stats().Written)))); err != nil {
				if failed++; failed > 1 || !errors.Is(err, broken) {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
		}
		for stream.Stats().Published < 21 {
			if err := stream.Close(t.Context()); err != nil {
				if failed++; failed > 1 || !errors.Is(err, broken) {
					t.Fatalf("operation %d: %v", n, err)
				}
			}
		}
		wantNumbers(t, s, 21)
		if operation.Load() <= int64(n) {
			if n < 20 {
				t.Errorf("only %d operations were tried", n)
			}
			return
		}
	}
}

// TestStreamInnerGrid streams to shards whose inner chunks have several lengths.
func TestStreamInnerGrid(t *testing.T) {
	for _, spec := range []zarr.Spec{
		{Shape: []int64{0, 4, 6}, Chunks: grid.Chunks(8, 4, 3),
			InnerChunks: []grid.Cut{grid.Edges(1, 3, 4), grid.Edges(2, 2), grid.Edges(1, 2)}},
		{Shape: []int64{0, 4, 6}, Chunks: grid.Chunks(8, 4, 3),
			InnerChunks: grid.Chunks(3, 3, 3)},
		{Shape: []int64{0, 4, 6}, Chunks: []grid.Cut{grid.Edges(8), grid.Every(4), grid.Every(3)},
			InnerChunks: grid.Chunks(3, 3, 3)},
	} {
		for _, strategy := range []codec.Strategy{codec.Rewrite, codec.Append} {
			spec.Type = dtype.Int32
			opt := zarr.Options{Write: true, Experimental: zarr.Experimental{InnerChunks: true}, Shards: zarr.Shards{Strategy: strategy}}
			a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), spec, &zarr.CreateOptions{Options: opt})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				stream, err := a.Stream(t.Context(), 0, &zarr.StreamOptions{Every: 16, Grow: grid.AppendOne()})
				if err != nil {
					t.Fatal(err)
				}
				feed(t, stream, 21, 1)
				if err := stream.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			b, err := zarr.Read[int32](t.Context(), a, nil)
			if err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 42*planeLen)) {
				t.Errorf("%v, %v", b.Shape, err)
			}
		}
	}
}

// TestConcurrentStreams lets several programs stream to one array. Each opens a new
// stream after a conflict. The rows of each stream are there once, and contiguous.
func TestConcurrentStreams(t *testing.T) {
	const writers, batches, rows = 4, 12, 3
	for name, open := range map[string]func() store.Store{
		"with locks": func() store.Store { return memtest.New() },
		"without":    func() store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := open()
			if _, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.ShardsOf8(0), nil); err != nil {
				t.Fatal(err)
			}
			var all errgroup.Group
			var conflicts atomic.Int64
			for w := range int32(writers) {
				all.Go(func() error {
					for b := range int32(batches) {
						for {
							err := streamOnce(t.Context(), s, fixture.Numbers(1000*w+rows*b+1, rows))
							if !errors.Is(err, zarr.ErrConflict) {
								if err != nil {
									return err
								}
								break
							}
							conflicts.Add(1)
						}
					}
					return nil
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			a, err := zarr.At(s, "a").OpenArray(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := zarr.Read[int32](t.Context(), a, nil)
			if err != nil || len(b.Data) != writers*batches*rows {
				t.Fatalf("%d rows, %v", len(b.Data), err)
			}
			next := map[int32]int32{}
			for i := 0; i < len(b.Data); i += rows {
				w := b.Data[i] / 1000
				if want := fixture.Numbers(1000*w+next[w]+1, rows); !slices.Equal(b.Data[i:i+rows], want) {
					t.Fatalf("rows %d on are %v, want %v", i, b.Data[i:i+rows], want)
				}
				next[w] += rows
			}
			t.Logf("%d conflicts", conflicts.Load())
		})
	}
}

// streamOnce is a program that opens a stream, writes and closes it.
func streamOnce(ctx context.Context, s store.Store, rows []int32) error {
	a, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	stream, err := a.Stream(ctx, 0, &zarr.StreamOptions{Every: 1000}) // publish once, at the end
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := zarr.WritePlanes(ctx, stream, []int32{row}); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return stream.Close(ctx)
}

// spaced is a store that takes one write of a key a second.
type spaced struct{ memtest.Store }

func (spaced) Traits() store.Traits { return store.Traits{WriteInterval: time.Second} }

func (spaced) CheckKey(store.Key) error { return nil }

// TestStreamInterval writes a plane, which fills a chunk, every 100 milliseconds. They
// are published together at the interval of the options, or of the store.
func TestStreamInterval(t *testing.T) {
	for _, tt := range []struct {
		name         string
		store        store.Store
		opt          zarr.StreamOptions
		publications int64
	}{
		{"no interval", memtest.New(), zarr.StreamOptions{}, 25},
		{"of the options", memtest.New(), zarr.StreamOptions{Interval: 500 * time.Millisecond}, 6},
		{"of the store", spaced{memtest.New()}, zarr.StreamOptions{}, 4},
		{"below wrappers", observed.New(spaced{memtest.New()}, new(observe.Counter)), zarr.StreamOptions{}, 4},
		{"within chunks", spaced{memtest.New()}, zarr.StreamOptions{Every: 2}, 4},
		{"none for this stream", spaced{memtest.New()}, zarr.StreamOptions{Interval: -1}, 25},
		{"beyond the budget", spaced{memtest.New()}, zarr.StreamOptions{Budget: 3 * planeLen * 4}, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spec := stack()
				spec.Chunks, spec.InnerChunks = grid.Chunks(1, 4, 6), nil
				if tt.opt.Every > 0 {
					spec.Chunks[0] = grid.Every(100)
				}
				_, s := streaming(t, tt.store, spec, &tt.opt)
				for range 25 {
					feed(t, s, 1, 1)
					time.Sleep(100 * time.Millisecond)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := s.Stats().Publications; got != tt.publications {
					t.Errorf("%d publications, want %d", got, tt.publications)
				}
				wantNumbers(t, tt.store, 25)
			})
		})
	}
}

// TestStreamDue fills chunks within the interval, and continues with a plane an hour.
// What was full is published by the first call after the interval, and what is not full
// stays held.
func TestStreamDue(t *testing.T) {
	for _, inner := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			spec := stack()
			spec.Chunks[0] = grid.Every(24)
			if !inner {
				spec.InnerChunks = nil
			}
			s := fixture.NewTally()
			_, stream := streaming(t, s, spec, &zarr.StreamOptions{Interval: time.Second})
			published := func(want int64) {
				t.Helper()
				if got := stream.Stats().Published; got != want {
					t.Errorf("inner chunks %t: %d planes are published, want %d", inner, got, want)
				}
			}
			feed(t, stream, 24, 1)
			published(24)
			feed(t, stream, 25, 1)
			published(24)
			time.Sleep(time.Hour)
			feed(t, stream, 1, 1)
			published(48)
			feed(t, stream, 21, 1)
			published(48)
			time.Sleep(time.Hour)
			feed(t, stream, 1, 1) // 72, at the end of a chunk
			published(72)
			feed(t, stream, 3, 3)
			if err := stream.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			published(75)
			if ops, _, _ := s.Taken(); !strings.Contains(ops, " 8 put chunk") { // each once: two beside each other
				t.Errorf("inner chunks %t: %s", inner, ops)
			}
			wantNumbers(t, s, 75)
		})
	}
}

// TestStreamDueFirst fills the budget within the interval. What is due is published, and
// no shard is stored twice for it.
func TestStreamDueFirst(t *testing.T) {
	for _, interval := range []time.Duration{0, time.Hour} {
		s := fixture.NewTally()
		_, stream := streaming(t, s, stack(), &zarr.StreamOptions{Interval: interval, Budget: 15 * planeLen * 4})
		feed(t, stream, 64, 1)
		if err := stream.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ops, _, _ := s.Taken(); !strings.Contains(ops, " 16 put chunk") || strings.Contains(ops, "open chunk") || stream.Stats().Early > 0 {
			t.Errorf("interval %v: %s, %+v", interval, ops, stream.Stats())
		}
		wantNumbers(t, s, 64)
	}
}
