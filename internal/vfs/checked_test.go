// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"testing"

	"varve.dev/zarr/internal/own"
)

// TestChecked checks which disks are alike: those that differ only in the clock of this
// machine and in random parts of names. A higher level includes lower ones.
func TestChecked(t *testing.T) {
	const first, second = own.Temporary + "0123456789abc-1", own.Temporary + "3zyxwvutsrqpo-1"
	// made returns a disk with a temporary file and one that names it, changed by more.
	made := func(temporary string, at int64, more func(*Disk)) *Disk {
		d := NewDisk()
		d.write(t, temporary, "bytes", true)
		d.write(t, "list", temporary, true)
		for i, name := range []string{temporary, "list"} {
			if err := d.Touch(name, at+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if more != nil {
			more(d)
		}
		return d
	}
	var c Checked
	for i, test := range []struct {
		d     *Disk
		level int
		first bool
	}{
		{made(first, 5, nil), 0, true},
		{made(first, 5, nil), 0, false},
		{made(second, 7000, nil), 0, false},
		{made(second, 7000, nil), 1, true},
		{made(first, 5, nil), 0, false},
		{made(first, 5, func(d *Disk) { _ = d.Touch("list", 1) }), 0, true},
		{made(first, 5, func(d *Disk) { d.write(t, "more", "", true) }), 0, true},
		{made(first, 5, func(d *Disk) { d.write(t, "more", "x", true) }), 0, true},
		{made(first, 5, func(d *Disk) { _, _ = d.TryLock("list") }), 0, true},
		{made(first, 5, func(d *Disk) { _ = d.Rename(first, "bytes") }), 0, true},
		{made(first, 5, func(d *Disk) { _ = d.Remove(first) }), 0, true},
		{made(first, 5, func(d *Disk) { _, _ = d.Link(first, "other") }), 0, true},
	} {
		if got := c.First(test.d, test.level); got != test.first {
			t.Errorf("disk %d at level %d is the first of its kind: %t", i, test.level, got)
		}
	}
}
