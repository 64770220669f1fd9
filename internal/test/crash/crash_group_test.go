// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
)

// groupCase is a change of a group whose arrays grow in one transaction and whose
// metadata is consolidated.
type groupCase struct {
	name string
	run  func(ctx context.Context, g *zarr.Group) error
	rows []int // the numbers of rows that all arrays may have, in order
}

// datasetRows is the number of rows before the change.
const datasetRows = 5

// newDataset returns a disk with a group and its arrays: "time" with listed edges,
// "value" with chunks of two rows and two columns, "deep/mask" with an edge that reaches
// beyond the extent.
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
		a, err := g.At(path).CreateArray(ctx, zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts}, nil)
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

// rowsOfDataset returns the elements of n rows of an array.
func rowsOfDataset(path string, from, n int) []int32 {
	if path == "time" {
		return fixture.Numbers(int32(1+from), int32(n))
	}
	return fixture.Numbers(int32(1+3*from), int32(3*n))
}

// appendRows appends rows to all arrays in one transaction.
func appendRows(ctx context.Context, g *zarr.Group, from, n int) error {
	var more []zarr.Addition
	for _, path := range []string{"value", "time", "deep/mask"} {
		more = append(more, zarr.Add(path, 0, rowsOfDataset(path, from, n), nil))
	}
	return g.Append(ctx, more...)
}

var groupCases = []groupCase{
	{"append", func(ctx context.Context, g *zarr.Group) error { return appendRows(ctx, g, datasetRows, 4) }, []int{9}},
	{"append twice", func(ctx context.Context, g *zarr.Group) error {
		if err := appendRows(ctx, g, datasetRows, 1); err != nil {
			return err
		}
		return appendRows(ctx, g, datasetRows+1, 2)
	}, []int{6, 8}},
	{"consolidate", func(ctx context.Context, g *zarr.Group) error { return g.Consolidate(ctx) }, []int{5}},
}

// openDataset opens the group for writing.
func openDataset(ctx context.Context, disk vfs.FS) (*zarr.Group, error) {
	return zarr.At(fixture.FileStore(disk), "g").OpenGroup(ctx, &zarr.Options{Write: true, Concurrency: 1})
}

// snapshot returns the number of rows of each array, as readers of the consolidated
// metadata see it if there is one, and checks their elements.
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

// wantRows checks the first n rows of an array, which may have more.
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

// each expects every array to have one of the numbers of rows of the case. With same,
// all have the same number, which it returns.
func (c *groupCase) each(t *testing.T, rows map[string]int, same bool, label string) int {
	t.Helper()
	for path, n := range rows {
		if n != datasetRows && !slices.Contains(c.rows, n) || same && n != rows["time"] || len(rows) != 3 {
			t.Fatalf("%s: %s has %d rows; all arrays have %v", label, path, n, rows)
		}
	}
	return rows["time"]
}

// check reads an image and then opens all arrays for writing. With goOn, it also appends
// to all of them.
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
		t.Fatalf("%s: the consolidated metadata shows %v rows, the arrays have %v", label, again, rows)
	}
	now := c.each(t, rows, true, label)
	if now < n {
		t.Fatalf("%s: %d rows, and %d after opening for writing", label, n, now)
	}
	if !goOn {
		return
	}
	if err := appendRows(ctx, g, now, 2); err != nil {
		t.Fatalf("%s: appending afterwards: %v", label, err)
	}
	for path, more := range snapshot(t, disk, label) {
		if more != now+2 {
			t.Fatalf("%s: %s has %d rows, want %d", label, path, more, now+2)
		}
	}
}

// TestCrashTransaction stops the machine before every operation of a change of several
// arrays. Readers of the consolidated metadata always see all arrays before the change
// or all after it. Once the arrays were opened for writing, so does every other reader.
func TestCrashTransaction(t *testing.T) {
	fixture.Sequential(t)
	points, images := 0, 0
	for k, c := range groupCases {
		for _, consolidated := range []bool{true, false} {
			if len(c.rows) > 1 && !fixture.Long() {
				continue
			}
			t.Run(fmt.Sprintf("%s, consolidated %v", c.name, consolidated), func(t *testing.T) {
				checked := outcomes{}
				for n := int64(k) % stride; ; n += stride {
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
						if goOn := images%8 == 0 || fixture.Long(); checked.first(image, err == nil, goOn) {
							c.check(t, image, consolidated, err == nil, goOn, fmt.Sprintf("operation %d, %s", n, label))
						}
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
	if points < least(750) || images < least(6800) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// TestCrashTransactionReverted restores one array to its state before a change whose
// writer crashed, and then opens the others. The decided change is not made a second
// time.
func TestCrashTransactionReverted(t *testing.T) {
	fixture.Sequential(t)
	ctx := context.Background()
	for k, path := range []string{"deep/mask", "time", "value"} {
		for n := int64(k) % stride; ; n += stride {
			disk := newDataset(t, true)
			stop, stopped := vfs.StopAt(n)
			g, err := openDataset(ctx, vfs.Hook(disk, stop))
			if err == nil {
				err = appendRows(ctx, g, datasetRows, 4)
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
				t.Fatalf("%s: %d rows were appended again", label, rows[path])
			}
		}
	}
}
