// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/racing"
)

// progressLine is a progress line in the terminal session.
var progressLine = regexp.MustCompile(`\r[^\n]*?\x1b\[K`)

// TestSession compares docs/session.svg with what its commands print: VARVE_UPDATE=1 go
// test -run TestSession . draws it again.
func TestSession(t *testing.T) {
	racing.Skip(t)
	name, err := filepath.Abs(filepath.Join("..", "..", "docs", "session.svg"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("NO_COLOR", "1")
	fieldFile(t, "years.npy", 1824)
	fieldFile(t, "day.npy", 1)
	for node, days := range map[string]string{"regular.zarr": "365", "rectilinear.zarr": "[[365, 4], 364]"} {
		must(t, "", "create", node, "--chunks", "["+days+", 36, 72]", "--dimension-names", "time,lat,lon", "--from", "years.npy")
	}
	s := castSession{
		Title: "one more day, on a regular grid and on a rectilinear one", Columns: 80,
		Marks: []string{"would write"},
	}
	for _, line := range []string{
		"varve append regular.zarr day.npy --dry-run",
		"varve append rectilinear.zarr day.npy --dry-run",
		"varve append rectilinear.zarr day.npy",
		"varve grid rectilinear.zarr --axes 1,0",
	} {
		out, errs := onScreen(t, shellWords(line)[1:]...)
		s.Steps = append(s.Steps, castStep{Command: line, Output: out + progressLine.ReplaceAllString(errs, "")})
	}
	want := s.svg()
	if os.Getenv("VARVE_UPDATE") != "" {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%s is not what the commands print (%v); VARVE_UPDATE=1 draws it again:\n%s", name, err, want)
	}
}

// fieldFile makes a file of daily fields. They are smooth, with noise in the last bits,
// like measurements.
func fieldFile(t *testing.T, name string, days int) {
	t.Helper()
	var b bytes.Buffer
	state := uint32(1)
	for day := range days {
		for lat := range 36 {
			for lon := range 72 {
				state = state*1664525 + 1013904223
				season := math.Round(1000 * math.Sin(float64(day)/58.1) * float64(lat-18) / 18)
				value := 280 + float32(season)/128 + float32(lon%9)/8 + float32(state>>28)/128
				_ = binary.Write(&b, binary.LittleEndian, value) // memory does not fail
			}
		}
	}
	file, err := os.ReadFile(npyFile(t, npy.Header{Type: dtype.Float32, Shape: []int64{int64(days), 36, 72}}, b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, name, string(file))
}

// castStep is a command line and what it prints.
type castStep struct{ Command, Output string }

// Sizes in pixels, and times in seconds.
const (
	fontSize   = 14
	charWidth  = 8.43
	lineHeight = 19
	margin     = 18
	bar        = 34 // the title bar of the window
	perChar    = 0.035
	afterLine  = 0.5 // between a command and its output
	afterStep  = 1.4 // to read the output
)

// castSession is a terminal session that is drawn as an animated SVG: commands are typed,
// and their output appears. A viewer that does not animate shows the whole session. Lines
// of output that contain one of the marks are highlighted.
type castSession struct {
	Title   string
	Columns int
	Steps   []castStep
	Marks   []string
}

// svg returns the drawing.
func (s castSession) svg() string {
	var body strings.Builder
	line, at := 0, 0.8
	text := func(class, content string, begin float64, typed int) {
		y := bar + margin + lineHeight*line
		fmt.Fprintf(&body, `<text class="%s" x="%d" y="%d" style="--t:%.2fs">%s</text>`+"\n", class, margin, y+fontSize, begin, content)
		if typed > 0 {
			// The cover moves off the characters one after the other.
			fmt.Fprintf(&body, `<rect class="cover" x="%.1f" y="%d" width="%.1f" height="%d" style="--t:%.2fs;--d:%.2fs;--w:%.1fpx;--n:%d"/>`+"\n",
				margin+2*charWidth, y, float64(typed)*charWidth+2, lineHeight, begin, float64(typed)*perChar, float64(typed)*charWidth+2, typed)
		}
		line++
	}
	for _, step := range s.Steps {
		n := utf8.RuneCountInString(step.Command)
		text("line command", `<tspan class="prompt">$</tspan> `+html.EscapeString(step.Command), at, n)
		at += float64(n)*perChar + afterLine
		for output := range strings.SplitSeq(strings.TrimRight(step.Output, "\n"), "\n") {
			if step.Output != "" {
				text("line "+s.class(output), html.EscapeString(output), at, 0)
			}
		}
		at += afterStep
		line++
	}
	width := int(float64(s.Columns)*charWidth) + 2*margin
	height := bar + 2*margin + lineHeight*(line-1)
	return s.head(width, height) + body.String() + "</svg>\n"
}

// class returns the CSS class of a line of output.
func (s castSession) class(line string) string {
	for _, mark := range s.Marks {
		if strings.Contains(line, mark) {
			return "mark"
		}
	}
	return "output"
}

// head returns the window and the style. Only viewers that animate hide lines until their
// time.
func (s castSession) head(width, height int) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img" xml:space="preserve">
<title>%[3]s</title>
<style>
text { font: %[4]dpx ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.title { fill: #8b949e } .prompt { fill: #7ee787 } .command { fill: #f0f6fc } .output { fill: #b6bec8 } .mark { fill: #ffa657; font-weight: bold }
.cover { fill: #0d1117; visibility: hidden }
@media (prefers-reduced-motion: no-preference) {
.line { animation: show 1ms var(--t) both }
.cover { visibility: visible; animation: type var(--d) steps(var(--n)) var(--t) both }
@keyframes show { from { visibility: hidden } to { visibility: visible } }
@keyframes type { from { transform: none } to { transform: translateX(var(--w)); visibility: hidden } }
}
</style>
<rect width="%[1]d" height="%[2]d" rx="8" fill="#0d1117"/>
<circle cx="20" cy="17" r="6" fill="#ff5f56"/><circle cx="40" cy="17" r="6" fill="#ffbd2e"/><circle cx="60" cy="17" r="6" fill="#27c93f"/>
<text class="title" x="84" y="22">%[3]s</text>
`, width, height, html.EscapeString(s.Title), fontSize)
}

func TestSessionSVG(t *testing.T) {
	s := castSession{Title: "a & b", Columns: 40, Marks: []string{"new"}, Steps: []castStep{
		{"tool run <x>", "one\n  two new lines\n"}, {"tool stop", ""},
	}}
	svg := s.svg()
	for _, want := range []string{"a &amp; b", "tool run &lt;x&gt;", `class="line mark"`, ">  two"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing has no %q:\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, `class="line `); n != 4 {
		t.Errorf("%d lines", n)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
}
