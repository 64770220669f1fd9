// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// TestUnread checks that a chunk which this check cannot read is no damage, and that its
// finding says what helps; also if parts have checked it.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		err    error
		kind   zarr.Kind
		repair string
		damage int64
	}{
		{fs.ErrPermission, zarr.KindPermission, "get the permission", 0},
		{os.ErrDeadlineExceeded, zarr.KindTimeout, "check again: nothing is known", 0},
		{fmt.Errorf("%w: %w", zarr.ErrCorrupt, fs.ErrPermission), "", "restore the value", 1},
	} {
		s := memstore.New()
		at := zarr.At(s, "x")
		a := fixture.Must(at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(1)}}, nil))
		if err := zarr.Write(t.Context(), a, nil, []int8{1, 2}); err != nil {
			t.Fatal(err)
		}
		h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Get" && op.Key.String() == "x/c/1" {
				return c.err
			}
			return nil
		}})
		open := func() zarr.Node { return fixture.Must(zarr.At(h, "x").Open(t.Context(), nil)) }
		parts := []*check.Part{stored(t, fixture.Must(check.RunPart(t.Context(), open(), transfer.Share{}, nil)))}
		for _, opt := range []*check.Options{nil, {Parts: parts}} {
			report, err := check.Run(t.Context(), open(), opt)
			if err != nil || len(report.Findings) != 1 {
				t.Fatalf("%v: %+v, %v", c.err, report, err)
			}
			if n := report.Checked; n.Damaged != c.damage || n.Faults != c.damage || n.Unread != 1-c.damage || n.Chunks != 2 {
				t.Errorf("%v: %+v", c.err, n)
			}
			if f := report.Findings[0]; c.kind != "" && f.Kind != c.kind || !strings.HasPrefix(f.Repair, c.repair) {
				t.Errorf("%v: %+v", c.err, f)
			}
		}
	}
}
