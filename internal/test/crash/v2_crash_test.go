// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
)

// crashCasesV2 are changes of arrays of format 2.
var crashCasesV2 = []crashCase{
	{name: "write", spec: fixture.AsV2(fixture.Every(6, 4)), loose: true, run: change(func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{0, 5}}, fixture.Numbers(101, 5))
	}), expect: holds(101, 102, 103, 104, 105, 6)},
	{name: "overwrite", spec: fixture.Annotated(fixture.Every(6, 4)), gone: true, run: func(ctx context.Context, h *zarr.Location) error {
		_, err := h.At("g/a").CreateArray(ctx, fixture.Annotated(fixture.Every(5, 4)), &zarr.CreateOptions{Overwrite: true})
		return err
	}, expect: func(fixture.State) []fixture.State {
		return []fixture.State{{Shape: []int64{5}, Data: make([]int32, 5)}}
	}},
	{name: "delete", spec: fixture.Annotated(fixture.Every(6, 4)), run: func(ctx context.Context, h *zarr.Location) error {
		return h.At("g").Delete(ctx, &zarr.Options{Write: true})
	}, expect: func(fixture.State) []fixture.State { return []fixture.State{{}} }},
	{name: "attributes", spec: fixture.AsV2(fixture.Every(6, 4)), run: change(func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
	}), expect: func(old fixture.State) []fixture.State { return []fixture.State{old} }},
	{name: "append", spec: fixture.Annotated(fixture.Every(6, 4)), run: appendTo(fixture.Numbers(7, 7)), expect: appended(fixture.Numbers(7, 7), "")},
	{name: "grow", spec: fixture.AsV2(fixture.Every(6, 4)), run: resize(11), expect: becomes("", 11)},
	{name: "shrink", spec: fixture.AsV2(fixture.Every(9, 4)), run: resize(3), expect: becomes("", 3)},
	{name: "shrink to nothing", spec: fixture.AsV2(fixture.Every(9, 4)), run: resize(0), expect: becomes("", 0)},
}

// TestCrashV2 is [TestCrash] with arrays of format 2.
func TestCrashV2(t *testing.T) {
	fixture.Sequential(t)
	points, images := crashAll(t, crashCasesV2)
	t.Logf("%d points, %d images", points, images)
	if points < least(300) || images < least(fixture.LeastImages(3000)) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// TestCrashConditionalV2 is [TestCrashConditional] with arrays of format 2.
func TestCrashConditionalV2(t *testing.T) {
	fixture.Sequential(t)
	points := interruptAll(t, crashCasesV2, inMemory, stride)
	t.Logf("%d points", points)
	if points < least(300) {
		t.Errorf("only %d points were tried", points)
	}
}

// TestFaultsV2 is [TestFaults] with arrays of format 2.
func TestFaultsV2(t *testing.T) {
	fixture.Sequential(t)
	faults := faultAll(t, crashCasesV2)
	t.Logf("%d faults", faults)
	if faults < least(1000) {
		t.Errorf("only %d faults were tried", faults)
	}
}

// TestCreateCrashV2 stops the machine before every operation of the creation of an array
// of format 2. Afterwards there is no array, or one with all of its attributes, and it
// can be created.
func TestCreateCrashV2(t *testing.T) {
	fixture.Sequential(t)
	ctx := context.Background()
	create := func(h *zarr.Location, overwrite bool) error {
		_, err := h.At("g/a").CreateArray(ctx, fixture.Annotated(zarr.Spec{Shape: []int64{3}, Type: dtype.Int32}), &zarr.CreateOptions{Overwrite: overwrite})
		return err
	}
	var checked outcomes
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		stop, stopped := vfs.StopAt(n)
		err := create(zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""), false)
		if !stopped() {
			if err != nil || n < 10 {
				t.Fatal(n, err)
			}
			return
		}
		for label, image := range disk.Images(uint64(n), fixture.RandomImages()) {
			if !checked.first(image, false, false) {
				continue
			}
			h := zarr.At(fixture.FileStore(image), "")
			a, err := h.At("g/a").OpenArray(ctx, nil)
			if err == nil && fixture.Compact(a.Attributes()) != `{"k":1}` {
				t.Fatalf("operation %d, %s: attributes %s", n, label, a.Attributes())
			}
			if err := create(h, true); err != nil {
				t.Fatalf("operation %d, %s: %v", n, label, err)
			}
		}
	}
}

func checkTransactionV2(t *testing.T, h *zarr.Location, done bool, label string) {
	t.Helper()
	ctx := context.Background()
	var rows []int64
	for _, path := range []string{"g/a", "g/deep/b"} {
		a, err := h.At(path).OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatalf("%s: %s: %v", label, path, err)
		}
		b, err := zarr.Read[int32](ctx, a, nil)
		if err != nil || !slices.Equal(b.Data, fixture.Numbers(1, int32(b.Shape[0]))) {
			t.Fatalf("%s: %s: %v %v", label, path, b, err)
		}
		rows = append(rows, b.Shape[0])
	}
	g, err := h.At("g").OpenGroup(ctx, nil)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	for m, err := range g.Members(ctx, true) {
		if err != nil || m.Err != nil {
			t.Fatalf("%s: %v, %v", label, err, m.Err)
		}
		if a, ok := m.Node.(*zarr.Array); ok {
			rows = append(rows, a.Shape()[0])
		}
	}
	if want := slices.Repeat(rows[:1], 4); !slices.Equal(rows, want) || rows[0] != 6 && rows[0] != 9 || done && rows[0] != 9 {
		t.Fatalf("%s: %d rows in the consolidated metadata", label, rows)
	}
}

// TestTransactionCrashV2 stops the machine before every operation of an append to two
// arrays of a group of format 2. After the next write to the group, both arrays have the
// new elements or neither, and the consolidated metadata agrees.
func TestTransactionCrashV2(t *testing.T) {
	fixture.Sequential(t)
	ctx := context.Background()
	var checked outcomes
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		h := zarr.At(fixture.FileStore(disk), "")
		g, err := h.At("g").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: 2})
		for _, path := range []string{"a", "deep/b"} {
			var a *zarr.Array
			if err == nil {
				a, err = g.At(path).CreateArray(ctx, fixture.Every(6, 4), nil)
			}
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
			}
		}
		if err == nil {
			err = g.Consolidate(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		stop, stopped := vfs.StopAt(n)
		if g, err = zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "g").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1}); err == nil {
			err = g.Append(ctx, zarr.Add("a", 0, fixture.Numbers(7, 3), nil), zarr.Add("deep/b", 0, fixture.Numbers(7, 3), nil))
		}
		for label, image := range disk.Images(uint64(n), fixture.RandomImages()) {
			if checked.first(image, err == nil, false) {
				checkTransactionV2(t, zarr.At(fixture.FileStore(image), ""), err == nil, label)
			}
		}
		if !stopped() {
			if err != nil || n < 40 {
				t.Fatal(n, err)
			}
			return
		}
	}
}
