// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestUnordered looks for the first value of coordinates that is out of order, and among
// elements that follow.
func TestUnordered(t *testing.T) {
	ctx := context.Background()
	days := map[string]any{"units": "days since 2024-01-01"}
	for name, c := range map[string]struct {
		name         string
		attributes   map[string]any
		stored, more []int32
		want, rest   string // parts of the texts; "" for none
		times        bool
	}{
		"times":            {"x", days, []int32{0, 1, 2}, []int32{3}, "", "", false},
		"times that fall":  {"x", days, []int32{9, 8}, []int32{7}, "", "", false},
		"a time again":     {"x", days, []int32{1, 1}, []int32{1}, "element 1 is 2024-01-02, but element 0 before it is 2024-01-02", "element 2 is 2024-01-02, but element 1 before it is 2024-01-02", true},
		"unwritten times":  {"x", days, []int32{1, 0, 3}, []int32{4}, "1 element from 1 on is the fill value", "", true},
		"unwritten at end": {"x", days, []int32{1, 2, 0, 0}, nil, "", "", false},
		"numbers":          {"x", nil, []int32{5, 7, 6}, []int32{8}, "its values neither rise nor fall throughout: element 2 is 6", "element 3 is 8", false},
		"no coordinate":    {"y", days, []int32{1, 1}, []int32{0}, "", "", false},
	} {
		spec := zarr.Spec{Shape: []int64{int64(len(c.stored))}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}, DimensionNames: []string{"x"}, Attributes: c.attributes}
		a, err := zarr.At(memstore.New(), "").At(c.name).CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(ctx, a, nil, c.stored); err != nil {
			t.Fatal(err)
		}
		got, times, err := cf.Unordered(ctx, a)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || times != c.times {
			t.Errorf("%s: %q, times %t", name, got, times)
		}
		more := &zarr.Source{Shape: []int64{int64(len(c.more))}, Read: func(_ context.Context, box grid.Box, dst []byte) error {
			for i, v := range c.more[box[0].Start:box[0].Stop] {
				binary.NativeEndian.PutUint32(dst[4*i:], uint32(v))
			}
			return nil
		}}
		if got, err := cf.UnorderedAt(ctx, a, int64(len(c.stored)), more, int64(len(c.more))); err != nil || !strings.Contains(got, c.rest) || c.rest == "" && got != "" {
			t.Errorf("%s: after it %q, %v", name, got, err)
		}
	}
}

// TestUnorderedAt inserts elements at every place of a coordinate.
func TestUnorderedAt(t *testing.T) {
	ctx := context.Background()
	days := map[string]any{"units": "days since 2024-01-01"}
	for name, c := range map[string]struct {
		attributes map[string]any
		stored     []int32
		at         int64
		more       []int32
		want       string // part of the text; "" for none
	}{
		"earlier times at the beginning": {days, []int32{5, 6, 7}, 0, []int32{3, 4}, ""},
		"later times at the beginning":   {days, []int32{5, 6, 7}, 0, []int32{8, 9}, "its times are not in order: element 2 is 2024-01-06, but element 1 before it is 2024-01-10"},
		"one later time":                 {days, []int32{5, 6}, 0, []int32{8}, "element 1 is 2024-01-06, but element 0 before it is 2024-01-09"},
		"one time before one":            {days, []int32{5}, 0, []int32{8}, "element 1 is 2024-01-06, but element 0 before it is 2024-01-09"},
		"between":                        {days, []int32{5, 9}, 1, []int32{6, 7}, ""},
		"too early between":              {days, []int32{5, 9}, 1, []int32{4}, "element 1 is 2024-01-05, but element 0 before it is 2024-01-06"},
		"too late between":               {days, []int32{5, 9, 12}, 1, []int32{10}, "element 2 is 2024-01-10, but element 1 before it is 2024-01-11"},
		"among falling times":            {days, []int32{9, 5}, 1, []int32{7}, ""},
		"before falling times":           {days, []int32{9, 5}, 0, []int32{12, 10}, ""},
		"at the end":                     {days, []int32{5, 9}, 2, []int32{7}, "element 2 is 2024-01-08, but element 1 before it is 2024-01-10"},
		"at the end of falling times":    {days, []int32{9, 5}, 2, []int32{3}, ""},
		"first times that fall":          {days, nil, 0, []int32{9, 5}, ""},
		"faults of the array stay":       {days, []int32{5, 5, 3, 4, 6, 2}, 4, []int32{5}, ""},
		"numbers":                        {nil, []int32{5, 6, 7}, 0, []int32{8}, "its values neither rise nor fall throughout: element 1 is 5, but element 0 before it is 8"},
		"outside":                        {days, []int32{5}, 2, []int32{1}, ""},
	} {
		spec := zarr.Spec{Shape: []int64{int64(len(c.stored))}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}, DimensionNames: []string{"x"}, Attributes: c.attributes}
		a, err := zarr.At(memstore.New(), "").At("x").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(ctx, a, nil, c.stored); err != nil {
			t.Fatal(err)
		}
		more := &zarr.Source{Shape: []int64{int64(len(c.more))}, Read: func(_ context.Context, box grid.Box, dst []byte) error {
			for i, v := range c.more[box[0].Start:box[0].Stop] {
				binary.NativeEndian.PutUint32(dst[4*i:], uint32(v))
			}
			return nil
		}}
		if got, err := cf.UnorderedAt(ctx, a, c.at, more, int64(len(c.more))); err != nil || !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestUnorderedUnread has no answer about coordinates and elements that cannot be read.
func TestUnorderedUnread(t *testing.T) {
	ctx, s := context.Background(), memstore.New()
	a, err := zarr.At(s, "x").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}, DimensionNames: []string{"x"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("the source fails")
	more := &zarr.Source{Shape: []int64{1}, Read: func(context.Context, grid.Box, []byte) error { return failed }}
	if text, err := cf.UnorderedAt(ctx, a, 4, more, 1); text != "" || !errors.Is(err, failed) {
		t.Errorf("%q, %v", text, err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if text, times, err := cf.Unordered(ended, a); text != "" || times || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %t, %v", text, times, err)
	}
	if _, err := store.Write(ctx, s, store.Put(store.MustKey("x/c/1"), []byte("bad")), store.Sync); err != nil {
		t.Fatal(err)
	}
	if text, _, err := cf.Unordered(ctx, a); text != "" || !errors.Is(err, zarr.ErrCorrupt) {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := cf.UnorderedAt(ctx, a, 4, more, 1); text != "" || !errors.Is(err, zarr.ErrCorrupt) {
		t.Errorf("%q, %v", text, err)
	}
}
