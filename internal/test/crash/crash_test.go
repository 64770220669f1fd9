// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
)

// prepare returns a disk on which the array of the case is durable, with the numbers
// from 1 on.
func (c *crashCase) prepare(t *testing.T) (*vfs.Disk, fixture.State) {
	t.Helper()
	ctx := context.Background()
	disk := vfs.NewDisk()
	h := zarr.At(fixture.FileStore(disk), "")
	if c.spec.Type.IsZero() {
		if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
			t.Fatal(err)
		}
		return disk, fixture.State{}
	}
	a, err := h.At("g/a").CreateArray(ctx, c.spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, int32(fixture.Count(c.spec.Shape)))
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	return disk, fixture.State{Shape: c.spec.Shape, Data: data, Grid: string(a.Grid().AppendConfiguration(nil))}
}

// TestCrash stops the machine before every operation on the file system, and checks
// every image that a power cut may leave: it has the old state or the new one, whole,
// and the new one once the call has returned. Readers that were opened before the
// change, and those opened at that point, see the same. Opening for writing then removes
// everything that the crashed writer left. Every fifth image, or all, is also made to
// grow: the new elements are fill value.
func TestCrash(t *testing.T) {
	fixture.Sequential(t)
	points, images := crashAll(t, crashCases)
	t.Logf("%d points, %d images", points, images)
	if points < least(2900) || images < least(34_000) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// outcomes are the disks that one change has left, for a call that has succeeded and for
// one that has not.
type outcomes [2]vfs.Checked

// first reports whether no like disk was checked, or if goOn, none was made to grow.
func (o *outcomes) first(disk *vfs.Disk, done, goOn bool) bool {
	checked, level := &o[0], 0
	if done {
		checked = &o[1]
	}
	if goOn {
		level = 1
	}
	return checked.First(disk, level)
}

// stride is the distance between the operations at which a change is stopped.
var stride = fixture.Stride(3)

// least returns how many points a test must try that tries n in CI.
func least(n int) int { return n / int(stride) }

// crashAll stops changes before every operation and checks the images. It returns the
// number of points and of images.
func crashAll(t *testing.T, cases []crashCase) (points, images int) {
	t.Helper()
	for k, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			checked := outcomes{}
			for n := int64(k) % stride; ; n += stride {
				disk, old := c.prepare(t)
				early := fixture.Reader(t, disk)
				stop, stopped := vfs.StopAt(n)
				err := c.run(context.Background(), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""))
				if !stopped() && err != nil {
					t.Fatal(err)
				}
				points++
				for label, image := range disk.Images(uint64(n), fixture.RandomImages()) {
					images++
					if goOn := images%5 == 0 || fixture.Long(); checked.first(image, err == nil, goOn) {
						c.check(t, image, old, err == nil, goOn, fmt.Sprintf("operation %d, %s", n, label))
					}
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

// checkReaders reads from the disk at the point where the writer stops, with a reader
// opened before the change and with a new one. Both read again after the next writer.
func (c *crashCase) checkReaders(t *testing.T, disk *vfs.Disk, early *zarr.Array, old fixture.State, done bool, label string) {
	t.Helper()
	late := fixture.Reader(t, disk)
	if early != nil {
		got := fixture.LookAgain(t, early, label+", reader from before")
		c.expectOne(t, got.Cut(""), old, false, label+", reader from before") // the grid that it knows may have grown since it read
	}
	c.check(t, disk, old, done, true, label+", no power cut")
	if late == nil {
		return
	}
	if got, want := fixture.LookAgain(t, late, label), fixture.Look(t, disk, label); got.Shape[0] == want.Shape[0] && !got.Equal(want) {
		t.Fatalf("%s: after the next writer, the open reader sees %v, want %v", label, got, want)
	}
}

// check checks an image. With goOn, it also grows the array.
func (c *crashCase) check(t *testing.T, image *vfs.Disk, old fixture.State, done, goOn bool, label string) {
	t.Helper()
	got := fixture.Look(t, image, label)
	c.expectOne(t, got, old, done, label)
	if got.Shape != nil && goOn {
		growOver(t, image, got, label)
	}
}

// growOver grows the array over all leftovers, first without elements and then by an
// append.
func growOver(t *testing.T, disk *vfs.Disk, got fixture.State, label string) {
	t.Helper()
	ctx := context.Background()
	h := zarr.At(fixture.FileStore(disk), "")
	if _, err := openArray(ctx, h); err != nil {
		t.Fatalf("%s: opening for writing afterwards: %v", label, err)
	}
	fixture.WantTidy(t, h, label)
	growOn(t, h, got, label)
}

// TestFaults fails every operation on the file system once, with the errors of a full
// and of a broken disk. The call returns the error, and the array is the old one or the
// new one.
func TestFaults(t *testing.T) {
	fixture.Sequential(t)
	faults := faultAll(t, crashCases)
	t.Logf("%d faults", faults)
	if faults < least(8000) {
		t.Errorf("only %d faults were tried", faults)
	}
}

// faultAll fails every operation of changes once, in every way. It returns the number of
// faults.
func faultAll(t *testing.T, cases []crashCase) (faults int) {
	t.Helper()
	for _, c := range cases {
		checked := outcomes{}
		for k, fault := range []error{syscall.ENOSPC, syscall.EIO, fs.ErrPermission} {
			for n := int64(k) % stride; ; n += stride {
				disk, old := c.prepare(t)
				fail, failed := vfs.FailAt(n, fault)
				err := c.run(context.Background(), zarr.At(fixture.FileStore(vfs.Hook(disk, fail)), ""))
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
				if goOn := faults%3 == 0 || fixture.Long(); checked.first(disk, err == nil, goOn) {
					c.check(t, disk, old, err == nil, goOn, fmt.Sprintf("%s, operation %d: %v", c.name, n, fault))
				}
			}
		}
	}
	return faults
}
