// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/ragged"
	"varve.dev/zarr/selection"
)

// rows are a part of a table.
type rows struct {
	Columns []column   `json:"columns"`
	Rows    [][]string `json:"rows"`
	From    int64      `json:"from"`
	Total   int64      `json:"total"`
	version string
}

func (r *rows) tag() string { return r.version }

// column is a column of a table.
type column struct {
	Name string `json:"name"`
	Type string `json:"data_type"`
}

// Limits of tables.
const (
	mostRows    = 1000
	mostTexts   = 100_000
	mostInRow   = 20      // elements of a ragged row
	mostOffsets = 1 << 22 // rows before those of a ragged set
)

// rows answers with a part of a table: of an array along an axis, of the arrays of a
// group, or of a ragged set.
func (h *Handler) rows(ctx context.Context, q *query) (any, error) {
	p, err := h.find(q.node)
	if err != nil {
		return nil, err
	}
	n, counter, err := h.open(ctx, p)
	if err != nil {
		return nil, describable(err)
	}
	defer n.Close() // it was only read
	r := &rows{Columns: []column{}, Rows: [][]string{}, From: q.from}
	q.max = min(q.max, mostRows)
	switch n := n.(type) {
	case *zarr.Array:
		return r, h.arrayRows(ctx, h.newArray(p, n, counter), q, r)
	case *zarr.Group:
		set, err := ragged.Of(ctx, n)
		if err == nil {
			return r, h.raggedRows(ctx, set, q, r)
		}
		if !errors.Is(err, zarr.ErrUnsupported) {
			return nil, err
		}
		return r, h.tableRows(ctx, p, n, q, r)
	}
	return nil, errNoNode
}

// arrayRows adds the elements of an array along an axis, a row for each.
func (h *Handler) arrayRows(ctx context.Context, a *array, q *query, r *rows) error {
	r.version, r.Total = a.version, 1
	sel := selection.Basic{}
	if a.Rank() > 0 {
		at, axis, err := along(q, a.Shape())
		if err != nil {
			return err
		}
		for i, place := range at {
			sel = append(sel, selection.Span(place, place+1))
			if i == axis {
				r.Total = a.Shape()[i]
				r.From = min(q.from, r.Total)
				sel[i] = selection.Span(r.From, min(r.From+q.max, r.Total))
			}
		}
		if slices.Contains(a.Shape(), 0) {
			r.Total = 0
		}
	}
	fields := a.state.Type.Fields()
	for _, f := range fields {
		r.Columns = append(r.Columns, column{f.Name, f.Type.String()})
	}
	if len(fields) > mostTexts/mostRows {
		r.Columns, fields = r.Columns[:mostTexts/mostRows], fields[:mostTexts/mostRows]
	}
	if fields == nil {
		r.Columns = append(r.Columns, column{path.Base("/" + a.node()), a.state.Type.String()})
	}
	if r.Total == 0 || r.From >= r.Total {
		return nil
	}
	return h.elements(ctx, a.Array, sel, func(src *export.Source, elem []byte) {
		var row []string
		for _, f := range fields {
			part := elem[f.Offset:][:f.Type.Size()]
			row = append(row, textOf(&export.Source{Type: f.Type}, part))
		}
		if fields == nil {
			row = []string{textOf(src, elem)}
		}
		r.Rows = append(r.Rows, row)
	})
}

// elements calls use with selected elements, decoded.
func (h *Handler) elements(ctx context.Context, a *zarr.Array, sel selection.Selection, use func(src *export.Source, elem []byte)) error {
	v, err := a.View(sel)
	if err != nil {
		return err
	}
	src, err := export.Of(ctx, v, a.Type().Kind() != dtype.KindStruct)
	if errors.Is(err, zarr.ErrInvalidArgument) { // of malformed attributes
		src, err = export.Of(ctx, v, false)
	}
	if err != nil {
		return err
	}
	held, err := h.work.AcquireMore(ctx, min(src.Bytes, h.Memory)*2+h.Memory/16)
	if err != nil {
		return err
	}
	defer h.work.ReleaseMore(held)
	src.Memory = h.Memory / 16
	if err := src.Settle(ctx); err != nil {
		return err
	}
	return src.Elements(ctx, func(elem []byte) error { use(src, elem); return nil })
}

// tableRows adds the elements of the arrays of a group side by side.
func (h *Handler) tableRows(ctx context.Context, p *place, g *zarr.Group, q *query, r *rows) error {
	names, err := h.namesIn(ctx, p, g.Metadata())
	if err != nil {
		return err
	}
	table, err := h.tableOf(ctx, p, g.Metadata(), names)
	if err != nil {
		return err
	}
	if table == nil {
		return refuse(http.StatusBadRequest, "this group is no table: ask for the rows of one of the arrays below it")
	}
	names = table.Columns[:min(len(table.Columns), mostTexts/mostRows)]
	for i, name := range names {
		a, err := g.At(name).OpenArray(ctx, nil)
		if err != nil {
			return describable(err)
		}
		if i == 0 {
			r.Total = a.Shape()[0]
			r.From = min(q.from, r.Total)
			r.Rows = make([][]string, min(q.max, r.Total-r.From))
		}
		r.Columns = append(r.Columns, column{name, a.Type().String()})
		if err := errors.Join(h.addColumn(ctx, a, r), a.Close()); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds the elements of an array to the rows of a table.
func (h *Handler) addColumn(ctx context.Context, a *zarr.Array, r *rows) error {
	at := 0
	last := min(r.From+int64(len(r.Rows)), a.Shape()[0])
	if r.From >= last {
		return nil
	}
	err := h.elements(ctx, a, selection.Basic{selection.Span(r.From, last)}, func(src *export.Source, elem []byte) {
		r.Rows[at] = append(r.Rows[at], textOf(src, elem))
		at++
	})
	for ; at < len(r.Rows) && err == nil; at++ {
		r.Rows[at] = append(r.Rows[at], "") // the array has grown or shrunk
	}
	return err
}

// raggedRows adds rows of a ragged set: their lengths, and their first elements.
func (h *Handler) raggedRows(ctx context.Context, s *ragged.Set, q *query, r *rows) error {
	r.Total = s.Rows()
	r.From = min(q.from, r.Total)
	last := min(r.From+min(q.max, mostRows/10), r.Total)
	if r.From > mostOffsets {
		return refuse(http.StatusRequestEntityTooLarge, "rows of a ragged set are told up to row %d", mostOffsets)
	}
	before, err := s.Lengths(0, r.From)
	if err != nil {
		return err
	}
	lengths, err := s.Lengths(r.From, last)
	if err != nil {
		return err
	}
	start := int64(0)
	for _, n := range before {
		start += n
	}
	r.Columns = append(r.Columns, column{"length", "int64"})
	r.Rows = make([][]string, len(lengths))
	for i, n := range lengths {
		r.Rows[i] = append(r.Rows[i], string(dtype.Int64.AppendText(nil, nativeInt(n))))
	}
	for _, a := range s.Arrays()[1:] {
		name := path.Base(a.Path())
		r.Columns = append(r.Columns, column{name, a.Type().String()})
		if s.PerRow(name) != nil {
			if err := h.addColumn(ctx, a, r); err != nil {
				return err
			}
			continue
		}
		from := start
		for i, n := range lengths {
			var texts []string
			if shown := min(n, mostInRow); shown > 0 {
				err := h.elements(ctx, a, selection.Basic{selection.Span(from, from+shown)}, func(src *export.Source, elem []byte) {
					texts = append(texts, textOf(src, elem))
				})
				if err != nil {
					return err
				}
			}
			if from += n; n > mostInRow {
				texts = append(texts, "…")
			}
			r.Rows[i] = append(r.Rows[i], strings.Join(texts, ", "))
		}
	}
	return nil
}
