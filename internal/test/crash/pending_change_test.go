// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// TestPendingChange fails an append to two arrays directly before and directly after it
// is decided, and checks the PendingChange of both.
func TestPendingChange(t *testing.T) {
	for _, format := range []int{2, 3} {
		for _, decided := range []bool{false, true} {
			ctx, m, errCrashed := t.Context(), memtest.New(), errors.New("the program has crashed")
			var crashed atomic.Bool
			h := zarr.At(stepping.Conditional(m, stepping.Hooks{
				Before: func(_ context.Context, op stepping.Op) error {
					if !decided && strings.Contains(op.Key.String(), "together-") {
						crashed.Store(true)
					}
					if crashed.Load() {
						return errCrashed
					}
					return nil
				},
				After: func(op stepping.Op, err error) error {
					if err == nil && strings.Contains(op.Key.String(), "together-") {
						crashed.Store(true)
					}
					return err
				},
			}), "")
			g := fixture.Must(zarr.At(m, "").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: format}))
			for _, name := range []string{"a", "b"} {
				fixture.Must(g.At(name).CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil))
			}
			g = fixture.Must(h.At("").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1}))
			if err := g.Append(ctx, zarr.Add("a", 0, fixture.Numbers(1, 3), nil), zarr.Add("b", 0, fixture.Numbers(1, 3), nil)); err == nil {
				t.Fatal("the append succeeded")
			}
			for _, name := range []string{"a", "b"} {
				p, err := fixture.Must(zarr.At(m, name).OpenArray(ctx, nil)).PendingChange(ctx)
				if err != nil || p.Decided != decided || decided != slices.Equal(p.Shape, []int64{7}) || decided != slices.Equal(p.Arrays, []string{"a", "b"}) {
					t.Errorf("format %d, decided %t: %s has %+v, %v", format, decided, name, p, err)
				}
			}
			fixture.Must(zarr.At(m, "b").OpenArray(ctx, &zarr.Options{Write: true}))
			a := fixture.Must(zarr.At(m, "b").OpenArray(ctx, nil))
			if p, err := a.PendingChange(ctx); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("format %d, decided %t: after recovery: %+v, %v", format, decided, p, err)
			}
		}
	}
}
