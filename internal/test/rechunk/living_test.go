// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// living is an array that grows, is written to and read while it is rechunked. Row i has
// the values i+1, or negative ones of a writer.
type living struct {
	open func() store.Store // a store of its own for every program
	stop context.Context

	mu   sync.Mutex
	rows int64           // that were appended
	last map[int64]int32 // what was written to a row last
}

const width = 4

// grace is long enough for a write that other programs on the machine delay. After a
// vacuum that does not wait for it, its keys may be those of another grid.
const grace = time.Second / 2

// unknown stands for the outcome of a write that has failed.
const unknown = 0

func row(v int32) []int32 { return []int32{v, v, v, v} }

// array opens the array for one program.
func (l *living) array(t *testing.T) *zarr.Array {
	a, err := zarr.At(l.open(), "a").OpenArray(context.Background(), &zarr.Options{Write: true, Durability: store.Flush})
	if err != nil {
		t.Error(err)
	}
	return a
}

// appends adds rows one by one.
func (l *living) appends(t *testing.T) {
	a := l.array(t)
	for l.stop.Err() == nil {
		l.mu.Lock()
		n := l.rows
		l.mu.Unlock()
		if err := zarr.Append(context.Background(), a, 0, row(int32(n+1)), nil); err != nil {
			t.Errorf("append %d: %v", n, err)
			return
		}
		l.mu.Lock()
		l.rows++
		l.mu.Unlock()
	}
}

// writes writes to rows that exist.
func (l *living) writes(t *testing.T, step int64) {
	a := l.array(t)
	for k := int64(1); l.stop.Err() == nil; k++ {
		l.mu.Lock()
		n := l.rows
		l.mu.Unlock()
		at := (k * step) % n
		if at%2 != step%2 { // each writer has rows of its own
			continue
		}
		v := -int32(k)
		err := zarr.Write(context.Background(), a, selection.BoxOf(grid.Box{{Start: at, Stop: at + 1}, {Stop: width}}), row(v))
		// If this program was stopped for longer than the grace, the vacuum may have
		// deleted the record that tells what has happened. The write then fails; it is
		// not lost.
		if errors.Is(err, zarr.ErrConflict) {
			v = unknown
		} else if err != nil {
			t.Errorf("write row %d: %v", at, err)
			return
		}
		l.mu.Lock()
		l.last[at] = v
		l.mu.Unlock()
	}
}

// reads reads all rows: no one is torn, missing or another one.
func (l *living) reads(t *testing.T) {
	a := l.array(t)
	for l.stop.Err() == nil {
		got, err := zarr.Read[int32](context.Background(), a, nil)
		if err != nil {
			t.Errorf("read: %v", err)
			return
		}
		for i := range got.Shape[0] {
			v := got.Data[i*width]
			if v == 0 || v > 0 && int64(v) != i+1 || got.Data[i*width+width-1] != v {
				t.Errorf("row %d is %v", i, got.Data[i*width:][:width])
				return
			}
		}
		if err := a.Refresh(context.Background()); err != nil {
			t.Errorf("refresh: %v", err)
		}
	}
}

// rechunks compacts, regularizes and vacuums.
func (l *living) rechunks(t *testing.T) (done int) {
	a := l.array(t)
	for k := int64(2); l.stop.Err() == nil; k++ {
		var r rechunk.Request = rechunk.Compaction{UpTo: 1 + k%7, LeaveTail: k % 2}
		if k%3 == 0 {
			r = rechunk.Regularization{Chunk: []int64{1 + k%5, width}}
		}
		if k%3 == 1 {
			r = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(1, 1, 1), grid.Every(width)}}
		}
		report, err := rechunk.Do(context.Background(), a, r, nil)
		if err != nil && !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("%+v: %v", r, err)
			return done
		}
		if err == nil && report.Changed {
			done++
		}
		if _, err := rechunk.Vacuum(context.Background(), a, &rechunk.VacuumOptions{Grace: grace}); err != nil && !errors.Is(err, zarr.ErrConflict) {
			t.Errorf("vacuum: %v", err)
			return done
		}
	}
	return done
}

// TestLiving rechunks an array again and again while other programs append, write and
// read. In the end every row has what was written last.
func TestLiving(t *testing.T) {
	dir := t.TempDir()
	shared := memstore.New()
	for name, open := range map[string]func() store.Store{
		"files": func() store.Store {
			s, err := filestore.Open(filepath.Join(dir, "s"), &filestore.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		"locks":      func() store.Store { return shared },
		"conditions": func() store.Store { return fixture.Conditional(memstore.New()) },
	} {
		if name == "conditions" {
			one := open()
			open = func() store.Store { return one }
		}
		t.Run(name, func(t *testing.T) {
			first := open()
			spec := zarr.Spec{Shape: []int64{2, width}, Type: fixture.Edges(1).Type, Chunks: []grid.Cut{grid.Edges(1, 1), grid.Every(width)}}
			a, err := zarr.At(first, "a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, append(row(1), row(2)...))
			}
			if err != nil {
				t.Fatal(err)
			}
			stop, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			l := &living{open: open, stop: stop, rows: 2, last: map[int64]int32{}}
			var group sync.WaitGroup
			done := 0
			for _, work := range []func(){
				func() { l.appends(t) }, func() { l.writes(t, 3) }, func() { l.writes(t, 2) }, func() { l.reads(t) }, func() { l.reads(t) },
				func() { done = l.rechunks(t) },
			} {
				group.Go(work)
			}
			group.Wait()
			if done == 0 {
				t.Error("nothing was rechunked")
			}
			b := l.array(t)
			got, err := zarr.Read[int32](t.Context(), b, nil)
			if err != nil || got.Shape[0] != l.rows {
				t.Fatalf("%d rows (%v), want %d", got.Shape[0], err, l.rows)
			}
			for i := range l.rows {
				want, written := l.last[i]
				if v := got.Data[i*width]; written && v != want && want != unknown || !written && v != int32(i+1) {
					t.Errorf("row %d is %d, want %d (written: %t)", i, v, want, written)
				}
			}
			t.Logf("%d rechunks, %d rows, %d written", done, l.rows, len(l.last))
		})
	}
}
