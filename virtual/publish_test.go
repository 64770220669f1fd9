// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// line returns files of a line of numbers, in chunks of one.
func line(t *testing.T, s memtest.Store, n int) []*drawnFile {
	t.Helper()
	l := &layout{Rand: rand.New(rand.NewPCG(1, 1)), chunk: []int64{1}, names: []string{"time"}}
	var files []*drawnFile
	for i := range n {
		files = append(files, l.file(t, s, fmt.Sprintf("f%d", i), []int64{2}))
	}
	return files
}

// grown returns the manifest in a store with more files.
func grown(t *testing.T, s store.Store, files ...*drawnFile) *Manifest {
	t.Helper()
	path, err := store.ParsePath("m.vz")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), s, path)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Extend(t.Context(), m, "/m.vz")
	for _, f := range files {
		if err == nil {
			err = j.Add(t.Context(), f.part)
		}
	}
	if err == nil {
		m, err = j.Finish()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestTwoAppend lets two programs add files to one manifest at the same time: one of them
// is told, and adds its file again.
func TestTwoAppend(t *testing.T) {
	s := memtest.New()
	files := line(t, s, 3)
	joinAll(t, s, Join{Concat: "time"}, files[:1], rand.New(rand.NewPCG(1, 2)))
	one, two := grown(t, s, files[1]), grown(t, s, files[2])
	if err := one.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := two.Update(t.Context()); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("the second program: %v", err)
	}
	if err := grown(t, s, files[2]).Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	shape, got := readBack(t, s)
	if want, elements := concatenated(files, 0); !slices.Equal(shape, want) || !slices.Equal(got, elements) {
		t.Errorf("%v of shape %v, want %v", got, shape, elements)
	}
}

// TestPublishOrder lets each write of a publication fail, before or after it takes
// effect. The manifest is the old one or the new one, and the same publication can be
// repeated, or another one can follow.
func TestPublishOrder(t *testing.T) {
	broken := errors.New("broken")
	for fails := 0; ; fails++ {
		for _, after := range []bool{false, true} {
			s := memtest.New()
			files := line(t, s, 2)
			joinAll(t, s, Join{Concat: "time"}, files[:1], rand.New(rand.NewPCG(1, 2)))
			n, hit := 0, false
			hook := func(op stepping.Op, now bool) error {
				if op.Name != "Put" && op.Name != "PutIf" || now == after {
					return nil
				}
				if n++; n == fails+1 {
					hit = true
					return broken
				}
				return nil
			}
			h := stepping.Conditional(s, stepping.Hooks{
				Before: func(_ context.Context, op stepping.Op) error { return hook(op, true) },
				After:  func(op stepping.Op, err error) error { return errors.Join(err, hook(op, false)) },
			})
			m := grown(t, h, files[1])
			err := m.Update(t.Context())
			if !hit {
				if fails < 2 {
					t.Errorf("only %d writes", fails)
				}
				return
			}
			if !errors.Is(err, broken) {
				t.Errorf("write %d: %v", fails, err)
			}
			_, before := concatenated(files[:1], 0)
			_, all := concatenated(files, 0)
			if _, got := readBack(t, s); !slices.Equal(got, before) && !slices.Equal(got, all) {
				t.Errorf("write %d left %v", fails, got)
			}
			// The second try finds that the first one was published, or publishes.
			if err := m.Update(t.Context()); err != nil && !errors.Is(err, store.ErrConflict) {
				t.Errorf("write %d, again: %v", fails, err)
			}
			if _, got := readBack(t, s); !slices.Equal(got, all) {
				t.Errorf("write %d, again: %v, want %v", fails, got, all)
			}
		}
	}
}
