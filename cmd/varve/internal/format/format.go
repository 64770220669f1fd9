// SPDX-License-Identifier: Apache-2.0

// Package format writes elements in the formats of varve export and varve cat.
package format

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
	"unsafe"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/virtual"
)

func writeRaw(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := checkOneLength(s, Raw); err != nil {
		return err
	}
	p := progress.New(cmd, "exporting", s.Bytes)
	defer p.End()
	return s.Blocks(cmd.Context(), func(e element.Values) error {
		source.LittleEndian(s.Type, e.Data)
		_, err := w.Write(e.Data)
		p.Add(int64(len(e.Data)))
		return err
	})
}

// CheckOneLength returns an error for elements that differ in length, if the format
// cannot mark where an element ends.
func CheckOneLength(t dtype.Type, f Format) error {
	if !t.Variable() {
		return nil
	}
	return failure.BadArgument("elements of type %s differ in length, which %s cannot represent: use --format json", t, f)
}

// checkOneLength is CheckOneLength for a source. For decoded times, the error explains
// why they are text.
func checkOneLength(s *source.Source, f Format) error {
	if axis, ok := s.Units.Times(); ok && s.Decoding != nil && s.Type.Variable() {
		why := "datetime64 does not have one of their days"
		if !axis.IsReal() {
			why = fmt.Sprintf("datetime64 does not have the days of the calendar %s", axis.Calendar())
		}
		return failure.BadArgument("these times are text, because %s, and %s cannot represent text: use --format json or csv, or omit --decode for numbers", why, f)
	}
	return CheckOneLength(s.Type, f)
}

func writeNPY(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := checkOneLength(s, NPY); err != nil {
		return err
	}
	h := npy.Header{Type: s.Type, Shape: s.Shape}
	if err := h.Check(); err != nil {
		return failure.Unsupported("%w: use --format raw, csv or json", err)
	}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	return writeRaw(cmd, s, w)
}

// writeJSON writes the elements as nested lists, in the spelling of fill values.
func writeJSON(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := WriteLists(cmd, s, w); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// WriteLists is writeJSON without the newline at the end.
func WriteLists(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	// The loop over elements would write no lists at all.
	if s.Selection.Len() == 0 {
		return writeEmpty(s.Shape, w)
	}
	t := s.Type
	box := grid.BoxOf(s.Shape)
	index := make([]int64, len(box))
	var text []byte
	appendElement := t.AppendJSON
	// Decoded times are dates. Stored ones keep the spelling of metadata.
	if k := t.Kind(); s.Decoding != nil && (k == dtype.KindDatetime || k == dtype.KindTimedelta) {
		appendElement = func(dst, elem []byte) []byte { return append(t.AppendText(append(dst, '"'), elem), '"') }
	}
	isText := t.Kind() == dtype.KindString || t.Kind() == dtype.KindUTF32 || t.Kind() == dtype.KindStruct
	var spelled []byte
	more := false
	return s.Elements(cmd, func(elem []byte) error {
		text = text[:0]
		if more {
			text = append(text, ',')
		}
		// Open a list for every axis that begins here.
		for i := len(index) - 1; i >= 0 && index[i] == 0; i-- {
			text = append(text, '[')
		}
		if isLong(t, elem) {
			if err := cmp.Or(lastError(w.Write(text)), writeLongJSON(w, elem)); err != nil {
				return err
			}
			text = text[:0]
		} else if isText {
			spelled = appendElement(spelled[:0], elem)
			text = output.AppendSafe(text, spelled)
		} else {
			text = appendElement(slices.Grow(text, len(elem)+quotes), elem)
		}
		// Close the list of every axis that ends here.
		for i := len(index) - 1; i >= 0 && index[i] == s.Shape[i]-1; i-- {
			text = append(text, ']')
		}
		more = box.Next(index)
		_, err := w.Write(text)
		return err
	})
}

// lastError returns the second result of a call.
func lastError(_ int, err error) error { return err }

// quotes is the number of bytes of the quotes around a text.
const quotes = 2

// maxEmptyLists bounds the lists that are printed for a selection without elements.
const maxEmptyLists = 1 << 20

// writeEmpty writes the lists of a shape with an axis of length 0.
func writeEmpty(shape []int64, w *bufio.Writer) error {
	depth := 0
	for shape[depth] > 0 {
		depth++
	}
	if n, ok := checked.Product(shape[:depth]...); !ok || n > maxEmptyLists {
		return fmt.Errorf("%w: shape %v has no elements, but more than %s", zarr.ErrLimit, shape, quantity.Count(maxEmptyLists, "empty lists"))
	}
	return writeEmptyLists(shape, w)
}

func writeEmptyLists(shape []int64, w *bufio.Writer) error {
	if err := w.WriteByte('['); err != nil {
		return err
	}
	for i := range shape[0] {
		if i > 0 {
			w.WriteByte(',') // a bufio.Writer keeps its error for the next call
		}
		if err := writeEmptyLists(shape[1:], w); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// Format is the format of elements in a file.
type Format string

const (
	Raw  Format = "raw"  // C order, little endian, no header
	NPY  Format = "npy"  // a NumPy file
	CSV  Format = "csv"  // a line for each row
	JSON Format = "json" // nested lists
)

// Writers are the formats that arrays can be exported in.
var Writers = map[Format]func(*cobra.Command, *source.Source, *bufio.Writer) error{
	Raw: writeRaw, NPY: writeNPY, CSV: writeCSV, JSON: writeJSON,
}

// Flag adds the flag --format to a command.
func Flag(c *cobra.Command, formats ...Format) *string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	name := new(string)
	usage := "the `FORMAT`: " + strings.Join(words, ", ") + "; default: the format of the file extension, or raw without one"
	flagtext.Var(c.Flags(), name, "format", "", usage, func(s string) error {
		err := flagtext.OneOf(words...)(s)
		if s == string(CSV) && err != nil {
			err = fmt.Errorf("%w; csv cannot be read: in Python, convert it with numpy.loadtxt (skiprows=1 and usecols for a table with a header) and numpy.save", err)
		}
		return err
	})
	return name
}

// Of returns the named format, or else the format for the extension of a file. No name
// and no extension mean raw. An unknown extension is wrong usage: raw data has no header,
// so a guess would write files that no other program reads, and would read any file of
// the right size as values.
func Of(name, file string, read bool) (Format, error) {
	if name != "" {
		return Format(name), nil
	}
	base := strings.TrimLeft(filepath.Base(file), ".") // a hidden file has a name, not an extension
	switch f := Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(base)), ".")); f {
	case NPY, CSV, JSON:
		return f, nil
	case "", "bin", Raw:
		return Raw, nil
	}
	if read && virtual.IsForeign(file) && !node.Exists(file) { // else its format would be known
		return "", failure.NotFound("%s: there is no such file", file)
	}
	known := ".npy, .csv, .json, .raw or .bin"
	if read {
		known = ".npy, .json, .raw or .bin"
	}
	return "", failure.BadUsage("%s: the extension %s is unknown; name the file %s, or give --format%s",
		file, filepath.Ext(base), known, otherFormat(file, read))
}

// otherFormat returns a hint on how to read or write a file of another format.
func otherFormat(file string, read bool) string {
	base := filepath.Base(file)
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case slices.Contains(node.NetCDF, ext):
		return fmt.Sprintf("; to write NetCDF, use Python: xarray.open_zarr(GROUP).to_netcdf(%q)", base)
	case ext == ".zarr" && !read:
		return fmt.Sprintf("; varve copy NODE %s makes a Zarr node", phrase.Word(file))
	case ext == ".npz":
		return "; .npz is an archive of .npy files; extract them with unzip"
	case ext == ".gz" || ext == ".zst" || ext == ".bz2" || ext == ".xz":
		return "; use a pipe for compressed files, as in gunzip -c x.npy.gz | varve write NODE --format npy, or varve export NODE --format npy | gzip > x.npy.gz"
	}
	return ""
}

// CheckLimit returns an error if the output is known to be longer than the limit before
// it is made. 0 is no limit.
func CheckLimit(s *source.Source, limit int64, f Format) error {
	if s.Bytes == source.TooMany {
		return fmt.Errorf("%w: the bytes of %s; select a part (--select)", zarr.ErrOverflow, phrase.Plural(s.Selection.Len(), "value"))
	}
	if least := leastBytes(s, f); limit > 0 && least > limit {
		return fmt.Errorf("%w: %s as %s has %s or more, but --limit is %s; select a part (--select), or raise it",
			zarr.ErrLimit, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(limit))
	}
	return nil
}

// leastBytes returns a lower bound of the bytes of the values in a format.
func leastBytes(s *source.Source, f Format) int64 {
	switch f {
	case CSV, JSON:
		n := s.Selection.Len()
		return n + min(n, source.TooMany-n) // at least a digit and a separator each
	case NPY:
		h := npy.Header{Type: s.Type, Shape: s.Shape}
		if h.Check() == nil {
			return s.Bytes + min(int64(len(h.Append(nil))), source.TooMany-s.Bytes)
		}
	}
	return s.Bytes
}

// CheckRoom returns an error if the file system has no room for a file, so that a command
// does not fill the disk first. On a file system that compresses, the file may fit after
// all; writing to a pipe avoids the check.
func CheckRoom(s *source.Source, file string, f Format, free func(dir string) (int64, bool)) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	least := leastBytes(s, f)
	if room, known := free(filepath.Dir(file)); known && least > room {
		return failure.OfKind(syscall.ENOSPC, "write %s: %s as %s has %s or more, but there is room for %s; select a part (--select), or write to standard output",
			file, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(room))
	}
	return nil
}

// Within calls print with a writer to w that accepts at most limit bytes. 0 is no limit.
func Within(limit int64, w *bufio.Writer, print func(w *bufio.Writer) error) error {
	if limit <= 0 {
		return print(w)
	}
	l := bufio.NewWriter(&limited{w, limit, limit})
	return cmp.Or(print(l), l.Flush())
}

// limited is a writer with a limit.
type limited struct {
	out              *bufio.Writer
	remaining, limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.remaining -= int64(len(p)); l.remaining < 0 {
		return 0, fmt.Errorf("%w: the output exceeds --limit %s; select a part (--select), or raise it", zarr.ErrLimit, phrase.Bytes(l.limit))
	}
	return l.out.Write(p)
}

// longText is the number of bytes of a text that are written at a time. Control
// characters take six times as many bytes in JSON, and a text may be as long as a block.
const longText = 64 << 10

// isLong reports whether an element is a text that is written in parts.
func isLong(t dtype.Type, elem []byte) bool {
	return t.Kind() == dtype.KindString && len(elem) > longText
}

// writeLongJSON writes a text as a JSON string, part by part.
func writeLongJSON(w *bufio.Writer, text []byte) error {
	var spelled, safe []byte // reused for all parts
	w.WriteByte('"')         // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if part := text[:n]; utf8.Valid(part) {
			spelled = strictjson.AppendQuote(spelled[:0], unsafe.String(unsafe.SliceData(part), n))
		} else {
			spelled = dtype.String.AppendJSON(spelled[:0], part)
		}
		safe = output.AppendSafe(safe[:0], spelled[1:len(spelled)-1])
		if _, err := w.Write(safe); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// writeLongCell writes a text as a cell of CSV, part by part, with the quotes of
// appendCell.
func writeLongCell(w *bufio.Writer, text []byte) error {
	if !needsQuotes(text) {
		_, err := w.Write(text)
		return err
	}
	w.WriteByte('"') // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if _, err := w.Write(bytes.ReplaceAll(text[:n], []byte{'"'}, []byte(`""`))); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// partOf returns the number of bytes of the next part. It ends between characters if the
// text is valid UTF-8.
func partOf(text []byte) int {
	if len(text) <= longText {
		return len(text)
	}
	for n := longText; n > longText-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return longText
}
