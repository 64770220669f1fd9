// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"path/filepath"
	"testing"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
)

//go:generate go test . -run TestPictures -update

// TestPictures checks that the pictures in docs are up to date. Run go generate to update
// them.
func TestPictures(t *testing.T) {
	for name, picture := range map[string][]byte{
		"regular-and-rectilinear.svg": draw.SVGRow("A regular grid beside a rectilinear one: January to April in chunks of 31 days, and in chunks of a month",
			daysPanel(t, "regular: chunks of 31 days", "no chunk but the first is a month", 120, grid.Every(31)),
			daysPanel(t, "rectilinear: a chunk a month", "every chunk is a month", 120, grid.Edges(31, 28, 31, 30))),
		"one-more-day.svg": draw.SVGRow("One more day, the first of May: the regular grid writes its last chunk of 28 days again, the rectilinear one adds a chunk of one day",
			daysPanel(t, "regular: +1 day", "the last chunk holds 27 older days:\nit is read and written again", 121, grid.Every(31), written(3, "28 days")),
			daysPanel(t, "rectilinear: +1 day", "nothing that is stored is touched:\none small chunk is added", 121, grid.Edges(31, 28, 31, 30, 1), written(4, "1 day"))),
	} {
		if err := wellFormed(picture); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compareFile(t, filepath.Join("..", "..", "docs", name), string(picture))
	}
}

// daysPanel draws the first days of a year, all of which are stored.
func daysPanel(t *testing.T, title, caption string, days int64, cut grid.Cut, marks ...draw.Mark) draw.Panel {
	return draw.Panel{
		Grid: newGrid(t, []int64{days, 90}, cut, grid.Every(45)),
		Options: &draw.SVGOptions{
			Title: title, Caption: caption, Names: []string{"day", "lat"}, Marks: marks, Labels: daysOf2023,
			Stored: func(chunks grid.Box) int64 { n, _ := chunks.Len(); return n },
		},
	}
}

// written marks the chunks of a row that a writer stores for the last day.
func written(row int64, days string) draw.Mark {
	return draw.Mark{Chunks: grid.Box{{Start: row, Stop: row + 1}, {Stop: 2}}, Label: "← " + days, Fill: true, Meaning: "written for that day"}
}

// daysOf2023 names the elements of axis 0, which are days.
func daysOf2023(axis int, e grid.Interval) string {
	day := func(i int64) time.Time { return time.Date(2023, 1, 1+int(i), 0, 0, 0, 0, time.UTC) }
	first, last := day(e.Start), day(e.Stop-1)
	switch {
	case axis != 0:
		return ""
	case first.Day() == 1 && day(e.Stop).Day() == 1:
		return first.Format("Jan")
	case first == last:
		return first.Format("2 Jan")
	}
	if first.Month() == last.Month() {
		return first.Format("2–") + last.Format("2 Jan")
	}
	return first.Format("2 Jan") + "–" + last.Format("2 Jan")
}
