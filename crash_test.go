package zarr_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/file"
)

// crashCase is a change of an array in a group, and what a reader may find at any time of it.
type crashCase struct {
	name   string
	spec   zarr.Spec // of the array before; without a type there is none
	run    func(ctx context.Context, h *zarr.Hierarchy) error
	expect func(old []int32) (shape []int64, data []int32) // the array afterwards
	loose  bool                                            // chunk by chunk old or new, not all at once
	gone   bool                                            // there may be no array in between
}

func openArray(ctx context.Context, h *zarr.Hierarchy) (*zarr.Array, error) {
	return h.OpenArray(ctx, "g/a", &zarr.Options{Write: true, Concurrency: 1})
}

func numbers(from, n int32) []int32 {
	data := make([]int32, n)
	for i := range data {
		data[i] = from + int32(i)
	}
	return data
}

func edges(n ...int64) zarr.Spec {
	sum := int64(0)
	for _, l := range n {
		sum += l
	}
	return zarr.Spec{Shape: []int64{sum}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Edges(n...)}}
}

func every(extent, step int64) zarr.Spec {
	return zarr.Spec{Shape: []int64{extent}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Every(step)}}
}

func change(do func(ctx context.Context, a *zarr.Array) error) func(context.Context, *zarr.Hierarchy) error {
	return func(ctx context.Context, h *zarr.Hierarchy) error {
		a, err := openArray(ctx, h)
		if err != nil {
			return err
		}
		return do(ctx, a)
	}
}

func resize(n int64) func(context.Context, *zarr.Hierarchy) error {
	return change(func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{n}, nil) })
}

func appendTo(data []int32) func(context.Context, *zarr.Hierarchy) error {
	return change(func(ctx context.Context, a *zarr.Array) error { return zarr.Append(ctx, a, 0, data, nil) })
}

// resized is what an array of one axis holds when its extent is changed.
func resized(n int) func(old []int32) ([]int64, []int32) {
	return func(old []int32) ([]int64, []int32) {
		return []int64{int64(n)}, append(slices.Clone(old[:min(n, len(old))]), make([]int32, max(0, n-len(old)))...)
	}
}

func appended(data []int32) func(old []int32) ([]int64, []int32) {
	return func(old []int32) ([]int64, []int32) {
		return []int64{int64(len(old) + len(data))}, append(slices.Clone(old), data...)
	}
}

var crashCases = []crashCase{
	{name: "create", run: func(ctx context.Context, h *zarr.Hierarchy) error {
		_, err := h.CreateArray(ctx, "g/a", edges(1, 2, 3), nil)
		return err
	}, expect: func([]int32) ([]int64, []int32) { return []int64{6}, make([]int32, 6) }},
	{name: "write", spec: edges(1, 2, 3), loose: true, run: change(func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{0, 5}}, numbers(101, 5))
	}), expect: func(old []int32) ([]int64, []int32) {
		return []int64{6}, append(numbers(101, 5), old[5])
	}},
	{name: "append to edges", spec: edges(1, 2, 3), run: appendTo(numbers(7, 4)), expect: appended(numbers(7, 4))},
	{name: "append fill value", spec: edges(1, 2, 3), run: appendTo(make([]int32, 2)), expect: appended(make([]int32, 2))},
	{name: "append to regular chunks", spec: every(6, 4), run: appendTo(numbers(7, 7)), expect: appended(numbers(7, 7))},
	{name: "grow", spec: every(6, 4), run: resize(11), expect: resized(11)},
	{name: "grow edges", spec: edges(1, 2, 3), run: resize(9), expect: resized(9)},
	{name: "shrink", spec: edges(1, 2, 3), run: resize(2), expect: resized(2)},
	{name: "shrink regular chunks", spec: every(9, 4), run: resize(3), expect: resized(3)},
	{name: "shrink to nothing", spec: every(9, 4), run: resize(0), expect: resized(0)},
	{name: "overwrite", spec: edges(1, 2, 3), gone: true, run: func(ctx context.Context, h *zarr.Hierarchy) error {
		_, err := h.CreateArray(ctx, "g/a", every(5, 4), &zarr.CreateOptions{Overwrite: true})
		return err
	}, expect: func([]int32) ([]int64, []int32) { return []int64{5}, make([]int32, 5) }},
	{name: "delete", spec: edges(1, 2, 3), run: func(ctx context.Context, h *zarr.Hierarchy) error {
		return h.Delete(ctx, "g", &zarr.Options{Write: true})
	}, expect: func([]int32) ([]int64, []int32) { return nil, nil }},
	{name: "attributes", spec: every(6, 4), run: change(func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
	}), expect: func(old []int32) ([]int64, []int32) { return []int64{6}, old }},
	{name: "shrink and grow", spec: edges(1, 2, 3), run: change(func(ctx context.Context, a *zarr.Array) error {
		if err := a.Resize(ctx, []int64{5}, nil); err != nil {
			return err
		}
		return zarr.Append(ctx, a, 0, numbers(50, 1), nil)
	}), expect: nil},
}

// prepare returns a disk that holds the case's array, durably, with the numbers from 1 on.
func (c *crashCase) prepare(t *testing.T) (*vfs.Disk, []int32) {
	t.Helper()
	ctx := context.Background()
	disk := vfs.NewDisk()
	h := zarr.On(file.On(disk, nil))
	if c.spec.Type.IsZero() {
		if _, err := h.CreateGroup(ctx, "", nil, nil); err != nil {
			t.Fatal(err)
		}
		return disk, nil
	}
	a, err := h.CreateArray(ctx, "g/a", c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := numbers(1, int32(c.spec.Shape[0]))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return disk, data
}

// state is what a reader finds: a nil shape is no array.
type state struct {
	shape []int64
	data  []int32
}

func look(t *testing.T, disk *vfs.Disk, label string) state {
	t.Helper()
	ctx := context.Background()
	a, err := zarr.On(file.On(disk, &file.Options{ReadOnly: true})).OpenArray(ctx, "g/a", nil)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}
	}
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	return state{b.Shape, b.Data}
}

func (s state) equal(o state) bool {
	return slices.Equal(s.shape, o.shape) && slices.Equal(s.data, o.data)
}

// isMixOf reports whether every element is that of one state or the other.
func (s state) isMixOf(a, b state) bool {
	if !slices.Equal(s.shape, a.shape) || !slices.Equal(s.shape, b.shape) {
		return false
	}
	for i, v := range s.data {
		if v != a.data[i] && v != b.data[i] {
			return false
		}
	}
	return true
}

// TestCrash stops the machine before every operation on the file system, and looks at every image that a power cut may
// leave: the old state or the new one, whole, and the new one once the call has returned. The array can then be
// grown, and what it grows by is fill value whatever the dead writer left.
func TestCrash(t *testing.T) {
	points, images := 0, 0
	random := 4
	if os.Getenv("VARVE_LONG") != "" {
		random = 60
	}
	for _, c := range crashCases {
		t.Run(c.name, func(t *testing.T) {
			for n := int64(0); ; n++ {
				disk, data := c.prepare(t)
				old := state{data: data}
				if data != nil {
					old.shape = []int64{int64(len(data))}
				}
				stop, stopped := vfs.StopAt(n)
				err := c.run(context.Background(), zarr.On(file.On(vfs.Hook(disk, stop), nil)))
				if !stopped() && err != nil {
					t.Fatal(err)
				}
				points++
				for label, image := range disk.Images(uint64(n), random) {
					images++
					c.check(t, image, old, err == nil, label)
				}
				if !stopped() {
					return
				}
			}
		})
	}
	t.Logf("%d points, %d images", points, images)
	if points < 250 || images < 3000 {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

func (c *crashCase) check(t *testing.T, image *vfs.Disk, old state, done bool, label string) {
	t.Helper()
	got := look(t, image, label)
	states := []state{old}
	switch {
	case c.expect != nil:
		shape, data := c.expect(old.data)
		states = append(states, state{shape, data})
	default: // shrink to 5, then append
		states = append(states, state{[]int64{5}, old.data[:5]}, state{[]int64{6}, append(slices.Clone(old.data[:5]), 50)})
	}
	last := states[len(states)-1]
	if c.gone {
		states = append(states, state{})
	}
	switch {
	case done && !got.equal(last):
		t.Fatalf("%s: %v after success, want %v", label, got, last)
	case c.loose && got.isMixOf(old, last), slices.ContainsFunc(states, got.equal):
	default:
		t.Fatalf("%s: found %v, want one of %v", label, got, states)
	}
	if got.shape != nil {
		c.growOver(t, image, got, label)
	}
}

// growOver grows the array over whatever is left.
func (c *crashCase) growOver(t *testing.T, image *vfs.Disk, got state, label string) {
	t.Helper()
	if err := resize(got.shape[0]+20)(context.Background(), zarr.On(file.On(image, nil))); err != nil {
		t.Fatalf("%s: growing afterwards: %v", label, err)
	}
	shape, data := resized(int(got.shape[0]) + 20)(got.data)
	if grown := look(t, image, label); !grown.equal(state{shape, data}) {
		t.Fatalf("%s: grew to %v, want %v", label, grown, data)
	}
}

// TestFaults fails every operation on the file system once, as a full disk and a broken one do: the error says so,
// and the array is the old one or the new one.
func TestFaults(t *testing.T) {
	faults := 0
	for _, c := range crashCases {
		for _, fault := range []error{syscall.ENOSPC, syscall.EIO, fs.ErrPermission} {
			for n := int64(0); ; n++ {
				disk, data := c.prepare(t)
				old := state{data: data}
				if data != nil {
					old.shape = []int64{int64(len(data))}
				}
				fail, failed := vfs.FailAt(n, fault)
				err := c.run(context.Background(), zarr.On(file.On(vfs.Hook(disk, fail), nil)))
				if !failed() {
					if err != nil {
						t.Fatal(err)
					}
					break
				}
				faults++
				if err != nil && !errors.Is(err, fault) && !errors.Is(err, zarr.ErrDurability) {
					t.Fatalf("%s, operation %d: %v does not wrap %v", c.name, n, err, fault)
				}
				c.check(t, disk, old, err == nil, c.name)
			}
		}
	}
	t.Logf("%d faults", faults)
}
