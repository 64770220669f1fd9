// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
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
		{fs.ErrPermission, "permission", "get the permission", 0},
		{os.ErrDeadlineExceeded, "timeout", "check again: nothing is known", 0},
		{fmt.Errorf("%w: %w", zarr.ErrCorrupt, fs.ErrPermission), "", "restore the value", 1},
	} {
		s := memtest.New()
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
		parts := [][]byte{same(t, fixture.Must(check.RunPart(t.Context(), open(), transfer.Share{}, nil)))}
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

// TestUnreadFolders checks groups with folders that may not be read or listed: that of a
// large array, which is listed, that of an array of few chunks, and that of a group. Each
// is a finding, and the others are checked.
func TestUnreadFolders(t *testing.T) {
	s := memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(t.Context(), nil, nil))
	fixture.Must(g.At("m").CreateGroup(t.Context(), nil, nil))
	for _, name := range []string{"large", "m/x", "small", "z"} {
		spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Every(1)}}
		if name == "large" {
			spec.Shape = []int64{1 << 20}
		}
		a := fixture.Must(g.At(name).CreateArray(t.Context(), spec, nil))
		box := selection.BoxOf(grid.Box{{Start: 0, Stop: 2}})
		if err := zarr.Write(t.Context(), a, box, []int8{1, 2}); err != nil {
			t.Fatal(err)
		}
	}
	denied := []string{"large/c", "small/c", "m"}
	h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		for _, dir := range denied {
			if at := op.Key.String(); at == dir || strings.HasPrefix(at, dir+"/") {
				return fs.ErrPermission
			}
		}
		return nil
	}})
	report, err := check.Run(t.Context(), fixture.Must(zarr.At(h, "").OpenGroup(t.Context(), nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range report.Findings {
		found = append(found, f.Path)
		if !strings.HasPrefix(f.Repair, "get the permission") {
			t.Errorf("%+v", f)
		}
	}
	if fmt.Sprint(found) != "[large m small small]" && fmt.Sprint(found) != "[large large m small small]" {
		t.Errorf("%q", found)
	}
	if c := report.Checked; c.Unchecked < 1 || c.Faults != 0 || len(report.Arrays) != 4 || report.Arrays[3].Path != "z" || report.Arrays[3].Chunks != 2 || len(report.Remnants) > 0 {
		t.Errorf("%+v, %+v", c, report.Remnants)
	}
}

// TestDamagedMember checks a zip archive in which the document of one array is damaged:
// it is named, and the others are listed and checked. Where the store fails and the
// list of members ends early, no folder is taken for one without a document.
func TestDamagedMember(t *testing.T) {
	fill := func(g *zarr.Group) {
		for _, name := range []string{"a", "b", "c"} {
			a := fixture.Must(g.At(name).CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}, nil))
			if err := zarr.Fill(t.Context(), a, nil, int8(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "d.zip")
	at := fixture.Must(zarr.Locate(t.Context(), file, store.Create))
	g := fixture.Must(at.CreateGroup(t.Context(), nil, nil))
	fill(g)
	if err := at.Store().(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	archive := fixture.Must(os.ReadFile(file))
	archive[bytes.Index(archive, []byte("a/zarr.json"))+len("a/zarr.json")+60] ^= 1
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	n := fixture.Must(zarr.OpenGroup(t.Context(), file, nil))
	defer n.Close()
	report, err := check.Run(t.Context(), n, nil)
	if err != nil || len(report.Arrays) != 3 || report.Checked.Unchecked != 1 || report.Checked.Chunks != 2 || len(report.Remnants) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if f := report.Findings; len(f) != 1 || f[0].Path != "a" || !errors.Is(f[0].Err, zarr.ErrCorrupt) {
		t.Errorf("%+v", f)
	}

	m := memtest.New()
	fill(fixture.Must(zarr.At(m, "").CreateGroup(t.Context(), nil, nil)))
	h := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "Get" && op.Key.String() == "a/zarr.json" {
			return errors.New("input/output error")
		}
		return nil
	}})
	report, err = check.Run(t.Context(), fixture.Must(zarr.At(h, "").OpenGroup(t.Context(), nil)), nil)
	if err == nil || report == nil || len(report.Remnants) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
