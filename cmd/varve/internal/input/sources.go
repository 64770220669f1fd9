// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/virtual"
)

// Sources returns the files and nodes that arguments name. An argument with *, ? or [
// that is not a file stands for all matching files, in natural order: day-9 before
// day-10. Other arguments keep their order.
func Sources(args []string) ([]string, error) {
	var sources []string
	streams := 0
	for _, arg := range args {
		if arg == "" || arg == "-" {
			if streams++; streams > 1 {
				return nil, failure.BadUsage("standard input can be given only once")
			}
		}
		// A file may have brackets in its name, and a URL a question mark.
		if !strings.ContainsAny(arg, "*?[") || strings.Contains(arg, "://") || node.Exists(arg) {
			sources = append(sources, arg)
			continue
		}
		found, err := Matches(arg)
		if err != nil {
			return nil, err
		}
		sources = append(sources, found...)
	}
	return sources, nil
}

// Matches returns the files and nodes that match a pattern, in natural order: the order
// of files is that of their planes, and day-9 comes before day-10. The pattern may
// continue with a node in files of other formats and in manifests, as in days/*.nc/t2m.
func Matches(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	for above, below := pattern, ""; err == nil && len(found) == 0; {
		above, below = path.Dir(above), path.Join(path.Base(above), below)
		if !strings.ContainsAny(above, "*?[") {
			return nil, failure.NotFound("no file matches %q", pattern)
		}
		var files []string
		files, err = filepath.Glob(above)
		for _, name := range files {
			if at := name + "/" + below; node.IsVirtual(at) {
				found = append(found, at)
			}
		}
	}
	if err != nil {
		return nil, failure.BadUsage("%q is not a pattern of file names: %w", pattern, err)
	}
	slices.SortFunc(found, compareNaturally)
	return found, nil
}

// compareNaturally compares names of files, with whole numbers in them by value.
func compareNaturally(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		n, m := leadingDigits(x), leadingDigits(y)
		// At least one of the names has no number here.
		if n == 0 || m == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		// Compare the number of digits, then the digits: numbers may exceed 64 bits.
		p, q := strings.TrimLeft(x[:n], "0"), strings.TrimLeft(y[:m], "0")
		if c := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// leadingDigits returns the number of digits at the beginning of a text.
func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// openNodeValues opens an array whose elements must be of type t. The zero Type accepts
// any type. Times are converted to those of the array that they go into, and numbers that
// stand for booleans to these.
func openNodeValues(cmd *cobra.Command, location string, t dtype.Type, into *zarr.Array) (v *Values, err error) {
	a, done, err := node.OpenSource(cmd.Context(), location, into, session.Reading(cmd))
	if err != nil {
		return nil, err
	}
	if virtual.IsForeign(node.Clean(location)) { // messages name the array in the file
		location = a.Location().String()
	}
	var r *recoding
	src, err := source.New(cmd.Context(), a, "", false)
	if err == nil {
		r, err = recodingFor(cmd.Context(), location, a, into)
	}
	switch {
	case err != nil:
	case !t.IsZero() && src.Type != t && r == nil:
		err = failure.BadArgument("%s has elements of type %s, the array %s%s", location, typeText(src.Type), typeText(t),
			convertNode(cmd.Context(), location, a, into, src.Type, t))
	case src.Bytes == export.TooMany:
		err = fmt.Errorf("%w: the bytes of %s", zarr.ErrOverflow, location)
	default:
		err = readable(cmd.Context(), a, location)
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	v = &Values{Type: src.Type, Shape: src.Shape, Total: src.Bytes, Whole: true, Name: location}
	if src.Type.Variable() { // text is held in memory as a whole, as for files
		all := export.Values{Type: src.Type}
		err := src.Blocks(cmd.Context(), func(e export.Values) error {
			for _, w := range e.Words { // a block reuses the memory of the one before
				all.Words = append(all.Words, bytes.Clone(w))
			}
			return nil
		})
		v.provide(all)
		if v.array, v.closeNode = a, done; err != nil {
			return nil, errors.Join(err, done())
		}
		return v, nil
	}
	slabs, err := a.Slabs(src.Selection, src.Slab(nodeSlab))
	if err != nil {
		return nil, errors.Join(err, done())
	}
	// A reader is asked for bytes, and an iterator gives slabs, so pull them one by one.
	next, stop := iter.Pull(slabs)
	v.Reader, v.array = &nodeReader{cmd: cmd, Reader: src.Reader(), nextSlab: next, recoding: r}, a
	if v.recoding = r; r != nil {
		v.Type, v.Total = r.dst, v.Total/int64(r.src.Size())*int64(r.dst.Size())
	}
	v.closeNode = func() error {
		stop()
		return done()
	}
	return v, nil
}

const (
	// manyChunks is the number of chunks up to which an array is read without counting
	// the stored ones.
	manyChunks = 1 << 26
	// emptyChunks is the least ratio of chunks to stored chunks for an array that is
	// almost all fill value.
	emptyChunks = 64
)

// readable returns an error for an array that has almost no stored chunks among too many
// to wait for. A small document can declare 10^18 chunks.
func readable(ctx context.Context, a *zarr.Array, location string) error {
	n, ok := a.Grid().NumChunks()
	if ok && n <= manyChunks {
		return nil
	}
	stored := int64(0)
	for _, err := range a.StoredChunks(ctx) {
		if err != nil {
			return err
		}
		// Enough chunks are stored to be worth the look-ups. The listing need not end.
		if stored++; ok && stored > n/emptyChunks {
			return nil
		}
	}
	return fmt.Errorf("%w: %s has %v chunks, of which %d %s stored, and a copy would look up every one; "+
		"extend the array instead (varve resize), which writes no chunks, and copy the stored parts (varve export --select, varve write --select)",
		zarr.ErrLimit, location, a.Grid().Chunks(), stored, phrase.AreOrIs(stored))
}

// nodeSlab is the number of bytes that are read at a time from an array, unless its
// chunks are longer.
const nodeSlab = 32 << 20

// nodeReader reads the elements of an array as bytes, in C order and host byte order.
type nodeReader struct {
	*export.Reader
	cmd      *cobra.Command
	nextSlab func() (selection.Selection, bool)
	unread   []byte // unread bytes of the last slab

	recoding *recoding // nil if elements stay as they are
	recoded  int64     // number of elements so far
}

// Read implements [io.Reader].
func (r *nodeReader) Read(p []byte) (int, error) {
	for len(r.unread) == 0 {
		slab, ok := r.nextSlab()
		if !ok {
			return 0, io.EOF
		}
		part, err := r.Array.Select(slab)
		if err != nil {
			return 0, err
		}
		e, err := r.Reader.Read(r.cmd.Context(), part)
		if err != nil {
			return 0, err
		}
		if r.unread = e.Data; r.recoding != nil {
			r.unread = make([]byte, e.Len()*r.recoding.dst.Size())
			index := func(i int64) []int64 { return indexAt(r.Array.Shape(), r.recoded+i) }
			if err := r.recoding.recode(r.unread, e.Data, index); err != nil {
				return 0, err
			}
			r.recoded += int64(e.Len())
		}
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

// File is the growth of an array by one source, in JSON.
type File struct {
	Source string  `json:"file"`
	Before []int64 `json:"shape_before"`
	Shape  []int64 `json:"shape"`

	Note string // about the order of its values; "" for none
}

// AddAppended adds to the error of a source how many sources before it were appended. The
// user must not give these again.
func AddAppended(cmd *cobra.Command, err error, done []File, all []string) error {
	if err == nil || len(done) == 0 {
		return err
	}
	return AppendedBefore(cmd, err, len(done), phrase.Plural(int64(len(all)), "file"), done[len(done)-1].Source, all[len(done):])
}

// AppendedBefore adds to an error how many of all files were appended before it, with the
// name of the last one, and the command that continues with the arguments that are left.
// In a dry run it adds how many would have been appended.
func AppendedBefore(cmd *cobra.Command, err error, done int, all, last string, left []string) error {
	if session.IsDryRun(cmd) {
		return failure.Leftover(err, "dry run, nothing was changed: %d of %s, up to %s, would be appended before that", done, all, last)
	}
	line := "varve append " + phrase.Word(session.Subject(cmd))
	if len(left) > mostLeft {
		line += fmt.Sprintf(" with the files from %s on", phrase.Word(left[0]))
	} else {
		for _, arg := range left {
			line += " " + phrase.Word(arg)
		}
	}
	flags := ""
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "expect":
			flags = " (with the same flags, but another --expect)"
		case "json", "stats": // they change nothing
		default:
			flags = cmp.Or(flags, " (with the same flags)")
		}
	})
	first := fmt.Sprintf("the first %d of %s are", done, all)
	if done == 1 {
		first = fmt.Sprintf("the first of %s is", all)
	}
	return failure.Leftover(err, "%s already appended, up to %s, and nothing of the others: %s continues with them%s", first, last, line, flags)
}

// mostLeft bounds the arguments of a command in a message.
const mostLeft = 12

// year matches a number that looks like a year.
var year = regexp.MustCompile(`^[12][0-9]{3}$`)

// NoteReading prints a note if the value of a flag may have been meant otherwise than it
// is read: a number for times that looks like a year, or a word that is base64. A number
// counts units of the type, as in metadata; a year needs a month.
func NoteReading(cmd *cobra.Command, location string, t dtype.Type, flag, text string) {
	elem, err := ParseGiven(t, text)
	switch {
	case err != nil:
	case t.Kind() == dtype.KindDatetime && year.MatchString(text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s counts units of the type, so it means %s; for the beginning of the year give %s %s-01-01",
			flag, text, t.AppendText(nil, elem), flag, text))
	case IsBareBase64(t, text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s is read as base64, of the bytes 0x%x", flag, text, packed.TrimPadding(t, elem)))
	}
}
