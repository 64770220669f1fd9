// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
)

// crashedTwice are the changes after which the next writer has something to recover.
var crashedTwice = []string{"trim exactly, raw", "trim a plane exactly", "unlock and trim"}

// imagesOf returns functions that make the two extreme images of a power cut: without
// all unsynced data, and with all of it.
func imagesOf(disk *vfs.Disk) map[string]func() *vfs.Disk {
	images := map[string]func() *vfs.Disk{}
	for label := range disk.Images(0, 0) {
		if len(images) == 2 {
			break
		}
		images[label] = func() *vfs.Disk {
			for l, image := range disk.Images(0, 0) {
				if l == label {
					return image
				}
			}
			return nil
		}
	}
	return images
}

// TestCrashDuringRecovery stops the machine during a change, and stops the next writer
// while it recovers.
func TestCrashDuringRecovery(t *testing.T) {
	fixture.Sequential(t)
	ctx, images := context.Background(), 0
	stride := int64(31)
	if fixture.Long() {
		stride = 7
	}
	again := func(disk *vfs.Disk, label string, recover func(*zarr.Location), check func(*vfs.Disk, string)) {
		for first, image := range imagesOf(disk) {
			for m := int64(0); ; m++ {
				disk := image()
				stop, stopped := vfs.StopAt(m)
				recover(zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""))
				for second, image := range disk.Images(uint64(m), 0) {
					images++
					check(image, fmt.Sprintf("%s, %s, then operation %d, %s", label, first, m, second))
				}
				if !stopped() {
					break
				}
			}
		}
	}
	for _, c := range crashCases {
		if !slices.Contains(crashedTwice, c.name) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			checked := outcomes{}
			for n := int64(0); ; n += stride {
				disk, old := c.prepare(t)
				stop, stopped := vfs.StopAt(n)
				err := c.run(ctx, zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""))
				again(disk, fmt.Sprintf("operation %d", n), func(h *zarr.Location) { _, _ = openArray(ctx, h) }, func(image *vfs.Disk, label string) {
					if goOn := images%3 == 0 || fixture.Long(); checked.first(image, err == nil, goOn) {
						c.check(t, image, old, err == nil, goOn, label)
					}
				})
				if !stopped() {
					return
				}
			}
		})
	}
	c := groupCases[0]
	t.Run("together", func(t *testing.T) {
		checked := outcomes{}
		for n := int64(100); ; n += 3 * stride {
			disk := newDataset(t, true)
			stop, stopped := vfs.StopAt(n)
			g, err := openDataset(ctx, vfs.Hook(disk, stop))
			if err == nil {
				err = c.run(ctx, g)
			}
			again(disk, fmt.Sprintf("operation %d", n), func(h *zarr.Location) {
				_, _ = h.At("g/value").OpenArray(ctx, &zarr.Options{Write: true})
			}, func(image *vfs.Disk, label string) {
				if checked.first(image, err == nil, false) {
					c.check(t, image, true, err == nil, false, label)
				}
			})
			if !stopped() {
				return
			}
		}
	})
	t.Logf("%d images", images)
	if images < 11_000 {
		t.Errorf("only %d images were tried", images)
	}
}
