// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// pair makes a consolidated group with two arrays of one dimension, in a store.
func pair(t *testing.T) (memtest.Store, *zarr.Group) {
	t.Helper()
	ctx, s := context.Background(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	for _, name := range []string{"x", "y"} {
		spec := zarr.Spec{Shape: []int64{6}, Type: dtype.Int16, Chunks: grid.Chunks(2), DimensionNames: []string{"t"}}
		a := fixture.Must(g.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Fill(ctx, a, nil, int16(7)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	return s, reopened(t, s)
}

func reopened(t *testing.T, s store.Store) *zarr.Group {
	t.Helper()
	return fixture.Must(zarr.At(s, "").OpenGroup(context.Background(), nil))
}

// spoil changes a stored value; a change to nil deletes it.
func spoil(t *testing.T, s memtest.Store, key string, change func([]byte) []byte) {
	t.Helper()
	ctx, k := context.Background(), store.MustKey(key)
	data, _, err := s.Get(ctx, k, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if data = change(bytes.Clone(data)); data == nil {
		_, err = s.Write(ctx, store.Delete(k), store.Sync)
	} else {
		_, err = s.Write(ctx, store.Put(k, data), store.Sync)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// kinds returns the kinds of findings, with their paths.
func kinds(report *check.Report) (list []string) {
	for _, f := range report.Findings {
		list = append(list, fmt.Sprintf("%s %s", f.Kind, f.Path))
	}
	return list
}

// TestFindings damages a group in several ways, and repairs what can be repaired.
func TestFindings(t *testing.T) {
	ctx := context.Background()
	s, g := pair(t)
	report, err := check.Run(ctx, g, &check.Options{Complete: true})
	if err != nil || len(report.Findings) > 0 || report.Checked.Arrays != 2 || report.Checked.Chunks != 6 {
		t.Fatalf("%+v, %v", report, err)
	}
	spoil(t, s, "x/c/1", func(b []byte) []byte { return b[:1] })
	spoil(t, s, "y/c/2", func([]byte) []byte { return nil })
	// Another program changes the length of one array, and not the consolidated metadata.
	spoil(t, s, "y/zarr.json", func(b []byte) []byte { return bytes.Replace(b, []byte("6"), []byte("5"), 1) })
	report, err = check.Run(ctx, reopened(t, s), &check.Options{Complete: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"corrupt x", "missing y", "dimensions ", "stale "}; !slices.Equal(kinds(report), want) {
		t.Errorf("%q, want %q", kinds(report), want)
	}
	for i, f := range report.Findings {
		if f.Message == "" || f.Repair == "" || strings.Contains(f.Message, "\n") || (f.Err != nil) != (f.Chunk != nil) {
			t.Errorf("finding %d: %+v", i, f)
		}
	}
	if f := report.Findings[0]; f.Key != "x/c/1" || !slices.Equal(f.Chunk, []int64{1}) || !errors.Is(f.Err, zarr.ErrCorrupt) {
		t.Errorf("%+v", f)
	}
	if c := report.Checked; c.Faults != 2 || c.Damaged != 1 || c.Missing != 1 || c.Chunks != 5 {
		t.Errorf("%+v", c)
	}
	done, err := check.Repair(ctx, zarr.At(s, ""), nil)
	if err != nil || len(done) != 1 || done[0].Err != nil || done[0].Message == "" {
		t.Errorf("%+v, %v", done, err)
	}
	// Only what was repaired is gone.
	report, err = check.Run(ctx, reopened(t, s), nil)
	if want := []string{"corrupt x", "dimensions "}; err != nil || !slices.Equal(kinds(report), want) {
		t.Errorf("%q, %v", kinds(report), err)
	}
}

// TestFindingsBelow finds arrays that differ in length in a group below the checked one.
func TestFindingsBelow(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	for i, name := range []string{"x", "y"} {
		fixture.Must(g.At("sub/"+name).CreateArray(ctx, zarr.Spec{Shape: []int64{int64(4 + i)}, Type: dtype.Int16, DimensionNames: []string{"t"}}, nil))
	}
	report, err := check.Run(ctx, reopened(t, s), nil)
	if err != nil || len(report.Findings) != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if f := report.Findings[0]; f.Kind != "dimensions" || f.Path != "sub" || strings.Contains(f.Message, "sub: ") || f.String() != "sub: "+f.Message {
		t.Errorf("%+v", f)
	}
}

// TestRunNil checks nothing.
func TestRunNil(t *testing.T) {
	if report, err := check.Run(context.Background(), nil, nil); report != nil || !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestLastCopy removes a document whose only copy is in the consolidated metadata. A
// repair does not overwrite it.
func TestLastCopy(t *testing.T) {
	ctx := context.Background()
	s, _ := pair(t)
	spoil(t, s, "x/zarr.json", func([]byte) []byte { return nil })
	before, _, err := s.Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := check.Repair(ctx, zarr.At(s, ""), nil); err != nil || len(done) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	after, _, err := s.Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("%s, %v", after, err)
	}
	report, err := check.Run(ctx, reopened(t, s), nil)
	if err != nil || !slices.Equal(kinds(report), []string{"stale "}) || !strings.Contains(report.Findings[0].Repair, "forget them") {
		t.Errorf("%q, %v", kinds(report), err)
	}
}

// TestRemnants lists folders with chunks or nodes whose document is lost. Files of other
// programs and values of nodes are none.
func TestRemnants(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	for i, name := range []string{"kept", "lost", "sub/dot", "sub/slash", "winter/t2m"} {
		spec := zarr.Spec{Shape: []int64{6, 1}, Type: dtype.Int16, Chunks: grid.Chunks(2, 1)}
		if i > 1 {
			spec.KeyEncoding = metadata.V2Slash
		}
		a := fixture.Must(g.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Fill(ctx, a, nil, int16(7)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"notes/readme.txt", "sub/2024/table.parquet", "kept/thumbs/0.png"} {
		if _, err := s.Write(ctx, store.Put(store.MustKey(key), []byte("x")), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	run := func() (list []string) {
		report, err := check.Run(ctx, reopened(t, s).Unconsolidated(), nil)
		if err != nil || len(report.Findings) > 0 {
			t.Fatalf("%v, %v", report, err)
		}
		for _, o := range report.Remnants {
			list = append(list, o.Path+": "+path.Base(o.Key))
		}
		slices.Sort(list)
		return list
	}
	if got := run(); got != nil {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"lost", "sub/slash", "winter"} {
		spoil(t, s, name+"/zarr.json", func([]byte) []byte { return nil })
	}
	if got, want := run(), []string{"lost: 0", "sub/slash: 0", "winter: "}; len(got) != 3 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) || !strings.HasPrefix(got[2], want[2]) {
		t.Errorf("%q", got)
	}
}

// TestUnreadableMember checks the other arrays of a group with a damaged document.
func TestUnreadableMember(t *testing.T) {
	s, _ := pair(t)
	spoil(t, s, "x/zarr.json", func(b []byte) []byte { return b[:len(b)/2] })
	g := reopened(t, s).Unconsolidated()
	report, err := check.Run(context.Background(), g, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := report.Checked; !slices.Equal(kinds(report), []string{"unreadable x"}) || c.Unchecked != 1 || c.Arrays != 2 || c.Chunks != 3 {
		t.Errorf("%q, %+v", kinds(report), c)
	}
}

// TestManyFaults bounds the faults that are listed, and counts all of them.
func TestManyFaults(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	spec := zarr.Spec{Shape: []int64{20}, Type: dtype.Int16, Chunks: grid.Chunks(2)}
	a := fixture.Must(zarr.At(s, "").CreateArray(ctx, spec, nil))
	if err := zarr.Fill(ctx, a, nil, int16(7)); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		spoil(t, s, fmt.Sprintf("c/%d", i), func(b []byte) []byte { return b[:1] })
	}
	var calls, last int64
	progress := func(path string, done, total int64) {
		if path != "" || total != 10 || done != calls {
			t.Errorf("%q: %d of %d after %d calls", path, done, total, calls)
		}
		calls, last = calls+1, done
	}
	report, err := check.Run(ctx, a, &check.Options{MostFaults: 3, Progress: progress})
	if err != nil || calls != 11 || last != 10 {
		t.Fatalf("%d calls, the last one for %d chunks (%v)", calls, last, err)
	}
	if n := len(report.Findings); n != 4 || report.Checked.Faults != 10 || report.Findings[3].Message != "7 more faults" {
		t.Errorf("%d findings: %v", n, report.Findings)
	}
}

// coordinate makes a coordinate of times, "t", in a store.
func coordinate(t *testing.T, s memtest.Store, days []int32) {
	t.Helper()
	a := fixture.Must(zarr.At(s, "t").CreateArray(t.Context(), zarr.Spec{
		Shape: []int64{int64(len(days))}, Type: dtype.Int32, DimensionNames: []string{"t"}, Attributes: map[string]any{"units": "days since 2024-01-01"},
	}, nil))
	if err := zarr.Write(t.Context(), a, nil, days); err != nil {
		t.Fatal(err)
	}
}

// TestUnordered checks times that repeat, and not with Fast, which reads no elements.
func TestUnordered(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	coordinate(t, s, []int32{0, 1, 1, 2})
	for fast, want := range map[bool][]string{false: {"unordered t"}, true: nil} {
		report, err := check.Run(ctx, g, &check.Options{Fast: fast})
		if err != nil || !slices.Equal(kinds(report), want) {
			t.Errorf("fast %t: %q, %v", fast, kinds(report), err)
		}
		if !fast && !strings.Contains(report.Findings[0].String(), "t: its times are not in order: element 2 is 2024-01-02") {
			t.Error(report.Findings[0])
		}
	}
}

// TestCancelled ends a check of a group, which has no report then.
func TestCancelled(t *testing.T) {
	_, g := pair(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if report, err := check.Run(ctx, g, nil); report != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestCancelledMeanwhile ends the context of a check before each of its requests. There
// is no report then, of a group nor of a coordinate.
func TestCancelledMeanwhile(t *testing.T) {
	s, _ := pair(t)
	coordinate(t, s, []int32{0, 1, 2, 3})
	for _, path := range []string{"", "t"} {
		for n, whole := int64(1), false; !whole; n++ {
			ctx, cancel := context.WithCancel(context.Background())
			var requests atomic.Int64
			h := stepping.Conditional(s, stepping.Hooks{Before: func(context.Context, stepping.Op) error {
				if requests.Add(1) == n {
					cancel()
				}
				return ctx.Err()
			}})
			node, err := zarr.At(h, path).Open(context.Background(), nil)
			if err != nil {
				continue // before the check
			}
			report, err := check.Run(ctx, node, nil)
			if whole = requests.Load() < n; whole != (err == nil) || whole != (report != nil) || !whole && !errors.Is(err, context.Canceled) {
				t.Fatalf("%q, request %d of %d: %+v, %v", path, n, requests.Load(), report, err)
			}
			cancel()
		}
	}
}

// TestUnorderedUnread fails the second request for a chunk of a coordinate, which is that
// for the order of its values.
func TestUnorderedUnread(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	coordinate(t, s, []int32{0, 1, 1, 2})
	for _, path := range []string{"", "t"} {
		var requests atomic.Int64 // for the chunk
		h := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Key.String() == "t/c/0" && requests.Add(1) == 2 {
				return errors.New("no answer")
			}
			return nil
		}})
		report, err := check.Run(ctx, fixture.Must(zarr.At(h, path).Open(ctx, nil)), nil)
		if err != nil || len(report.Findings) != 1 || report.Checked.Unchecked != 1 || report.Checked.Chunks != 1 {
			t.Fatalf("%q: %+v, %v", path, report, err)
		}
		if f := report.Findings[0]; f.Kind != "unreadable" || !strings.Contains(f.Message, "order of its values") || !strings.Contains(f.Message, "no answer") || !strings.Contains(f.Repair, "again") {
			t.Errorf("%q: %+v", path, f)
		}
	}
}
