package view_test

import (
	"path/filepath"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/view"
)

//go:generate go test . -run TestPictures -update

// TestPictures checks that the pictures in docs are as this package draws them now; go generate draws them anew.
func TestPictures(t *testing.T) {
	names := []string{"day", "lat"}
	all := func(chunks grid.Box) int64 { n, _ := chunks.Len(); return n }
	panel := func(title, caption string, days int64, cut grid.Cut, marks ...view.Mark) view.Panel {
		return view.Panel{
			Grid:    newGrid(t, []int64{days, 90}, cut, grid.Every(45)),
			Options: &view.SVGOptions{Title: title, Caption: caption, Names: names, Stored: all, Marks: marks},
		}
	}
	added := func(row, column int64) view.Mark {
		return view.Mark{Chunks: grid.Box{{Start: row, Stop: row + 1}, {Start: column, Stop: column + 1}}, Label: "new"}
	}
	for name, picture := range map[string][]byte{
		"regular-and-rectilinear.svg": view.SVGRow("A regular grid beside a rectilinear one: 120 days, in chunks of 30 days and by months",
			panel("regular: 30", "", 120, grid.Every(30)),
			panel("rectilinear: [31, 28, 31, 30]", "", 120, grid.Edges(31, 28, 31, 30))),
		"one-more-day.svg": view.SVGRow("One more day: a chunk of 30 days of which 29 are to come, beside a chunk of one day",
			panel("regular", "the next day rewrites\nthe new chunks", 121, grid.Every(30), added(4, 0), added(4, 1)),
			panel("rectilinear", "the next day\nis on its own again", 121, grid.Edges(31, 28, 31, 30, 1), added(4, 0), added(4, 1))),
	} {
		if err := wellFormed(picture); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compareFile(t, filepath.Join("..", "docs", name), string(picture))
	}
}
