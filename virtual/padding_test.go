// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// paddedFiles draws files that end within a chunk, along one axis.
func paddedFiles(t *testing.T, l *layout, s memtest.Store, axis, n int) []*drawnFile {
	t.Helper()
	shape := make([]int64, len(l.chunk))
	for i := range shape {
		shape[i] = 1 + l.Int64N(7)
	}
	var files []*drawnFile
	for i := range n {
		if shape[axis] = l.Int64N(9); i == 0 {
			shape[axis]++
		}
		files = append(files, l.file(t, s, fmt.Sprintf("f%d", i), slices.Clone(shape)))
	}
	return files
}

// copyJoined joins files into the manifest m.vz and copies their padded chunks. It adds
// those from split on later, in another way if second has one.
func copyJoined(t *testing.T, s store.Store, first, second Join, files []*drawnFile, split int) error {
	t.Helper()
	ctx := t.Context()
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCollector("/m.vz")
	if err != nil {
		t.Fatal(err)
	}
	c.copyBytes = 64
	j, err := NewJoined(first)
	if err != nil {
		t.Fatal(err)
	}
	store := func(write func(m *Manifest) error) error {
		m, err := j.Finish()
		if err != nil {
			return err
		}
		if chunks, _ := m.Padded(); chunks > 0 {
			if err := write(m); !errors.Is(err, errUncopied) {
				t.Errorf("stored with %d padded chunks: %v", chunks, err)
			}
		}
		if err := c.CopyPadded(ctx, m, s, path); err != nil {
			return err
		}
		return write(m)
	}
	create := func(m *Manifest) error { return m.Create(ctx, s, path) }
	update := func(m *Manifest) error { return m.Update(ctx) }
	for i, f := range files {
		if i == split {
			if err := store(create); err != nil {
				return err
			}
			m, err := Open(ctx, s, path)
			if err != nil {
				return err
			}
			m.Join.CopyPadded = second.CopyPadded
			if j, err = Extend(ctx, m, "/m.vz"); err != nil {
				return err
			}
		}
		if err := j.Add(ctx, f.part); err != nil {
			return err
		}
	}
	if len(files) > split {
		return store(update)
	}
	return store(create)
}

// TestCopyPadded joins drawn files that end within chunks, along any axis, compressed or
// not, some of them later or after an experiment. All programs can read the result: the
// grid has no encoded lengths.
func TestCopyPadded(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		rank := 1 + r.IntN(3)
		axis := r.IntN(rank)
		l := &layout{Rand: r, plain: r.IntN(3) == 0}
		for i := range rank {
			l.chunk, l.names = append(l.chunk, 1+r.Int64N(4)), append(l.names, fmt.Sprintf("d%d", i))
		}
		s := memtest.New()
		files := paddedFiles(t, l, s, axis, 1+r.IntN(5))
		how, split := Join{Concat: l.names[axis], CopyPadded: true}, 1+r.IntN(5)
		first := how
		if split < len(files) && r.IntN(2) == 0 {
			first = Join{Concat: how.Concat, Padded: true}
		}
		if err := copyJoined(t, s, first, how, files, split); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		want, elements := concatenated(files, axis)
		if got, found := readBack(t, s); !slices.Equal(got, want) || !slices.Equal(found, elements) {
			t.Fatalf("seed %d: the shape %v, want %v, or other elements", seed, got, want)
		}
	}
}

// TestCopyOrder lets each write of a manifest with copied chunks fail, before or after it
// takes effect, and repeats the whole. The manifest is the old one or the new one.
func TestCopyOrder(t *testing.T) {
	broken := errors.New("broken")
	how := Join{Concat: "time", CopyPadded: true}
	for fails := 1; ; fails++ {
		for _, after := range []bool{false, true} {
			s := memtest.New()
			l := &layout{Rand: rand.New(rand.NewPCG(1, 1)), chunk: []int64{3, 2}, names: []string{"time", "x"}}
			var files []*drawnFile
			for i := range 3 {
				files = append(files, l.file(t, s, fmt.Sprintf("f%d", i), []int64{5, 9}))
			}
			if err := copyJoined(t, s, how, how, files[:2], 2); err != nil {
				t.Fatal(err)
			}
			n, last := 0, ""
			hook := func(op stepping.Op, now bool) error {
				if op.Name != "Put" && op.Name != "PutIf" || now == after {
					return nil
				}
				if n++; n == fails {
					last = op.Key.String()
					return broken
				}
				return nil
			}
			h := stepping.Conditional(s, stepping.Hooks{
				Before: func(_ context.Context, op stepping.Op) error { return hook(op, true) },
				After:  func(op stepping.Op, err error) error { return errors.Join(err, hook(op, false)) },
			})
			add := func(to store.Store) error {
				m := grown(t, to, files[2])
				c, err := NewCollector("/m.vz")
				if err == nil {
					c.copyBytes = 64
					err = c.CopyPadded(t.Context(), m, to, m.folder.path)
				}
				if err == nil {
					err = m.Update(t.Context())
				}
				return err
			}
			err := add(h)
			if last == "" {
				if fails < 5 {
					t.Errorf("only %d writes", fails)
				}
				return
			}
			if !errors.Is(err, broken) {
				t.Errorf("write %d, %s: %v", fails, last, err)
			}
			_, before := concatenated(files[:2], 0)
			_, all := concatenated(files, 0)
			_, got := readBack(t, s)
			if published := after && last == "m.vz/manifest.json"; published && !slices.Equal(got, all) || !published && !slices.Equal(got, before) {
				t.Errorf("write %d, %s left %v", fails, last, got)
			} else if !published {
				if err := add(s); err != nil {
					t.Error(err)
				}
				if _, got := readBack(t, s); !slices.Equal(got, all) {
					t.Errorf("write %d, again: %v, want %v", fails, got, all)
				}
			}
		}
	}
}

// TestCopyChanged copies chunks of a source that has changed or has gone.
func TestCopyChanged(t *testing.T) {
	how := Join{Concat: "time", CopyPadded: true}
	for _, gone := range []bool{false, true} {
		s := memtest.New()
		l := &layout{Rand: rand.New(rand.NewPCG(1, 1)), chunk: []int64{3, 2}, names: []string{"time", "x"}}
		files := []*drawnFile{l.file(t, s, "f0", []int64{5, 9}), l.file(t, s, "f1", []int64{5, 9})}
		key := store.MustKey("f0")
		if gone {
			if _, err := s.Write(t.Context(), store.Delete(key), store.Sync); err != nil {
				t.Fatal(err)
			}
		} else if _, err := s.Write(t.Context(), store.Put(key, make([]byte, 1000)), store.Flush); err != nil {
			t.Fatal(err)
		}
		if err := copyJoined(t, s, how, how, files, 2); !errors.Is(err, errSourceChanged) {
			t.Errorf("gone %v: %v", gone, err)
		}
		if found, err := store.Exists(t.Context(), s, store.MustKey("m.vz/manifest.json")); found || err != nil {
			t.Errorf("a manifest is there: %v", err)
		}
	}
}

// TestExtendReadsTheEnd adds to an array of many blocks whose last chunks have padding:
// only the last blocks are read.
func TestExtendReadsTheEnd(t *testing.T) {
	const planes = 3000
	s, path := storedWith(t, 84*planes, 2*planes-1, []int64{2, 1, 1})
	m, err := Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	m.Join.Concat = "time"
	a, blocks := m.Arrays[0], len(m.Arrays[0].blocks)
	if _, err := Extend(t.Context(), m, "/m.vz"); err != nil {
		t.Fatal(err)
	}
	if blocks != 4 || len(a.blocks) != 3 || a.stored()+int64(a.refs.len()) != 84*planes {
		t.Errorf("%d of %d blocks stay, and %d references are read", len(a.blocks), blocks, a.refs.len())
	}
	if r, _, err := m.reference(t.Context(), a, 84*planes-1); err != nil || r.source != planes {
		t.Errorf("the last reference is %v (%v)", r, err)
	}
}

// TestCopyBudget copies many chunks with a budget for one: they are read one at a time.
func TestCopyBudget(t *testing.T) {
	s := memtest.New()
	l := &layout{Rand: rand.New(rand.NewPCG(1, 1)), chunk: []int64{3, 2}, names: []string{"time", "x"}}
	files := []*drawnFile{l.file(t, s, "f0", []int64{5, 99}), l.file(t, s, "f1", []int64{5, 99})}
	var reading, most atomic.Int64
	h := stepping.Conditional(s, stepping.Hooks{
		Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Get" {
				most.Store(max(most.Load(), reading.Add(1)))
				runtime.Gosched()
			}
			return nil
		},
		After: func(op stepping.Op, err error) error {
			if op.Name == "Get" {
				reading.Add(-1)
			}
			return err
		},
	})
	j, err := NewJoined(Join{Concat: "time", CopyPadded: true})
	for _, f := range files {
		if err == nil {
			err = j.Add(t.Context(), f.part)
		}
	}
	var m *Manifest
	if err == nil {
		m, err = j.Finish()
	}
	c, collectorErr := NewCollector("/m.vz")
	path, pathErr := store.ParsePath("m.vz")
	if err := errors.Join(err, collectorErr, pathErr); err != nil {
		t.Fatal(err)
	}
	c.Budget = 4 * 4 * 3 * 2
	if err := c.CopyPadded(t.Context(), m, h, path); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1 {
		t.Errorf("%d chunks are read at once", most.Load())
	}
}
