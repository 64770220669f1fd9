package zarr_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// crashCase is a change of an array in a group, and what a reader may find at any time of
// it.
type crashCase struct {
	name   string
	spec   zarr.Spec // of the array before; without a type there is none
	run    func(ctx context.Context, h *zarr.Location) error
	expect func(old state) []state // what the array becomes in turn, in the end the last
	loose  bool                    // chunk by chunk old or new, not all at once
	gone   bool                    // there may be no array in between
	again  bool                    // it may be done again without harm, and an error leaves open whether it was done
}

// state is what a reader finds: a nil shape is no array.
type state struct {
	shape []int64
	data  []int32
	grid  string // the configuration of the grid; "" where it is of no interest
}

// ofRows returns the state of an array of one axis.
func ofRows(rows []int32) state { return state{shape: []int64{int64(len(rows))}, data: rows} }

func (s state) equal(o state) bool {
	return slices.Equal(s.shape, o.shape) && slices.Equal(s.data, o.data) && (s.grid == o.grid || s.grid == "" || o.grid == "")
}

// resized returns the state in another shape: what is new is the fill value.
func (s state) resized(shape ...int64) state {
	to := state{shape: slices.Clone(shape), data: make([]int32, count(shape))}
	i := 0
	for index := range grid.BoxOf(shape).Indices() {
		if grid.BoxOf(s.shape).Contains(index) {
			at := int64(0)
			for axis, n := range s.shape {
				at = at*n + index[axis]
			}
			to.data[i] = s.data[at]
		}
		i++
	}
	return to
}

// cut returns the state with a grid.
func (s state) cut(configuration string) state {
	s.grid = configuration
	return s
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

// prepare returns a disk that holds the case's array, durably, with the numbers from 1
// on.
func (c *crashCase) prepare(t *testing.T) (*vfs.Disk, state) {
	t.Helper()
	ctx := context.Background()
	disk := vfs.NewDisk()
	h := zarr.At(filestore.On(disk, nil), "")
	if c.spec.Type.IsZero() {
		if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
			t.Fatal(err)
		}
		return disk, state{}
	}
	a, err := h.At("g/a").CreateArray(ctx, c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := numbers(1, int32(count(c.spec.Shape)))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return disk, state{c.spec.Shape, data, string(a.Grid().AppendConfiguration(nil))}
}

// look opens the array for reading and reads it.
func look(t *testing.T, disk *vfs.Disk, label string) state {
	t.Helper()
	a, err := zarr.At(filestore.On(disk, &filestore.Options{ReadOnly: true}), "g/a").OpenArray(context.Background(), nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s: %v", label, err)
	}
	return lookAgain(t, a, label)
}

// lookAgain reads an array that is open; nil is no array.
func lookAgain(t *testing.T, a *zarr.Array, label string) state {
	t.Helper()
	if a == nil {
		return state{}
	}
	b, err := zarr.Read[int32](context.Background(), a, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return state{}
	}
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	g, err := grid.Parse(b.Shape, a.Grid().Name(), a.Grid().AppendConfiguration(nil))
	if err != nil {
		t.Fatalf("%s: a block of shape %v of the grid %s: %v", label, b.Shape, a.Grid().AppendConfiguration(nil), err)
	}
	return state{b.Shape, b.Data, string(g.AppendConfiguration(nil))}
}

// long reports whether tests that try many states are to try more of them.
func long() bool { return os.Getenv("VARVE_LONG") != "" }

// oneByOne skips a test that does one thing after another, many times over, under the
// race detector: it has nothing to find there and takes ten times as long.
func oneByOne(t *testing.T) {
	t.Helper()
	racing.Skip(t)
	t.Parallel() // to each other
}

// randomImages is how many images are drawn for every point besides those that every
// power cut is tried with.
func randomImages() int {
	if long() {
		return 30
	}
	return 4
}

// TestCrash stops the machine before every operation on the file system, and looks at
// every image that a power cut may leave: the old state or the new one, whole, and the
// new one once the call has returned. So do readers that were opened before the change,
// and those that come while it stands still. Whoever opens the array for writing then
// leaves nothing of the dead writer, and can make the array grow, which is tried on every
// fifth image, or on all; what it grows by is fill value.
func TestCrash(t *testing.T) {
	oneByOne(t)
	points, images := crashAll(t, crashCases)
	t.Logf("%d points, %d images", points, images)
	if points < 2900 || images < 34_000 {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// crashAll stops changes before every operation, and looks at the images. It returns how
// many there were.
func crashAll(t *testing.T, cases []crashCase) (points, images int) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for n := int64(0); ; n++ {
				disk, old := c.prepare(t)
				early := reader(t, disk)
				stop, stopped := vfs.StopAt(n)
				err := c.run(context.Background(), zarr.At(filestore.On(vfs.Hook(disk, stop), nil), ""))
				if !stopped() && err != nil {
					t.Fatal(err)
				}
				points++
				for label, image := range disk.Images(uint64(n), randomImages()) {
					images++
					c.check(t, image, old, err == nil, images%5 == 0 || long(), fmt.Sprintf("operation %d, %s", n, label))
				}
				c.checkReaders(t, disk, early, old, err == nil, fmt.Sprintf("operation %d", n))
				if !stopped() {
					return
				}
			}
		})
	}
	return points, images
}

// reader opens the array of a disk for reading, nil where there is none.
func reader(t *testing.T, disk *vfs.Disk) *zarr.Array {
	t.Helper()
	a, err := zarr.At(filestore.On(disk, nil), "g/a").OpenArray(context.Background(), nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return a
}

// checkReaders reads from the disk as it stands when the writer stops: with a reader that
// was opened before it began, and with a new one. Both are asked again after the next
// writer.
func (c *crashCase) checkReaders(t *testing.T, disk *vfs.Disk, early *zarr.Array, old state, done bool, label string) {
	t.Helper()
	late := reader(t, disk)
	if early != nil {
		got := lookAgain(t, early, label+", reader from before")
		c.expectOne(t, got.cut(""), old, false, label+", reader from before") // it may know of a grid that has grown behind what it read
	}
	c.check(t, disk, old, done, true, label+", no power cut")
	if late == nil {
		return
	}
	if got, want := lookAgain(t, late, label), look(t, disk, label); got.shape[0] == want.shape[0] && !got.equal(want) {
		t.Fatalf("%s: a reader that stays open sees %v after the next writer, want %v", label, got, want)
	}
}

// check looks at an image, and goes on from there where goOn is set.
func (c *crashCase) check(t *testing.T, image *vfs.Disk, old state, done, goOn bool, label string) {
	t.Helper()
	got := look(t, image, label)
	c.expectOne(t, got, old, done, label)
	if got.shape != nil && goOn {
		growOver(t, image, got, label)
	}
}

// expectOne expects one of the states that the array may be in, the last one where the
// call has returned.
func (c *crashCase) expectOne(t *testing.T, got, old state, done bool, label string) {
	t.Helper()
	states := append([]state{old}, c.expect(old)...)
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
}

// growOver makes the array grow over whatever is left, first without elements and then
// with some.
func growOver(t *testing.T, disk *vfs.Disk, got state, label string) {
	t.Helper()
	ctx := context.Background()
	h := zarr.At(filestore.On(disk, nil), "")
	if _, err := openArray(ctx, h); err != nil {
		t.Fatalf("%s: opening for writing afterwards: %v", label, err)
	}
	wantTidy(t, h, label)
	growOn(t, h, got, label)
}

// wantTidy expects nothing to be left of what dead writers kept for themselves, but the
// note of a removal where no node is any more: it says that the rest may go.
func wantTidy(t *testing.T, h *zarr.Location, label string) {
	t.Helper()
	for e, err := range store.List(context.Background(), h.Store(), store.Path{}, true) {
		if err != nil {
			t.Fatal(err)
		}
		if dir, ok := strings.CutSuffix(e.Name, "/__varve/unfinished.json"); ok {
			if _, err := h.At(dir).Open(context.Background(), nil); errors.Is(err, fs.ErrNotExist) {
				continue
			}
		}
		if strings.Contains(e.Name, "__") {
			t.Fatalf("%s: %s is left", label, e.Name)
		}
	}
}

// TestFaults fails every operation on the file system once, as a full disk and a broken
// one do: the error says so, and the array is the old one or the new one.
func TestFaults(t *testing.T) {
	oneByOne(t)
	faults := faultAll(t, crashCases)
	t.Logf("%d faults", faults)
	if faults < 8000 {
		t.Errorf("only %d faults were tried", faults)
	}
}

// faultAll fails every operation of changes once, in every way. It returns how often.
func faultAll(t *testing.T, cases []crashCase) (faults int) {
	t.Helper()
	for _, c := range cases {
		for _, fault := range []error{syscall.ENOSPC, syscall.EIO, fs.ErrPermission} {
			for n := int64(0); ; n++ {
				disk, old := c.prepare(t)
				fail, failed := vfs.FailAt(n, fault)
				err := c.run(context.Background(), zarr.At(filestore.On(vfs.Hook(disk, fail), nil), ""))
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
				c.check(t, disk, old, err == nil, faults%3 == 0 || long(), fmt.Sprintf("%s, operation %d: %v", c.name, n, fault))
			}
		}
	}
	return faults
}
