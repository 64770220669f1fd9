// SPDX-License-Identifier: Apache-2.0

package ragged

import (
	"context"
	"errors"
	"fmt"
	"math"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/rowset"
)

// Column has the elements of new rows of one array.
type Column struct {
	name   string
	length int64
	add    func(path string, opt *zarr.AppendOptions) zarr.Addition
}

// Values returns a column: the elements of all new rows of a field, one row after the
// other, or one element for each row of an array that has one.
func Values[T dtype.Element](name string, src []T) Column {
	return Column{name, int64(len(src)), func(path string, opt *zarr.AppendOptions) zarr.Addition { return zarr.Add(path, 0, src, opt) }}
}

// appendTries bounds the attempts of an append that others overtake.
const appendTries = 16

// Append appends rows of the given lengths. There must be one column for each field, and
// for each array with one element a row. All arrays grow in one transaction, or none:
// after a crash the next writer finishes or undoes it. Several processes may append to
// one set: each appends after the others. If others always come first, the error wraps
// [zarr.ErrConflict].
//
// The attribute shape of a sparse matrix is changed right after the transaction. A crash
// in between leaves the old one, which other programs find to contradict indptr; the next
// append corrects it.
func (s *Set) Append(ctx context.Context, lengths []int64, columns ...Column) error {
	err := s.check(lengths, columns)
	if err == nil {
		err = s.append(ctx, lengths, columns)
	}
	if err == nil {
		err = s.Refresh(ctx)
	}
	if err == nil {
		err = s.updateShape(ctx)
	}
	return fail("append", s.group, err)
}

// check returns an error unless the columns fit the rows and the arrays.
func (s *Set) check(lengths []int64, columns []Column) error {
	total := int64(0)
	for i, n := range lengths {
		if n < 0 || n > math.MaxInt64-total {
			return fmt.Errorf("%w: row %d has the length %d", zarr.ErrInvalidArgument, i, n)
		}
		total += n
	}
	given := map[string]bool{}
	for _, c := range columns {
		want := total
		switch {
		case given[c.name]:
			return fmt.Errorf("%w: %q is given twice", zarr.ErrInvalidArgument, c.name)
		case s.perRow[c.name] != nil:
			want = int64(len(lengths))
		case s.elements[c.name] == nil:
			return fmt.Errorf("%w: there is no array %q in the set", zarr.ErrInvalidArgument, c.name)
		}
		if given[c.name] = true; c.length != want {
			return fmt.Errorf("%w: %q has %s, but %s %d", zarr.ErrInvalidArgument, c.name, quantity.Count(c.length, "values"), quantity.Count(len(lengths), "rows have"), want)
		}
	}
	if missing := len(s.perRow) + len(s.elements) - len(given); missing > 0 {
		return fmt.Errorf("%w: %s of the set get no values: all grow together", zarr.ErrInvalidArgument, quantity.Count(missing, "arrays"))
	}
	return nil
}

// append runs the transaction, and again if other rows came first.
func (s *Set) append(ctx context.Context, lengths []int64, columns []Column) error {
	for try := 0; ; try++ {
		additions, err := s.additions(lengths, columns)
		if err != nil {
			return err
		}
		if err = s.group.Append(ctx, additions...); !errors.Is(err, zarr.ErrConflict) || try == appendTries {
			return err
		}
		// The offsets depend on the rows before.
		if err := s.Refresh(ctx); err != nil {
			return err
		}
	}
}

// additions returns what all arrays gain after the rows that are known.
func (s *Set) additions(lengths []int64, columns []Column) ([]zarr.Addition, error) {
	// An array may know of rows that others have appended since the offsets were read, so
	// the lengths that are expected are those of the offsets.
	end := s.offsets[len(s.offsets)-1]
	expect := func(n int64) *zarr.AppendOptions { return &zarr.AppendOptions{Expect: []int64{n}} }
	numbers := s.layout.Stored(lengths, end)
	rows, err := addRows(s.rows, s.relative(s.rows), numbers, expect(s.Rows()+s.layout.Lead()))
	if err != nil {
		return nil, err
	}
	var list []zarr.Addition
	for _, c := range columns {
		a, opt := s.elements[c.name], expect(end)
		if a == nil {
			a, opt = s.perRow[c.name], expect(s.Rows())
		}
		if c.length > 0 {
			list = append(list, c.add(s.relative(a), opt))
		}
	}
	// The rows are published last: a reader that sees the rows sees all of their
	// elements.
	return append(list, rows), nil
}

// relative returns the path of an array below the group.
func (s *Set) relative(a *zarr.Array) string {
	path := a.Path()
	if root := s.group.Path(); root != "" {
		path = path[len(root)+1:]
	}
	return path
}

// updateShape makes the attribute shape of a sparse matrix agree with the rows.
func (s *Set) updateShape(ctx context.Context) error {
	if s.layout != rowset.ByOffset {
		return nil
	}
	return s.group.UpdateAttributes(ctx, func(object []byte) ([]byte, error) {
		// Others may have appended more rows meanwhile, and know of them.
		return rowset.WithRows(object, func(n int64) int64 { return max(n, s.Rows()) })
	})
}
