// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/pyramid"
)

// crashSteps are what comes before a pyramid is made.
var crashSteps = map[string]func(t *testing.T, a *zarr.Array){
	"first": func(*testing.T, *zarr.Array) {},
	"append": func(t *testing.T, a *zarr.Array) {
		_, err := pyramid.Make(t.Context(), a, nil)
		check1(t, err)
		check1(t, zarr.Append(t.Context(), a, 0, repeated(8*4, 7), nil))
	},
	"taller": func(t *testing.T, a *zarr.Array) {
		_, err := pyramid.Make(t.Context(), a, nil)
		check1(t, err)
		check1(t, zarr.Append(t.Context(), a, 1, repeated(2*5*4, 7), nil))
	},
	"smaller": func(t *testing.T, a *zarr.Array) {
		_, err := pyramid.Make(t.Context(), a, nil)
		check1(t, err)
		check1(t, a.Resize(t.Context(), []int64{2, 3, 2}, nil))
	},
	"other method": func(t *testing.T, a *zarr.Array) {
		_, err := pyramid.Make(t.Context(), a, &pyramid.Options{Method: pyramid.Max})
		check1(t, err)
	},
}

// TestCrash stops the machine before each operation on the file system. Whatever a power
// cut then leaves, the levels that the metadata name can be read, and have old elements
// or new ones. The next call makes the same pyramid as a call that was not stopped.
func TestCrash(t *testing.T) {
	fixture.Sequential(t)
	points, images, stride := 0, 0, fixture.Stride(3)
	for name, before := range crashSteps {
		t.Run(name, func(t *testing.T) {
			whole := prepared(t, before)
			old := levels(t, whole)
			remake(t, whole)
			want := levels(t, whole)
			for n := int64(points) % stride; ; n += stride {
				disk := prepared(t, before)
				stop, stopped := vfs.StopAt(n)
				a, err := zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "g/image").OpenArray(t.Context(), &zarr.Options{Write: true})
				if err == nil {
					_, err = pyramid.Make(t.Context(), a, nil)
				}
				if !stopped() {
					check1(t, err)
					return
				}
				points++
				for label, image := range disk.Images(uint64(n), fixture.RandomImages()/4) {
					if points%4 != 0 && !fixture.Long() {
						break
					}
					wantEither(t, n, label, levels(t, image), old, want)
					if images++; images%7 == 0 || fixture.Long() {
						remake(t, image)
						wantSame(t, n, label, levels(t, image), want)
					}
				}
				remake(t, disk)
				wantSame(t, n, "no power cut", levels(t, disk), want)
			}
		})
	}
	t.Logf("%d points, %d images", points, images)
	if points < 1000/int(stride) || images < 2000/int(stride) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// prepared returns a disk with an array, on which before has run.
func prepared(t *testing.T, before func(*testing.T, *zarr.Array)) *vfs.Disk {
	t.Helper()
	disk := vfs.NewDisk()
	spec := zarr.Spec{Shape: []int64{2, 8, 4}, Chunks: []grid.Cut{grid.Edges(1, 1), grid.Every(3), grid.Every(3)}}
	before(t, newImage(t, fixture.FileStore(disk), spec))
	return disk
}

// remake makes the pyramid on a disk.
func remake(t *testing.T, disk *vfs.Disk) {
	t.Helper()
	a, err := zarr.At(fixture.FileStore(disk), "g/image").OpenArray(t.Context(), &zarr.Options{Write: true})
	check1(t, err)
	_, err = pyramid.Make(t.Context(), a, nil)
	check1(t, err)
}

// looked has what the metadata of the group name, without the array itself.
type looked struct {
	paths []string
	data  []zarr.Block[int32]
}

func (l looked) equal(o looked) bool {
	return slices.Equal(l.paths, o.paths) && slices.EqualFunc(l.data, o.data, func(a, b zarr.Block[int32]) bool {
		return slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Data, b.Data)
	})
}

// levels reads all levels that the metadata name.
func levels(t *testing.T, disk *vfs.Disk) looked {
	t.Helper()
	var l looked
	s := fixture.FileStore(disk)
	for _, path := range named(t, s)[min(1, len(named(t, s))):] {
		a, err := zarr.At(s, "g/"+path).OpenArray(t.Context(), nil)
		check1(t, err)
		b, err := zarr.Read[int32](t.Context(), a, nil)
		check1(t, err)
		l.paths, l.data = append(l.paths, path), append(l.data, b)
	}
	return l
}

// wantEither checks that every element of every level is that of before or after.
func wantEither(t *testing.T, n int64, label string, got, old, want looked) {
	t.Helper()
	for i, b := range got.data {
		for index, x := range b.All() {
			if !holds(old, i, index, x) && !holds(want, i, index, x) {
				t.Fatalf("operation %d, %s: element %v of %s is %d", n, label, index, got.paths[i], x)
			}
		}
	}
}

// holds reports whether an element of a level has the given value.
func holds(l looked, level int, index []int64, x int32) bool {
	return level < len(l.data) && grid.BoxOf(l.data[level].Shape).Contains(index) && l.data[level].At(index...) == x
}

func wantSame(t *testing.T, n int64, label string, got, want looked) {
	t.Helper()
	if !got.equal(want) {
		t.Fatalf("operation %d, %s: then %v, want %v", n, label, got, want)
	}
}
