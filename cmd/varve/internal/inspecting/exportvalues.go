// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"fmt"
	"slices"
	"sort"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// values are the values of an array, without its coordinates.
type values struct {
	*exporting
	src *export.Source
}

// openArray opens the array.
func (e *exporting) openArray() (cargo, func() error, error) {
	a, src, err := openSource(e.Command, e.location, e.sel, e.decoded)
	if err != nil {
		return nil, nil, err
	}
	// All values of a file have one type. Settle it before the first value is written.
	if err := src.Settle(e.Context()); err != nil {
		_ = a.Close() // it was only read
		return nil, nil, err
	}
	if e.header {
		notePacked(e.Command, e.location, a, e.decoded)
	}
	return &values{e, src}, a.Close, nil
}

func (v *values) sources() []*export.Source { return []*export.Source{v.src} }

func (v *values) with(elements func(*export.Source) (*export.Source, error)) (cargo, error) {
	src, err := elements(v.src)
	return &values{v.exporting, src}, err
}

func (v *values) check(file string) error {
	// Refuse what cannot fit before anything is written.
	err := format.CheckLimit(v.src, session.LimitOf(v.Command), v.as)
	if err == nil && !isOutput(file) {
		err = format.CheckRoom(v.src, file, v.as, localfile.FreeBytes)
	}
	if err != nil || !v.header {
		return err
	}
	every := func(*zarr.Array) bool { return true }
	return export.AddHeadings(v.Context(), v.src, every, func(text string) { session.Remark(v.Command, v.location, text) })
}

func (v *values) write(file string) error {
	print := func(w *bufio.Writer) error {
		return format.Within(session.LimitOf(v.Command), w, func(w *bufio.Writer) error { return export.Write(v.Context(), v.src, v.as, w) })
	}
	switch {
	case !isOutput(file):
		return localfile.Replace(file, print)
	case v.as == export.JSON: // half a document would be useless
		return output.Withheld(v.OutOrStdout(), print)
	}
	return session.PrintData(v.Command, print)
}

func (v *values) facts() (string, map[string]any) {
	return phrase.Plural(v.src.Selection.Len(), "value"), map[string]any{"shape": v.src.Shape, "data_type": v.src.Type.String()}
}

// lines are the arrays directly below a group, which share their only dimension, as one
// table in CSV. The coordinate of the dimension comes first.
type lines struct {
	*exporting
	columns []export.Column
}

// openTable opens the arrays of the group.
func (e *exporting) openTable() (cargo, func() error, error) {
	g, err := zarr.OpenGroup(e.Context(), e.location, session.Reading(e.Command))
	if err != nil {
		return nil, nil, err
	}
	columns, err := e.columnsOf(g)
	if err == nil {
		err = areColumns(columns)
	}
	if err != nil {
		_ = g.Close() // it was only read
		return nil, nil, failure.On(e.Name(), e.location, err)
	}
	sort.SliceStable(columns, func(i, j int) bool {
		return cf.IsCoordinate(columns[i].Array) && !cf.IsCoordinate(columns[j].Array)
	})
	return &lines{e, columns}, g.Close, nil
}

// columnsOf returns the arrays of a group as columns.
func (e *exporting) columnsOf(g *zarr.Group) (columns []export.Column, err error) {
	for m, err := range node.Listed(e.Context(), e.location, g) {
		if err != nil {
			return nil, err
		}
		a, at := m.Array, m.Location
		switch {
		case a.Rank() == 0:
			session.Note(e.Command, at, "is left out: it is a single value")
			continue
		case a.Rank() > 1 || a.Type().Kind() == dtype.KindStruct:
			return nil, failure.On(e.Name(), e.location, failure.BadArgument("a group is a table if its arrays have one axis and no fields; %s has shape %v and type %s: export it by itself", m.Name, a.Shape(), a.Type()))
		}
		src, err := source.New(e.Context(), a, e.sel, e.decoded)
		if err == nil {
			err = src.Settle(e.Context())
		}
		if err != nil {
			return nil, failure.On(e.Name(), at, err)
		}
		if e.decoded {
			source.TellUndecoded(e.Command, at, src)
			source.TellUnmet(e.Command, at, src)
		}
		columns = append(columns, export.Column{Name: m.Name, Source: src})
	}
	return columns, nil
}

func (l *lines) sources() (list []*export.Source) {
	for _, c := range l.columns {
		list = append(list, c.Source)
	}
	return list
}

func (l *lines) with(elements func(*export.Source) (*export.Source, error)) (cargo, error) {
	other := &lines{exporting: l.exporting}
	for _, c := range l.columns {
		src, err := elements(c.Source)
		if err != nil {
			return nil, err
		}
		other.columns = append(other.columns, export.Column{Name: c.Name, Source: src})
	}
	return other, nil
}

func (l *lines) check(string) error { return nil }

func (l *lines) write(file string) error {
	print := func(w *bufio.Writer) error {
		return format.Within(session.LimitOf(l.Command), w, func(w *bufio.Writer) error { return export.WriteTable(l.Context(), l.columns, w) })
	}
	if isOutput(file) {
		return session.PrintData(l.Command, print)
	}
	return localfile.Replace(file, print)
}

func (l *lines) facts() (string, map[string]any) {
	names := []string{}
	for _, c := range l.columns {
		names = append(names, c.Name)
	}
	shape := l.columns[0].Shape
	return phrase.Plural(shape[0], "row") + " of " + phrase.Plural(int64(len(names)), "column"), map[string]any{"shape": shape, "columns": names}
}

// areColumns returns an error if columns differ in their dimension or in their length.
func areColumns(columns []export.Column) error {
	if len(columns) == 0 {
		return failure.BadArgument("the group has no arrays with one axis, which would be the columns of a table")
	}
	dimension := func(c export.Column) string {
		if names := c.Array.DimensionNames(); names != nil {
			return names[0]
		}
		return ""
	}
	first := columns[0]
	if len(first.Shape) != 1 {
		return failure.BadArgument("--select must leave the rows of a table: give a range, such as 3:4")
	}
	for _, c := range columns[1:] {
		if dimension(c) != dimension(first) {
			return failure.BadArgument("a group is a table if its arrays share their dimension; that of %s is %q, and that of %s is %q: export them one by one", first.Name, dimension(first), c.Name, dimension(c))
		}
		if !slices.Equal(c.Shape, first.Shape) {
			return failure.BadArgument("the columns of a table have one length; %s has shape %v, and %s has %v", first.Name, first.Shape, c.Name, c.Shape)
		}
	}
	return nil
}

// openSource opens an array and binds a selection to it. With --decode it prints notes
// about values that cannot be decoded. The caller must close the array.
func openSource(cmd *cobra.Command, location, sel string, decoded bool) (*zarr.Array, *export.Source, error) {
	a, err := node.OpenArray(cmd, location)
	if err != nil {
		return nil, nil, err
	}
	src, err := source.New(cmd.Context(), a, sel, decoded)
	if err != nil {
		_ = a.Close() // it was only read
		return nil, nil, err
	}
	if decoded {
		source.TellUndecoded(cmd, location, src)
		source.TellUnmet(cmd, location, src)
	}
	return a, src, nil
}

// notePacked prints a note if a table has packed numbers beside decoded coordinates.
func notePacked(cmd *cobra.Command, location string, a *zarr.Array, decoded bool) {
	if p, err := cf.PackingOf(cmd.Context(), a); !decoded && err == nil && cf.IsNumeric(a.Type()) && p.IsScaled() {
		scale, offset := p.Scale()
		session.Remark(cmd, location, fmt.Sprintf("the values are packed; --decode applies scale_factor %v and add_offset %v", scale, offset))
	}
}
