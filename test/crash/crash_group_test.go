// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/test/fixture"
)

// groupCase is a change of a group, which holds a time and a value that grow together,
// and knows their documents.
type groupCase struct {
	name string
	run  func(ctx context.Context, g *zarr.Group) error
	rows []int // how many rows all arrays have in turn
}

// datasetRows is how many rows the arrays have before.
const datasetRows = 5

// newDataset returns a disk with a group and its arrays: "time" with listed edges,
// "value" with chunks of two rows and two columns, "deep/mask" with an edge that reaches
// beyond.
func newDataset(t *testing.T, consolidate bool) *vfs.Disk {
	t.Helper()
	ctx := context.Background()
	disk := vfs.NewDisk()
	h := zarr.At(fixture.FileStore(disk), "")
	g, err := h.At("g").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, cuts := range map[string][]grid.Cut{
		"time": {grid.Edges(2, 3)}, "value": {grid.Every(2), grid.Every(2)}, "deep/mask": {grid.Edges(4, 4), grid.Every(4)},
	} {
		shape := []int64{datasetRows, 3}[:len(cuts)]
		a, err := g.At(path).CreateArray(ctx, zarr.Spec{Shape: shape, Type: dtype.Of[int32](), Chunks: cuts}, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, rowsOfDataset(path, 0, datasetRows))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if consolidate {
		if err := g.Consolidate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// rowsOfDataset returns the elements of some rows of an array.
func rowsOfDataset(path string, from, n int) []int32 {
	if path == "time" {
		return fixture.Numbers(int32(1+from), int32(n))
	}
	return fixture.Numbers(int32(1+3*from), int32(3*n))
}

// appendTogether appends rows to all arrays.
func appendTogether(ctx context.Context, g *zarr.Group, from, n int) error {
	var more []zarr.Addition
	for _, path := range []string{"value", "time", "deep/mask"} {
		more = append(more, zarr.Add(path, 0, rowsOfDataset(path, from, n), nil))
	}
	return g.Append(ctx, more...)
}

var groupCases = []groupCase{
	{"append", func(ctx context.Context, g *zarr.Group) error { return appendTogether(ctx, g, datasetRows, 4) }, []int{9}},
	{"append twice", func(ctx context.Context, g *zarr.Group) error {
		if err := appendTogether(ctx, g, datasetRows, 1); err != nil {
			return err
		}
		return appendTogether(ctx, g, datasetRows+1, 2)
	}, []int{6, 8}},
	{"consolidate", func(ctx context.Context, g *zarr.Group) error { return g.Consolidate(ctx) }, []int{5}},
}

// openDataset opens the group for writing.
func openDataset(ctx context.Context, disk vfs.FS) (*zarr.Group, error) {
	return zarr.At(fixture.FileStore(disk), "g").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1})
}

// snapshot returns how many rows each array has for a reader who uses the group's
// consolidated metadata where it is, and expects them to have the right elements.
func snapshot(t *testing.T, disk *vfs.Disk, label string) map[string]int {
	t.Helper()
	ctx := context.Background()
	g, err := zarr.At(fixture.FileReader(disk), "g").OpenGroup(ctx, nil)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	rows := map[string]int{}
	for m, err := range g.Members(ctx, true) {
		if err != nil || m.Err != nil {
			t.Fatalf("%s: %s: %v, %v", label, m.Path, err, m.Err)
		}
		if a, ok := m.Node.(*zarr.Array); ok {
			rows[m.Path] = int(a.Shape()[0])
			wantRows(t, a, m.Path, rows[m.Path], label)
		}
	}
	return rows
}

// wantRows expects the first rows of an array, whatever more it may have.
func wantRows(t *testing.T, a *zarr.Array, path string, n int, label string) {
	t.Helper()
	b, err := zarr.Read[int32](context.Background(), a, selection.Box{{0, int64(n)}, {0, 3}}[:a.Rank()])
	if err != nil {
		t.Fatalf("%s: %s: %v", label, path, err)
	}
	if want := rowsOfDataset(path, 0, n); !slices.Equal(b.Data, want) {
		t.Fatalf("%s: %s holds %v, want %v", label, path, b.Data, want)
	}
}

// each expects all arrays to have one of the numbers of rows, and all the same where they
// have to, which is returned.
func (c *groupCase) each(t *testing.T, rows map[string]int, same bool, label string) int {
	t.Helper()
	for path, n := range rows {
		if n != datasetRows && !slices.Contains(c.rows, n) || same && n != rows["time"] || len(rows) != 3 {
			t.Fatalf("%s: %s has %d rows of %v", label, path, n, rows)
		}
	}
	return rows["time"]
}

// check looks at an image and opens all arrays for writing. Then all can be appended to,
// which it tries where goOn is set.
func (c *groupCase) check(t *testing.T, disk *vfs.Disk, consolidated, done, goOn bool, label string) {
	t.Helper()
	ctx := context.Background()
	n := c.each(t, snapshot(t, disk, label), consolidated, label)
	if done && n != c.rows[len(c.rows)-1] {
		t.Fatalf("%s: %d rows after success", label, n)
	}
	g, err := openDataset(ctx, disk)
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	rows := map[string]int{}
	for _, path := range []string{"time", "value", "deep/mask"} {
		a, err := g.At(path).OpenArray(ctx, nil)
		if err != nil {
			t.Fatalf("%s: opening %s for writing: %v", label, path, err)
		}
		rows[path] = int(a.Shape()[0])
	}
	fixture.WantTidy(t, zarr.At(fixture.FileStore(disk), ""), label)
	if again := snapshot(t, disk, label); !maps.Equal(again, rows) {
		t.Fatalf("%s: the group knows of %v rows, the arrays have %v", label, again, rows)
	}
	now := c.each(t, rows, true, label)
	if now < n {
		t.Fatalf("%s: %d rows, and later %d", label, n, now)
	}
	if !goOn {
		return
	}
	if err := appendTogether(ctx, g, now, 2); err != nil {
		t.Fatalf("%s: appending afterwards: %v", label, err)
	}
	for path, more := range snapshot(t, disk, label) {
		if more != now+2 {
			t.Fatalf("%s: %s has %d rows, want %d", label, path, more, now+2)
		}
	}
}

// TestCrashTogether stops the machine before every operation of a change of several
// arrays. Readers of the group's metadata always see all arrays before the change, or all
// after it; once the arrays were opened for writing, so does everybody.
func TestCrashTogether(t *testing.T) {
	fixture.OneByOne(t)
	points, images := 0, 0
	for _, c := range groupCases {
		for _, consolidated := range []bool{true, false} {
			if len(c.rows) > 1 && !fixture.Long() {
				continue
			}
			t.Run(fmt.Sprintf("%s, consolidated %v", c.name, consolidated), func(t *testing.T) {
				for n := int64(0); ; n++ {
					disk := newDataset(t, consolidated)
					stop, stopped := vfs.StopAt(n)
					g, err := openDataset(context.Background(), vfs.Hook(disk, stop))
					if err == nil {
						err = c.run(context.Background(), g)
					}
					if !stopped() && err != nil {
						t.Fatal(err)
					}
					points++
					for label, image := range disk.Images(uint64(n), fixture.RandomImages()/4) {
						images++
						goOn := images%8 == 0 || fixture.Long()
						c.check(t, image, consolidated, err == nil, goOn, fmt.Sprintf("operation %d, %s", n, label))
					}
					c.check(t, disk, consolidated, err == nil, true, fmt.Sprintf("operation %d, no power cut", n))
					if !stopped() {
						return
					}
				}
			})
		}
	}
	t.Logf("%d points, %d images", points, images)
	if points < 750 || images < 6800 {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// TestCrashTogetherAndBack makes one array what it was before a change whose writer died,
// and then opens the others: what the dead writer had decided is not done twice.
func TestCrashTogetherAndBack(t *testing.T) {
	fixture.OneByOne(t)
	ctx := context.Background()
	for _, path := range []string{"deep/mask", "time", "value"} {
		for n := int64(0); ; n++ {
			disk := newDataset(t, true)
			stop, stopped := vfs.StopAt(n)
			g, err := openDataset(ctx, vfs.Hook(disk, stop))
			if err == nil {
				err = appendTogether(ctx, g, datasetRows, 4)
			}
			if !stopped() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			label := fmt.Sprintf("%s, operation %d", path, n)
			if g, err = openDataset(ctx, disk); err != nil {
				t.Fatal(err)
			}
			a, err := g.At(path).OpenArray(ctx, nil)
			if err != nil {
				t.Fatalf("%s: %v", label, err)
			}
			shape := []int64{datasetRows, 3}[:a.Rank()]
			if err := a.Resize(ctx, shape, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
				t.Fatalf("%s: %v", label, err)
			}
			for _, other := range []string{"value", "time", "deep/mask"} {
				if _, err := g.At(other).OpenArray(ctx, nil); err != nil {
					t.Fatalf("%s: %v", label, err)
				}
			}
			if rows := snapshot(t, disk, label); rows[path] != datasetRows {
				t.Fatalf("%s: %d rows came back", label, rows[path])
			}
		}
	}
}
