// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// forgetful is a file system in which the answer to one change of names is lost: the
// change happens, and the call fails.
type forgetful struct {
	vfs.FS
	at   int64
	seen atomic.Int64
}

// answer returns err, or for the chosen call an error in spite of success.
func (f *forgetful) answer(err error) error {
	if f.seen.Add(1) == f.at+1 && err == nil {
		return syscall.EIO
	}
	return err
}

func (f *forgetful) Mkdir(name string) error          { return f.answer(f.FS.Mkdir(name)) }
func (f *forgetful) Rename(from, to string) error     { return f.answer(f.FS.Rename(from, to)) }
func (f *forgetful) Remove(name string) error         { return f.answer(f.FS.Remove(name)) }
func (f *forgetful) RemoveDir(name string) error      { return f.answer(f.FS.RemoveDir(name)) }
func (f *forgetful) Touch(name string, t int64) error { return f.answer(f.FS.Touch(name, t)) }

func (f *forgetful) Link(from, to string) (vfs.Stat, error) {
	s, err := f.FS.Link(from, to)
	if err = f.answer(err); err != nil {
		s = vfs.Stat{}
	}
	return s, err
}

// trial is one kind of change on a disk, and the counts of a test.
type trial struct {
	change
	name           string
	shares         bool  // files can share bytes
	first, stride  int64 // operations at which to stop
	points, images int
	checked        vfs.Checked
}

// disk returns a disk on which the array is durable.
func (c *trial) disk(t *testing.T) *vfs.Disk {
	t.Helper()
	d := vfs.NewDisk()
	d.Shares = c.shares
	if err := c.prepare(t.Context(), fixture.FileStore(d)); err != nil {
		t.Fatal(err)
	}
	return d
}

// check reads the array. With goOn, it also makes the change again, and nothing may be
// left that the document does not describe, except for temporary files, lock files and
// empty directories, which the next writer uses or removes. It reports whether it has
// looked: a disk like one that was checked would pass as well.
func (c *trial) check(t *testing.T, d *vfs.Disk, goOn bool, label string) bool {
	t.Helper()
	c.images++
	level := 0
	if goOn {
		level = 1
	}
	if !c.checked.First(d, level) {
		return false
	}
	if !goOn {
		reads(t, fixture.FileReader(d), fixture.Numbers(1, 5)...)
		if t.Failed() {
			t.Fatal(label)
		}
		return true
	}
	left, err := c.again(t, fixture.FileStore(d))
	left = append(left, internal(t, d, ".")...)
	if err != nil || len(left) > 0 || t.Failed() {
		t.Fatalf("%s, %s: left %v (%v)", c.name, label, left, err)
	}
	return true
}

// internal returns the files of a disk that are not values, except for temporary files
// and lock files.
func internal(t *testing.T, d *vfs.Disk, dir string) (found []string) {
	t.Helper()
	for e, err := range d.ReadDir(dir) {
		if err != nil {
			t.Fatal(err)
		}
		switch name := path.Join(dir, e.Name()); {
		case strings.HasPrefix(e.Name(), "__tmp-"), e.Name() == "__varve.lock", e.Name() == "__varve.publish":
		case e.IsDir():
			found = append(found, internal(t, d, name)...)
		case strings.Contains(name, "__") && !strings.Contains(name, vacuumed):
			found = append(found, name)
		}
	}
	return found
}

// TestCrashFiles stops the machine before every operation on the file system, for every
// kind of change. Every image that a power cut may leave has the elements. The same call
// then completes the work, and after a vacuum nothing is left that the document does not
// describe. So it is if only the process ends there.
func TestCrashFiles(t *testing.T) {
	fixture.Sequential(t)
	points, images, stride := 0, 0, fixture.Stride(2)
	for name, c := range changes {
		for k, shares := range []bool{false, true} {
			u := trial{change: c, name: name, shares: shares, first: int64(k) % stride, stride: stride}
			t.Run(fmt.Sprintf("%s/%t", name, shares), u.cut)
			points, images = points+u.points, images+u.images
		}
	}
	t.Logf("%d points, %d images", points, images)
	if points < 2800/int(stride) || images < fixture.LeastImages(9000)/int(stride) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// cut stops the machine before every operation.
func (c *trial) cut(t *testing.T) {
	for n := c.first; ; n += c.stride {
		d := c.disk(t)
		stop, stopped := vfs.StopAt(n)
		err := c.run(t.Context(), fixture.FileStore(vfs.Hook(d, stop)), nil)
		if !stopped() && err != nil {
			t.Fatal(err)
		}
		c.points++
		for label, image := range d.Images(uint64(n), fixture.RandomImages()) {
			if label == "everything" { // only the process has ended
				c.tidy(t, image, n)
				continue
			}
			if n%5 != 0 && !fixture.Long() {
				continue
			}
			c.check(t, image, c.images%12 == 0 || fixture.Long(), fmt.Sprintf("operation %d, %s", n, label))
		}
		if !stopped() {
			return
		}
	}
}

// tidy checks an image that has everything. Then no temporary files are left, either.
func (c *trial) tidy(t *testing.T, d *vfs.Disk, n int64) {
	t.Helper()
	if !c.check(t, d, true, fmt.Sprintf("operation %d, everything", n)) {
		return
	}
	for f, err := range leftover.All(t.Context(), fixture.FileStore(d), store.Path{}) {
		t.Fatalf("%s, operation %d: the temporary file %s is left (%v)", c.name, n, f.Name, err)
	}
}

// TestFaultFiles fails every second operation on the file system once, or all, and loses
// the answer to every change of names once. The array has its elements; the same call
// completes the work; and after a vacuum nothing is left that the document does not
// describe.
func TestFaultFiles(t *testing.T) {
	fixture.Sequential(t)
	points, step := 0, int64(2)
	if fixture.Long() {
		step = 1
	}
	for name, c := range changes {
		u := trial{change: c, name: name}
		t.Run(name+"/refused", func(t *testing.T) {
			for n := int64(0); ; n += step {
				d := u.disk(t)
				fail, failed := vfs.FailAt(n, syscall.ENOSPC)
				err := u.run(t.Context(), fixture.FileStore(vfs.Hook(d, fail)), nil)
				if !failed() {
					return
				}
				u.wants(t, d, err, n)
			}
		})
		t.Run(name+"/lost", func(t *testing.T) {
			for n := int64(0); ; n++ {
				d := u.disk(t)
				f := &forgetful{FS: d, at: n}
				err := u.run(t.Context(), fixture.FileStore(f), nil)
				if f.seen.Load() <= n {
					return
				}
				u.wants(t, d, err, n)
			}
		})
		points += u.points
	}
	t.Logf("%d faults", points)
	if points < 1100 {
		t.Errorf("only %d faults were tried", points)
	}
}

// TestFaultSyncs fails one sync of a file or a directory, or that one and all later ones:
// the device loses what was written before. The array has its elements on the disk and in
// every image that a power cut may leave, and the same call completes the work.
func TestFaultSyncs(t *testing.T) {
	fixture.Sequential(t)
	points := 0
	for name, c := range changes {
		for _, stays := range []bool{false, true} {
			u := trial{change: c, name: name}
			t.Run(fmt.Sprintf("%s/%t", name, stays), func(t *testing.T) { points += u.loseSyncs(t, stays) })
		}
	}
	t.Logf("%d syncs", points)
	if points < 400 {
		t.Errorf("only %d syncs have failed", points)
	}
}

// loseSyncs fails each sync, and all later ones if the fault stays. It returns how many
// were failed.
func (c *trial) loseSyncs(t *testing.T, stays bool) int {
	for n := int64(0); ; n++ {
		d := c.disk(t)
		var syncs atomic.Int64
		fail := func(op vfs.Op) error {
			if !strings.Contains(op.Kind, "sync") {
				return nil
			}
			if k := syncs.Add(1) - 1; k == n || stays && k > n {
				return syscall.EIO
			}
			return nil
		}
		err := c.run(t.Context(), fixture.FileStore(vfs.Hook(d, fail)), nil)
		if syncs.Load() <= n {
			return int(n)
		}
		for label, image := range d.Images(uint64(n), fixture.RandomImages()) {
			c.check(t, image, n%5 == 0 || fixture.Long(), fmt.Sprintf("sync %d, %s: %v", n, label, err))
		}
		c.check(t, d, true, fmt.Sprintf("sync %d: %v", n, err))
	}
}

// wants checks the disk after a fault, and what the call has returned.
func (c *trial) wants(t *testing.T, d *vfs.Disk, err error, n int64) {
	t.Helper()
	c.points++
	// A lock file whose removal was not answered is removed again.
	if err != nil && !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrDurability) {
		t.Fatalf("%s, operation %d: %v", c.name, n, err)
	}
	c.check(t, d, true, fmt.Sprintf("operation %d: %v", n, err))
}
