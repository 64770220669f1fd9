// SPDX-License-Identifier: Apache-2.0

package draw_test

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
)

func TestSVG(t *testing.T) {
	huge := int64(1_000_000_000_000_000_000)
	edges, sum := irregular()
	tests := []struct {
		name  string
		shape []int64
		cuts  []grid.Cut
		opt   *draw.SVGOptions
	}{
		{"rectilinear", []int64{60, 100}, []grid.Cut{grid.Edges(10, 20, 30), grid.Every(25)}, &draw.SVGOptions{Names: []string{"y", "x"}}},
		{"boundary", []int64{60, 100}, grid.Chunks(25, 30), nil},
		{"overhang", []int64{11, 30}, []grid.Cut{grid.Edges(4, 4, 4, 4, 4), grid.Edges(10, 10, 25, 10)}, nil},
		{"tail", []int64{376, 4, 8}, []grid.Cut{grid.Runs(grid.Run{Length: 366, Count: 1}, grid.Run{Length: 1, Count: 10}), grid.Every(4), grid.Edges(4, 4)},
			&draw.SVGOptions{Names: []string{"time", "lat", "lon"}, Title: "A year & ten <days>", Caption: "one line\nand another",
				Marks: []draw.Mark{{Chunks: grid.Box{{Start: 10, Stop: 11}, {Start: 0, Stop: 1}, {Start: 0, Stop: 2}}, Label: "last"}}}},
		{"century", []int64{29220}, []grid.Cut{grid.Edges(eightyYears()...)}, &draw.SVGOptions{Names: []string{"time"}}},
		{"stored", []int64{300, 30, 40}, grid.Chunks(1, 8, 1),
			&draw.SVGOptions{Axes: []int{1, 2}, Stored: func(b grid.Box) int64 {
				if b[1].Start == 1 {
					return -1
				}
				return b[2].Intersect(grid.Interval{Start: 0, Stop: 20}).Len() * b[0].Len() * b[1].Len()
			}}},
		{"shards", []int64{120, 95}, []grid.Cut{grid.Edges(60, 40, 20), grid.Every(50)}, &draw.SVGOptions{Names: []string{"t", "x"},
			Inner: divided(t, newGrid(t, []int64{120, 95}, grid.Edges(60, 40, 20), grid.Every(50)), grid.Every(20), grid.EveryTrimmed(15))}},
		{"shards-left-out", []int64{20_000, 24_000}, grid.Chunks(10, 1000), &draw.SVGOptions{
			Inner: divided(t, newGrid(t, []int64{20_000, 24_000}, grid.Every(10), grid.Every(1000)), grid.Edges(4, 3, 3), grid.Every(250))}},
		{"huge", []int64{huge, huge}, []grid.Cut{grid.Runs(grid.Run{Length: 1, Count: huge}), grid.Every(1)}, nil},
		{"irregular", []int64{sum, sum - 7000}, []grid.Cut{grid.Edges(edges...), grid.Edges(edges...)}, nil},
		{"rank-0", nil, nil, &draw.SVGOptions{Stored: func(grid.Box) int64 { return 1 }}},
		{"zero-extent", []int64{0, 5}, []grid.Cut{grid.Edges(2, 2), grid.Every(5)}, nil},
		{"zero-extent-regular", []int64{0, 5}, grid.Chunks(2, 5), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := draw.SVG(newGrid(t, test.shape, test.cuts...), test.opt)
			if err := wellFormed(got); err != nil {
				t.Error(err)
			}
			compareFile(t, filepath.Join("testdata", test.name+".svg"), string(got))
		})
	}
}

// divided returns the inner chunks of shards.
func divided(t *testing.T, shards *grid.Grid, cuts ...grid.Cut) *grid.Grid {
	t.Helper()
	g, err := shards.Divided(cuts...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSVGInner checks that fine lines appear if there is room, and that grids of another
// rank are ignored.
func TestSVGInner(t *testing.T) {
	shards := newGrid(t, []int64{64, 64}, grid.Every(32), grid.Every(32))
	without := draw.SVG(shards, nil)
	for step, want := range map[[2]int64]struct {
		fine bool
		text string
	}{
		{1, 1}: {false, "inner chunks of 1 × 1, too small to draw"}, {8, 8}: {true, ""}, {16, 16}: {true, ""}, {32, 32}: {false, ""},
		{1, 16}: {true, "inner chunks of 1 × 16, in part too small to draw"}, {32, 1}: {false, "inner chunks of 32 × 1, too small to draw"},
	} {
		got := draw.SVG(shards, &draw.SVGOptions{Inner: divided(t, shards, grid.Every(step[0]), grid.Every(step[1]))})
		list, _ := texts(t, got)
		if bytes.Contains(got, []byte(`stroke-width=".4"`)) != want.fine || bytes.Equal(got, without) != (!want.fine && want.text == "") ||
			!strings.HasSuffix(strings.Join(list, " "), cmp.Or(want.text, "axis 0 → 64 32 32")) {
			t.Errorf("inner chunks of %d: %s", step, got)
		}
	}
	line := newGrid(t, []int64{64}, grid.Every(8))
	if got := draw.SVG(shards, &draw.SVGOptions{Inner: line}); !bytes.Equal(got, without) {
		t.Errorf("inner chunks with one axis: %s", got)
	}
}

// texts returns the texts of a picture with their positions.
func texts(t *testing.T, doc []byte) (list []string, at map[string][2]string) {
	t.Helper()
	at = map[string][2]string{}
	for _, m := range regexp.MustCompile(`<text x="(\d+)" y="(\d+)"[^>]*>([^<]*)</text>`).FindAllStringSubmatch(string(doc), -1) {
		list, at[m[3]] = append(list, m[3]), [2]string{m[1], m[2]}
	}
	return list, at
}

// TestSVGCaption checks that a caption that is wider than the picture is broken, and that
// none of it is lost.
func TestSVGCaption(t *testing.T) {
	g := newGrid(t, []int64{4, 4}, grid.Every(2), grid.Every(2))
	caption := strings.TrimSpace(strings.Repeat("a caption of several words ", 9)) + "\nsecond"
	list, _ := texts(t, draw.SVG(g, &draw.SVGOptions{Caption: caption}))
	first := slices.IndexFunc(list, func(s string) bool { return strings.HasPrefix(s, "a caption") })
	if first < 0 || len(list)-first < 4 || list[len(list)-1] != "second" || strings.Join(list[first:], " ") != strings.ReplaceAll(caption, "\n", " ") {
		t.Errorf("%q", list)
	}
	for _, line := range list[first:] {
		if len(line) > 45 { // of 300 pixels
			t.Errorf("%q is wide", line)
		}
	}
}

// TestSVGRowLegends checks that the legends of panels of different heights are side by
// side, below the cells of all.
func TestSVGRowLegends(t *testing.T) {
	all := func(b grid.Box) int64 { n, _ := b.Len(); return n }
	panel := func(rows int64, caption string) draw.Panel {
		return draw.Panel{Grid: newGrid(t, []int64{rows, 4}, grid.Every(2), grid.Every(2)), Options: &draw.SVGOptions{Caption: caption, Stored: all}}
	}
	_, at := texts(t, draw.SVGRow("three", panel(2, "low"), panel(24, "high"), panel(0, "empty")))
	if at["low"][1] != at["high"][1] || at["low"][0] == at["high"][0] || at["low"][1] == "" || at["empty"][1] < at["low"][1] {
		t.Errorf("%q", at)
	}
}

// wellFormed parses an XML document and checks its first elements.
func wellFormed(doc []byte) error {
	d := xml.NewDecoder(bytes.NewReader(doc))
	var first []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		e, ok := token.(xml.StartElement)
		if ok && len(first) < 3 {
			first = append(first, e.Name.Local)
		}
		// The decoder accepts repeated attributes, browsers do not.
		seen := map[xml.Name]bool{}
		for _, a := range e.Attr {
			if seen[a.Name] {
				return errors.New(e.Name.Local + " has two attributes " + a.Name.Local)
			}
			seen[a.Name] = true
		}
	}
	if got := strings.Join(first, " "); got != "svg title desc" {
		return errors.New("the document begins with " + got)
	}
	return nil
}

// TestSVGWellFormed draws random grids with random texts, alone and side by side. The
// result must be XML, must be the same twice, and must not be larger than what is visible
// requires.
func TestSVGWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		opt := anyOptions(t, g)
		doc := draw.SVG(g, opt)
		if err := wellFormed(doc); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(doc) > 100_000 {
			t.Fatalf("%d bytes", len(doc))
		}
		if again := draw.SVG(g, opt); !bytes.Equal(doc, again) {
			t.Fatal("drawn differently the second time")
		}
		other := anyGrid(t)
		row := draw.SVGRow(rapid.String().Draw(t, "title"), draw.Panel{Grid: g, Options: opt}, draw.Panel{Grid: other})
		if err := wellFormed(row); err != nil {
			t.Fatalf("%v in\n%s", err, row)
		}
	})
}

func anyOptions(t *rapid.T, g *grid.Grid) *draw.SVGOptions {
	box := make(grid.Box, g.Rank())
	for i := range box {
		box[i].Start = rapid.Int64Range(-1, g.Axis(i).Cells()).Draw(t, "start")
		box[i].Stop = rapid.Int64Range(-1, g.Axis(i).Cells()).Draw(t, "stop")
	}
	return &draw.SVGOptions{
		Title: rapid.String().Draw(t, "heading"), Caption: rapid.String().Draw(t, "caption"),
		Names: rapid.SliceOfN(rapid.String(), g.Rank(), g.Rank()).Draw(t, "names"),
		Axes:  rapid.SliceOfN(rapid.IntRange(-1, 4), 0, 3).Draw(t, "axes"),
		Marks: []draw.Mark{{
			Chunks: box, Label: rapid.String().Draw(t, "label"), Meaning: rapid.String().Draw(t, "meaning"), Fill: rapid.Bool().Draw(t, "fill"),
		}, {}},
		Labels: func(axis int, e grid.Interval) string {
			if e.Start < 0 || e.Len() < 1 || e.Stop > g.Axis(axis).Extent() {
				t.Fatalf("asked for the name of %v along axis %d", e, axis)
			}
			return strings.Repeat("n", int(e.Start%20))
		},
		Stored: func(b grid.Box) int64 {
			if !within(b, g.Chunks()) {
				t.Fatalf("asked for %v, there are %v", b, g.Chunks())
			}
			n, _ := b.Len()
			return n%4 - 1
		},
	}
}

// TestSVGLooksAtAllChunks checks that the blocks of a picture cover each chunk once.
func TestSVGLooksAtAllChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGrid(t)
		all, ok := g.NumChunks()
		var asked int64
		draw.SVG(g, &draw.SVGOptions{Stored: func(b grid.Box) int64 {
			n, _ := b.Len()
			asked += n
			return 0
		}})
		if ok && asked != all {
			t.Fatalf("asked for %d of %d chunks", asked, all)
		}
	})
}

// TestSVGNeedsNothing checks that a picture has no external references, and that texts
// are escaped.
func TestSVGNeedsNothing(t *testing.T) {
	g := newGrid(t, []int64{6}, grid.Every(3))
	text := `"><script href='x'>&` + "\x00\x1b"
	doc := string(draw.SVG(g, &draw.SVGOptions{Title: text, Caption: text, Names: []string{text}, Marks: []draw.Mark{{Chunks: grid.Box{{Stop: 1}}, Label: text}}}))
	for _, part := range []string{"<script", ` href="`, "<style", "@import", "http:", "\x00", "\x1b"} {
		if strings.Contains(strings.ReplaceAll(doc, `xmlns="http:`, ""), part) {
			t.Errorf("%q is in\n%s", part, doc)
		}
	}
}

func TestSVGRowHasOneScale(t *testing.T) {
	months, steps := newGrid(t, []int64{120}, grid.Edges(31, 28, 31, 30)), newGrid(t, []int64{120}, grid.Every(30))
	doc := draw.SVGRow("120 days", draw.Panel{Grid: steps}, draw.Panel{Grid: months})
	// 28 days take 64 pixels, so 30 days take 69 in both panels.
	for _, line := range []string{"M69 0V44M138 0V44M207 0V44", "M71 0V44M135 0V44M206 0V44"} {
		if !strings.Contains(string(doc), line) {
			t.Errorf("%q is missing in\n%s", line, doc)
		}
	}
}

func BenchmarkSVG(b *testing.B) {
	huge := int64(1_000_000_000_000_000_000)
	billion := int64(1_000_000_000)
	grids := map[string]*grid.Grid{
		"chunks=10":   newGrid(b, []int64{10}, grid.Every(1)),
		"chunks=1e9":  newGrid(b, []int64{billion}, grid.Every(1)),
		"runs=1e9":    newGrid(b, []int64{billion}, grid.Runs(grid.Run{Length: 1, Count: billion})),
		"chunks=1e36": newGrid(b, []int64{huge, huge}, grid.Every(1), grid.Runs(grid.Run{Length: 1, Count: huge})),
	}
	for name, g := range grids {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				draw.SVG(g, nil)
			}
		})
	}
}

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
