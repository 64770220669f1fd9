// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Staged is a table as arrays in a temporary folder. A crash leaves the folder, and
// nothing else has changed.
type Staged struct {
	Source  string
	Arrays  []*Array
	Rows    int64
	Batches int
	// Attributes are those of the table.
	Attributes map[string]any
	dir        string
	at         *zarr.Location
}

// Nulls says what becomes of nulls, as --nulls does.
type Nulls struct {
	mask bool
	text *string // for texts
}

// ParseNulls parses fill, fill:TEXT and mask.
func ParseNulls(s string) (n Nulls, err error) {
	text, given := strings.CutPrefix(s, "fill:")
	switch {
	case given:
		n.text = &text
	case s == "mask":
		n.mask = true
	case s != "fill" && s != "":
		err = fmt.Errorf("%q is none of fill, fill:TEXT and mask", s)
	}
	return n, err
}

// Options say how a table is staged.
type Options struct {
	Nulls     Nulls
	Dimension string // of the rows
	// Complete sets the codecs and the chunks of a new array. Without chunks each batch
	// becomes one; the grid is regular if it can be.
	Complete func(*zarr.Spec) error
	// Into has the arrays that grow by the table, or is nil for new ones.
	Into map[string]*zarr.Array
}

// Stage reads a table twice: to find out what stands for null and how many elements there
// are, and to store them. One batch is in memory at a time.
func Stage(cmd *cobra.Command, file string, o Options) (s *Staged, err error) {
	src, err := open(cmd, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	s = &Staged{Source: src.name}
	if err := s.plan(cmd, src, o); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "varve-*"); err != nil {
		return nil, err
	}
	if err := s.store(cmd, src); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close removes the temporary folder.
func (s *Staged) Close() error {
	var err error
	if s.at != nil {
		err = store.Close(s.at.Store())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// At returns the location of an array.
func (s *Staged) At(a *Array) string { return filepath.ToSlash(s.dir) + "/" + a.Name }

// Open opens an array.
func (s *Staged) Open(ctx context.Context, a *Array) (*zarr.Array, error) {
	return s.at.At(a.Name).OpenArray(ctx, nil)
}

// each calls visit for all batches.
func (s *Staged) each(cmd *cobra.Command, src *source, task string, visit func(b *columnar.Batch) error) error {
	r, err := src.reader()
	if err != nil {
		return err
	}
	p := progress.NewCount(cmd, task, s.Rows)
	defer p.End()
	for {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		b, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return src.fail(err)
		}
		if err := visit(b); err != nil {
			return err
		}
		p.Add(int64(b.Rows))
	}
}

// plan decides which arrays the table becomes.
func (s *Staged) plan(cmd *cobra.Command, src *source, o Options) error {
	r, err := src.reader()
	if err != nil {
		return err
	}
	s.Attributes = map[string]any{}
	_, rest := describedFields(r.Schema())
	for _, p := range rest {
		addAttribute(s.Attributes, p)
	}
	list, err := arraysOf(r.Schema(), o.Dimension)
	if err != nil {
		return failure.OfKind(zarr.ErrInvalidArgument, "%s: %w", src.name, err)
	}
	batch := 0
	err = s.each(cmd, src, "reading", func(b *columnar.Batch) error {
		for _, a := range list {
			if err := a.survey(b, o.Nulls.text); err != nil {
				return a.inBatch(src, batch, err)
			}
		}
		if batch++; b.Rows > 0 {
			s.Batches++
		}
		s.Rows += int64(b.Rows)
		return nil
	})
	if err != nil {
		return err
	}
	for _, a := range list {
		more, err := a.settle(o)
		if err != nil {
			return failure.OfKind(zarr.ErrInvalidArgument, "%s: column %q: %w", src.name, r.Schema().Fields[a.column].Name, err)
		}
		s.Arrays = append(s.Arrays, more...)
	}
	return s.distinct(o)
}

// inBatch names the place of an error.
func (a *Array) inBatch(src *source, batch int, err error) error {
	return failure.OfKind(zarr.ErrInvalidArgument, "%s: column %q in batch %d: %w", src.name, a.Name, batch, err)
}

// distinct returns an error if two arrays have one name, or if they are not those that
// grow.
func (s *Staged) distinct(o Options) error {
	known := map[string]bool{}
	for _, a := range s.Arrays {
		if known[a.Name] {
			return failure.BadArgument("two columns of %s need an array of the name %q: rename one of them", s.Source, a.Name)
		}
		known[a.Name] = true
	}
	if o.Into == nil {
		return nil
	}
	// Arrays without the dimensions that grow stay as they are.
	grows := map[string]bool{}
	for _, a := range s.Arrays {
		for _, d := range a.like.DimensionNames() {
			grows[d] = d != ""
		}
	}
	var absent []string
	for _, name := range slices.Sorted(maps.Keys(o.Into)) {
		if !known[name] && slices.ContainsFunc(o.Into[name].DimensionNames(), func(d string) bool { return grows[d] }) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		return failure.BadArgument("%s has no column for these arrays of the group: %s", s.Source, strings.Join(absent, ", "))
	}
	return nil
}

// settle decides what stands for null. It returns the array, and perhaps that of a mask.
func (a *Array) settle(o Options) ([]*Array, error) {
	if o.Into != nil {
		if err := a.follow(o.Into); err != nil {
			return nil, err
		}
		a.masked = o.Into[a.Name+maskSuffix] != nil
	} else if err := a.choose(o); err != nil {
		return nil, err
	}
	a.Spec.Attributes = a.attributes
	list := []*Array{a}
	if a.masked {
		if err := checkName(a.Name + maskSuffix); err != nil {
			return nil, failure.BadArgument("%w: rename it in the table", err)
		}
		m := *a
		m.Name, m.mask, m.masked, m.isNull, m.attributes = a.Name+maskSuffix, true, false, nil, map[string]any{}
		m.Spec = zarr.Spec{Type: dtype.Bool, DimensionNames: a.Spec.DimensionNames, Attributes: map[string]any{"long_name": "whether " + a.Name + " is missing"}}
		if m.like = o.Into[m.Name]; m.like != nil {
			if t := m.like.Type(); t != dtype.Bool {
				return nil, failure.BadArgument("the array %s, which says where there are nulls, has the type %s, and bool is needed", m.Name, t)
			}
			m.imitate()
		}
		list = append(list, &m)
	}
	for _, x := range list {
		cut := grid.Edges(x.rows...)
		if o.Into == nil && isRegular(x.rows) { // which all programs read
			cut = grid.Every(x.rows[0])
		}
		x.Spec.Shape = []int64{x.count()}
		var err error
		if x.Spec.Grid, err = grid.New(x.Spec.Shape, cut); err != nil {
			return nil, err
		}
		if o.Complete != nil {
			if err := o.Complete(&x.Spec); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// isRegular reports whether all lengths are equal, but for the last one, which may be
// shorter.
func isRegular(lengths []int64) bool {
	for i, n := range lengths {
		if n > lengths[0] || n < lengths[0] && i < len(lengths)-1 {
			return false
		}
	}
	return len(lengths) > 0
}

// IsMasked reports whether nulls of a column are in another array.
func (s *Staged) IsMasked() bool {
	return slices.ContainsFunc(s.Arrays, func(a *Array) bool { return a.masked })
}

// choose decides what stands for null in a new array.
func (a *Array) choose(o Options) error {
	if a.nulls == 0 {
		// NaN stands for null in later tables, too, and a column that has none stays as
		// it is for other programs.
		if k := a.Spec.Type.Kind(); a.nullable && k == dtype.KindFloat && len(a.free) > 0 && isNaN(a.typ.Kind, a.free[0]) {
			return a.setNull(binaryOf(a.free[0], a.width()))
		}
		return nil
	}
	switch {
	case o.Nulls.mask:
		a.masked = true
		a.attributes["ancillary_variables"] = a.Name + maskSuffix
		return nil
	case a.role == lengths:
		return failure.BadArgument("%s of its lists are null, and a list without elements is another thing: --nulls mask stores which", count(a.nulls))
	case a.typ.Kind == columnar.String && o.Nulls.text != nil:
		return a.setNull([]byte(*o.Nulls.text))
	case a.typ.Kind == columnar.String:
		return failure.BadArgument("%s of its texts are null: --nulls fill:TEXT stores a text that is no value in their place, and --nulls mask a boolean array beside it", count(a.nulls))
	case len(a.free) == 0:
		return failure.BadArgument("%s of its elements are null, and no element of type %s is free to stand for that: --nulls mask stores a boolean array beside it", count(a.nulls), a.Spec.Type)
	}
	return a.setNull(binaryOf(a.free[0], a.Spec.Type.Size()))
}

func count(n int64) string { return fmt.Sprint(n) }

// binaryOf returns the bytes of an element.
func binaryOf(bits uint64, width int) []byte {
	elem := make([]byte, width)
	for i := range elem {
		elem[i] = byte(bits >> (8 * i))
	}
	return elem
}

// setNull says in the attributes which element stands for null.
func (a *Array) setNull(elem []byte) error {
	a.isNull = elem
	if missing.IsText(a.Spec.Type) {
		a.attributes[missing.Value] = string(elem)
		return nil
	}
	raw, err := missing.Format(a.Spec.Type, a.host(elem))
	if err != nil {
		return err
	}
	a.attributes[missing.FillValue] = rawJSON(raw)
	fill, err := a.Spec.Type.FormatFill(a.host(elem))
	a.Spec.FillValue = zarr.FillJSON(string(fill))
	return err
}

// follow compares an array with the one that grows, and takes over what it says.
func (a *Array) follow(into map[string]*zarr.Array) error {
	like := into[a.Name]
	if like == nil {
		return failure.BadArgument("the group has no array %s", a.Name)
	}
	if like.Rank() != 1 {
		return failure.BadArgument("the array %s has more axes than a column; axes: %d", a.Name, like.Rank())
	}
	a.like = like
	isMoment := false
	if t, err := a.moment(); err == nil && like.Type() == t {
		isMoment, a.Spec.Type = true, t
	}
	if like.Type() != a.Spec.Type {
		return failure.BadArgument("it would be stored as %s, and the array has the type %s: cast the column", a.Spec.Type, like.Type())
	}
	for _, name := range []string{"units", "scale_factor", "add_offset"} {
		want, known, err := metadata.Attribute(like.Attributes(), name)
		have, given := a.attributes[name]
		if err != nil {
			return err
		}
		// Other units than those of times are words for people.
		if name == "units" && a.attributes["calendar"] == nil && a.attributes["dtype"] == nil && !bytes.Contains(want, []byte(" since ")) {
			continue
		}
		if text := jsonOf(have); !isMoment && known != given || known && given && !sameJSON(text, want) {
			return failure.BadArgument("%v would be stored with the attribute %s = %s, and the array has %s: convert the column", a.typ, name, orNone(text), orNone(want))
		}
	}
	a.imitate()
	return a.nullOf()
}

// moment returns the type of moments or durations that has the numbers of the column.
func (a *Array) moment() (dtype.Type, error) {
	switch a.typ.Kind {
	case columnar.Timestamp:
		return dtype.DatetimeOf(a.typ.Unit.String(), 1)
	case columnar.Duration:
		return dtype.TimedeltaOf(a.typ.Unit.String(), 1)
	}
	return dtype.Type{}, errors.ErrUnsupported
}

// imitate takes codecs and fill value from the array that grows, so that its chunks are
// those of this one. Shards and format 2 have others.
func (a *Array) imitate() {
	spec := a.like.Spec()
	if a.like.Inner() == nil && a.like.Format() == 3 {
		a.Spec.Codecs, a.Spec.FillValue = spec.Codecs, spec.FillValue
	}
	if names := a.like.DimensionNames(); names != nil {
		a.Spec.DimensionNames = names
	} else {
		a.Spec.DimensionNames = nil
	}
}

// nullOf finds what stands for null in the array that grows.
func (a *Array) nullOf() error {
	name, t := missing.FillValue, a.Spec.Type
	if missing.IsText(t) {
		name = missing.Value
	}
	raw, known, err := metadata.Attribute(a.like.Attributes(), name)
	switch {
	case err != nil:
		return err
	case known:
		elem, err := missing.Parse(t, raw)
		if err != nil {
			return failure.BadArgument("the attribute %s of the array: %w", name, err)
		}
		a.isNull = a.host(elem)
	case t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta:
		a.isNull = binaryOf(1<<63, 8)
	}
	return nil
}

// store stores the elements.
func (s *Staged) store(cmd *cobra.Command, src *source) error {
	ctx := cmd.Context()
	root, err := filestore.Open(s.dir, &filestore.Options{Create: true})
	if err != nil {
		return err
	}
	s.at = zarr.At(root, "")
	opt := &zarr.CreateOptions{Options: zarr.Options{Write: true, SingleWriter: true, Durability: store.Flush, Limits: session.Limits(cmd), Experimental: session.Permitted(cmd)}, Format: 3}
	if _, err := s.at.CreateGroup(ctx, nil, opt); err != nil {
		return err
	}
	arrays, ends := make([]*zarr.Array, len(s.Arrays)), make([]int64, len(s.Arrays))
	for i, a := range s.Arrays {
		if arrays[i], err = s.at.At(a.Name).CreateArray(ctx, a.Spec, opt); err != nil {
			return err
		}
	}
	batch := 0
	err = s.each(cmd, src, "storing", func(b *columnar.Batch) error {
		for i, a := range s.Arrays {
			out, err := a.block(b)
			if err != nil {
				return a.inBatch(src, batch, err)
			}
			if ends[i], err = out.write(ctx, arrays[i], ends[i]); err != nil {
				return err
			}
		}
		batch++
		return nil
	})
	for i, a := range s.Arrays {
		if err == nil && ends[i] != a.count() {
			err = failure.OfKind(zarr.ErrSourceChanged, "%w: %s has other rows than before", zarr.ErrSourceChanged, src.name)
		}
	}
	return err
}

// write stores the elements of a batch from an index on. It returns the index after them.
func (b block) write(ctx context.Context, a *zarr.Array, at int64) (end int64, err error) {
	if a.Type().Variable() {
		end = at + int64(len(b.words))
	} else {
		end = at + int64(len(b.data)/a.Type().Size())
	}
	switch sel := (selection.Basic{selection.Span(at, end)}); {
	case end == at:
		return end, nil
	case end > a.Shape()[0]:
		return end, nil // which the caller finds
	case a.Type().Variable():
		return end, zarr.Write(ctx, a, sel, b.words)
	default:
		return end, a.WriteBytes(ctx, sel, b.data)
	}
}
