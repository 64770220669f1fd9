// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/draw"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Sheet is a title with lines of labels and values, aligned for people.
type Sheet struct {
	Title  string
	lines  [][2]string
	footer string // final line without a label; "" for none
	width  int    // width of the labels that were printed by Pass
}

// longestLine bounds the characters of a line. Texts of a document may have megabytes.
const longestLine = 4 << 10

// Add adds a line.
func (s *Sheet) Add(label, value string) {
	s.lines = append(s.lines, [2]string{phrase.Printable(phrase.Shorten(label, 100)), phrase.Printable(phrase.Shorten(value, longestLine))})
}

// shownAttributes bounds the user attributes in the output of info. attrs prints all.
const shownAttributes = 20

// Attributes adds user attributes, one per line.
func (s *Sheet) Attributes(object []byte) {
	v, i := strictjson.Parsed(object), 0 // valid, because the document was parsed
	for name, value := range v.Members() {
		if i == shownAttributes {
			s.Add("", fmt.Sprintf("… %s more", phrase.Count(int64(v.Len()-i))))
			return
		}
		s.Add(Label("attributes", i), phrase.Shorten(name, longestLine)+": "+glimpse(value.Raw()))
		i++
	}
}

// glimpse returns the beginning of a value on one line.
func glimpse(raw []byte) string {
	const enough = 4 << 10 // bytes that nearly always have 100 characters besides white space
	if len(raw) > enough {
		// The cut text is not valid JSON and may end within a character, so it is not
		// compacted as JSON.
		begin := nonfinite.Bare(raw[:enough])
		return phrase.Shorten(strings.ToValidUTF8(strings.Join(strings.Fields(string(begin)), " "), ""), 100)
	}
	return phrase.Shorten(string(nonfinite.Bare([]byte(phrase.Compact(raw)))), 100)
}

// Print prints the sheet.
func (s *Sheet) Print(w io.Writer) error {
	var b strings.Builder
	if err := s.Pass(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Pass prints the lines so far and forgets them. Later lines are aligned with them.
func (s *Sheet) Pass(w io.Writer) error {
	// The first lines decide the width of all labels.
	if s.width == 0 {
		for _, l := range s.lines {
			s.width = max(s.width, utf8.RuneCountInString(l[0]))
		}
		if _, err := fmt.Fprintln(w, phrase.Printable(s.Title)); err != nil {
			return err
		}
	}
	for _, l := range s.lines {
		if _, err := fmt.Fprintf(w, "  %-*s  %s\n", s.width, l[0], l[1]); err != nil {
			return err
		}
	}
	s.lines = s.lines[:0]
	if s.footer != "" {
		_, err := fmt.Fprintf(w, "  %s\n", s.footer)
		return err
	}
	return nil
}

// Print prints the array, as text or as JSON.
func (f *Array) Print(cmd *cobra.Command) error {
	if session.WantsJSON(cmd) {
		f.Attributes = nonfinite.Text(f.Attributes)
		return session.PrintJSON(cmd, f)
	}
	s := f.Sheet()
	s.Attributes(f.Attributes)
	for i, n := range f.Notes {
		s.Add(Label("notes", i), n)
	}
	if f.Known != nil {
		s.footer = "readable by " + f.Readers.Text()
	}
	return s.Print(cmd.OutOrStdout())
}

// Sheet returns what is known of the array, without attributes, notes and readers.
func (f *Array) Sheet() *Sheet {
	s := &Sheet{Title: "array " + f.Path}
	s.Add("format", FormatText(f.Format))
	s.Add("shape", phrase.Shape(f.Shape)+NamesText(f.DimensionNames))
	s.Add("data type", f.typeText())
	if f.logical >= 0 {
		s.Add("size", phrase.Bytes(f.logical))
	}
	if f.Times != nil {
		s.Add("times", strings.Join(slices.Compact(slices.Clone(f.Times)), " … "))
	}
	f.addChunks(s)
	s.Add("fill value", f.fillText())
	if text := f.missingText(); text != "" {
		s.Add("missing value", text)
	}
	s.addCodecs("codecs", "", f.Doc.Codecs, "")
	s.Add("chunk keys", extensionsText([]metadata.Extension{f.Doc.ChunkKeyEncoding}))
	if f.storedFacts != nil && f.Chunks != nil {
		s.Add("stored", f.storedText())
		if f.Statistics != nil {
			s.Add("statistics", f.Statistics.text())
		}
		if f.free != "" {
			s.Add("to vacuum", f.free)
		}
	}
	return s
}

// Lines returns the labels and the values of the lines.
func (s *Sheet) Lines() [][2]string { return s.lines }

// typeText returns the short name of the data type, or its spelling in metadata if the
// type is unknown.
func (f *Array) typeText() string {
	if t, err := dtype.Parse(f.Doc.DataType.Name, f.Doc.DataType.Configuration); err == nil && f.Doc.DataType.Configuration != nil {
		return t.String()
	}
	if f.Doc.DataType.Configuration == nil {
		return f.Doc.DataType.Name
	}
	if len(f.DataType) > longestLine {
		return glimpse(f.DataType)
	}
	return phrase.Compact(f.DataType)
}

// FormatText returns the Zarr format of a node as text.
func FormatText(format int) string { return fmt.Sprintf("zarr format %d", format) }

// fillText returns the fill value in the form for people: times as dates, and null if
// format 2 has none.
func (f *Array) fillText() string {
	text := glimpse(f.Doc.FillValue)
	if t, err := dtype.Parse(f.Doc.DataType.Name, f.Doc.DataType.Configuration); err == nil {
		elem, err := t.ParseFill(f.Doc.FillValue)
		if err == nil && (t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta) {
			text = string(t.AppendText(nil, elem))
		}
	}
	if f.Doc.HasNullFill() && text != "null" { // the text is null if the type is unknown
		return "null, read as " + phrase.Shorten(text, 60)
	}
	return phrase.Shorten(text, 60)
}

func (f *Array) addChunks(s *Sheet) {
	if f.grid == nil {
		s.Add("chunks", extensionsText([]metadata.Extension{f.Doc.ChunkGrid}))
		return
	}
	f.addSizes(s, f.noun()+"s", f.Doc.ChunkGrid.Name, f.grid)
	if f.inner != nil {
		f.addSizes(s, "inner chunks", f.inner.Name(), f.inner)
	}
}

// noun returns what the chunks of the grid are called: chunks or shards.
func (f *Array) noun() string {
	if f.inner != nil {
		return "shard"
	}
	return "chunk"
}

// addSizes adds the number of chunks of a grid, and the lengths along every axis.
func (f *Array) addSizes(s *Sheet, label, kind string, g *grid.Grid) {
	s.Add(label, fmt.Sprintf("%s, %s", phrase.Shape(g.Chunks()), kind))
	for i := range g.Rank() {
		name := fmt.Sprintf("axis %d", i)
		if i < len(f.DimensionNames) && f.DimensionNames[i] != nil {
			name = *f.DimensionNames[i]
		}
		s.Add("  "+name, draw.Sizes(g.Axis(i)))
	}
}

func (f *Array) storedText() string {
	text := phrase.Plural(*f.Chunks, f.noun())
	if n, ok := f.grid.NumChunks(); ok {
		text = phrase.Count(*f.Chunks) + " of " + phrase.Plural(n, f.noun())
	}
	return text + ", " + phrase.Bytes(*f.Bytes)
}

// NamesText returns the names of dimensions in the form for people.
func NamesText(names []*string) string {
	if names == nil {
		return ""
	}
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = "-"
		if n != nil {
			parts[i] = *n
		}
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}

// extensionsText returns extensions with their parameters: bytes(endian=little),
// zstd(level=0, checksum=false).
func extensionsText(list []metadata.Extension) string {
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = e.Name
		v, err := strictjson.Parse(e.Configuration, strictjson.Limits{})
		if err != nil || v.Len() == 0 {
			continue
		}
		var parameters []string
		for name, value := range v.Members() {
			parameters = append(parameters, phrase.Shorten(name, 60)+"="+phrase.Shorten(strings.Trim(glimpse(value.Raw()), `"`), 60))
		}
		parts[i] += "(" + strings.Join(parameters, ", ") + ")"
	}
	return strings.Join(parts, ", ")
}

// MemberText returns a node on one line.
func MemberText(m zarr.Member) string {
	text := phrase.Name(m.Name())
	if m.Kind != "" {
		text += "  " + m.Kind
	}
	if errors.Is(m.Err, consolidation.ErrGone) {
		return text + "  " + m.Err.Error()
	}
	if m.Err != nil {
		return text + "  cannot be read: " + failure.OneLine(m.Err)
	}
	a, ok := m.Node.(*zarr.Array)
	if !ok {
		return text
	}
	text = fmt.Sprintf("%s  %s  %s", phrase.Name(m.Name()), phrase.Shorten(a.Type().String(), longestLine), phrase.Shape(a.Shape()))
	if a.Rank() == 0 {
		return text
	}
	if n := a.Inner(); n != nil {
		if g, err := n.Grid(); err == nil {
			return text + "  shards " + phrase.Chunks(a.Grid()) + "  inner chunks " + InnerText(g)
		}
	}
	text += "  chunks " + phrase.Chunks(a.Grid())
	if better := phrase.BetterChunks(a.Grid()); better != "" {
		text += "  padded: " + better + " are better"
	}
	return text
}

// Label returns the name of a line. Only the first of several lines has it.
func Label(name string, i int) string {
	if i > 0 {
		return ""
	}
	return name
}
