// SPDX-License-Identifier: Apache-2.0

// Package tables writes arrays as tables, for files of Parquet and Arrow: the arrays of a
// group side by side, the rows of a ragged set, or arrays of several axes in long form,
// a row for each element with its coordinates.
package tables

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strictjson"
)

const (
	// JoinedRows is the number of rows up to which short chunks are joined, unless
	// [Format] says more: a row group of DuckDB.
	JoinedRows = 122_880
	// mostAhead bounds the bytes of batches that wait to be written, unless one chunk has
	// more.
	mostAhead = 256 << 20
	// columnsKey is the name of the metadata of a file that has those of its columns.
	columnsKey = "columns"
)

// Format writes data sets as tables. It implements [export.FileFormat].
type Format struct {
	Name export.Format
	// Writer begins a table. It returns an error for a schema that the format lacks.
	Writer func(w io.Writer, s *columnar.Schema) (columnar.Writer, error)
	// JoinedRows is the number of rows up to which short chunks are joined. 0 is
	// [JoinedRows], and 1 joins none.
	JoinedRows int64
	// Note, if not nil, is called by Check with what is left out of the table.
	Note func(name, text string)
}

// Check implements [export.FileFormat].
func (f *Format) Check(ctx context.Context, d *export.Dataset) error {
	t, err := f.table(ctx, d, f.Note)
	if err != nil {
		return err
	}
	if _, err := f.Writer(io.Discard, &t.schema); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// Columns returns the names of the columns, and the number of rows. The data set is one
// that Check accepts.
func (f *Format) Columns(ctx context.Context, d *export.Dataset) (names []string, rows int64, err error) {
	t, err := f.table(ctx, d, nil)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range t.schema.Fields {
		names = append(names, c.Name)
	}
	return names, t.rows, nil
}

// Write implements [export.FileFormat]. It writes f in order.
func (f *Format) Write(ctx context.Context, d *export.Dataset, to export.File) error {
	t, err := f.table(ctx, d, nil)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 1<<20)
	w, err := f.Writer(out, &t.schema)
	if err != nil {
		return err
	}
	if err := t.hold(ctx); err != nil {
		return err
	}
	return cmp.Or(t.write(ctx, w), w.Close(), out.Flush())
}

// unit is a part of a table that is read at once: a chunk, or several short ones.
type unit struct {
	*table
	box  grid.Box
	read []*reading // one for each array
	done chan error
}

// write writes the rows, unit by unit. Units are read while those before them are
// written.
func (t *table) write(ctx context.Context, w columnar.Writer) error {
	if t.rows == 0 {
		return nil
	}
	g, within := parallel.New(ctx)
	ahead := t.ahead()
	free, queue := make(chan *unit, ahead), make(chan *unit, ahead)
	for range ahead {
		free <- &unit{table: t, read: t.readings()}
	}
	g.Go(func() error {
		defer close(queue)
		for box := range t.units() {
			var u *unit
			select {
			case u = <-free:
			case <-within.Done():
				return within.Err()
			}
			u.box, u.done = box, make(chan error, 1)
			queue <- u // there is room: it has as many places as there are units
			g.Go(func() error {
				err := u.load(within, u.box)
				u.done <- err
				if errors.Is(err, coding.ErrRoom) {
					return nil // it is read again, in parts
				}
				return err
			})
		}
		return nil
	})
	return g.Wait(t.writeQueue(within, queue, free, w))
}

// writeQueue writes the units of a queue in their order.
func (t *table) writeQueue(ctx context.Context, queue <-chan *unit, free chan<- *unit, w columnar.Writer) error {
	for u := range queue {
		select {
		case err := <-u.done:
			if errors.Is(err, coding.ErrRoom) {
				err = u.inHalves(ctx, u.box, err, w)
			} else if err == nil {
				err = u.write(w)
			}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		free <- u
	}
	return ctx.Err()
}

// inHalves reads and writes a box whose texts are too long together in two parts.
func (u *unit) inHalves(ctx context.Context, box grid.Box, cause error, w columnar.Writer) error {
	for axis := range box {
		n := box[axis].Len()
		if n < 2 {
			continue
		}
		middle := box[axis].Start + n/2
		for _, half := range []grid.Interval{{Start: box[axis].Start, Stop: middle}, {Start: middle, Stop: box[axis].Stop}} {
			part := append(grid.Box{}, box...)
			part[axis] = half
			err := u.load(ctx, part)
			switch {
			case errors.Is(err, coding.ErrRoom):
				err = u.inHalves(ctx, part, err, w)
			case err == nil:
				err = u.write(w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return export.TooLong(cause)
}

// ahead returns how many units are in memory at a time.
func (t *table) ahead() int {
	n := mostAhead / max(1, checked.Capped(t.row, t.longest))
	return int(min(max(1, n), int64(runtime.GOMAXPROCS(0))+1))
}

// load reads the elements of a box.
func (u *unit) load(ctx context.Context, box grid.Box) error {
	u.box = box
	for i, a := range u.arrays {
		if err := u.read[i].load(ctx, box); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return ctx.Err()
}

// write writes the rows of a unit: as one batch, or as several if there are too many.
func (u *unit) write(w columnar.Writer) error {
	for box := range batches(u.box, u.most) {
		b := columnar.Batch{Rows: int(rowsOf(box))}
		for _, r := range u.read {
			r.appendTo(&b, box)
		}
		if err := w.Write(&b); err != nil {
			return err
		}
		for _, r := range u.read {
			r.tell()
		}
	}
	return nil
}

// WithColumns returns a schema that also says in its own metadata what its fields say in
// theirs, for formats whose fields have none: "columns" has an object for each column.
func WithColumns(s *columnar.Schema) *columnar.Schema {
	text := []byte("{")
	for _, f := range s.Fields {
		if f.Type.Kind == columnar.Duration { // which Parquet lacks
			unit := [...]string{"seconds", "milliseconds", "microseconds", "nanoseconds"}[f.Type.Unit]
			f.Metadata = append(slices.Clip(f.Metadata), columnar.Pair{Key: "units", Value: unit})
		}
		if len(f.Metadata) == 0 {
			continue
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(strictjson.AppendQuote(text, f.Name), ":{"...)
		for i, p := range f.Metadata {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(strictjson.AppendQuote(text, p.Key), ':')
			if _, err := strictjson.Parse([]byte(p.Value), strictjson.Limits{}); err == nil {
				text = append(text, p.Value...)
			} else {
				text = strictjson.AppendQuote(text, p.Value)
			}
		}
		text = append(text, '}')
	}
	if len(text) == 1 {
		return s
	}
	described := *s
	described.Metadata = append(slices.Clip(s.Metadata), columnar.Pair{Key: columnsKey, Value: string(text) + "}"})
	return &described
}
