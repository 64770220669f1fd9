// SPDX-License-Identifier: Apache-2.0

package creating

import (
	"errors"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/inspecting"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/tabular"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/rehearsal"
)

// rowDimension is the dimension of the rows of a table unless another one is named.
const rowDimension = "row"

// checkTable returns an error for flags that are not for tables.
func (c *creation) checkTable(cmd *cobra.Command) error {
	for _, name := range []string{"shards", "index-location", "grow", "fill", "start", "step", "calendar", "time", "list-edges", "chunk-key-encoding"} {
		if cmd.Flags().Changed(name) {
			return failure.BadUsage("--%s is for one array, and a table becomes a group of arrays", name)
		}
	}
	if c.format == 2 {
		return failure.BadUsage("--zarr-format 2: a table becomes arrays of format 3, because the chunks of format 2 have one length")
	}
	return nil
}

// createTable creates a group of arrays of the columns of a table.
//
//  1. Stage the table in a temporary folder: all that is wrong with it is found here.
//  2. Create the group, with arrays without rows.
//  3. Append all rows to all arrays, in one transaction.
//
// A crash before step 3 is complete leaves a group whose arrays have no rows; after an
// error or an interrupt, the group is deleted again.
func (c *creation) createTable(cmd *cobra.Command, location string) (err error) {
	if err := c.checkTable(cmd); err != nil {
		return err
	}
	c.group = true
	o := tabular.Options{Dimension: rowDimension, Complete: func(spec *zarr.Spec) (err error) {
		if spec.Codecs, err = c.chain(spec.Type); err != nil {
			return err
		}
		return c.cutColumn(cmd, location, spec)
	}}
	if o.Nulls, err = tabular.ParseNulls(c.nulls); err != nil {
		return failure.BadUsage("--nulls: %w", err)
	}
	if names, err := facts.ParseNames(c.names); err != nil || len(names) > 1 {
		return failure.BadUsage("--dimension-names %s: a table has one dimension, that of its rows", c.names)
	} else if len(names) == 1 && names[0] != "" {
		o.Dimension = names[0]
	}
	attributes, err := c.attributesJSON()
	if err != nil {
		return err
	}
	if err := c.mayCreate(cmd, location); err != nil {
		return err
	}
	s, err := tabular.Stage(cmd, c.from, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if attributes == nil {
		attributes = s.Attributes
	}
	g, err := zarr.CreateGroup(cmd.Context(), location, attributes, c.options(cmd))
	if err != nil && c.overwrite {
		return place.HalfRemoved(cmd, location, err)
	}
	if err != nil {
		return err
	}
	opt := c.options(cmd)
	opt.Overwrite = false
	for _, a := range s.Arrays {
		if err == nil {
			_, err = g.At(a.Name).CreateArray(cmd.Context(), withoutRows(a.Spec), opt)
		}
	}
	if err == nil {
		err = c.appendTable(cmd, g, s)
	}
	if err != nil {
		return c.discard(cmd, location, g, "group", err)
	}
	place.NoteFolder(cmd, location)
	if s.IsMasked() {
		session.Note(cmd, location, "where an array NAME_mask is true, NAME is null, and holds 0, false or \"\"; export and other programs show that element, and the mask as a column of its own")
	}
	if session.WantsJSON(cmd) {
		err = inspecting.PrintGroup(cmd, location, g)
	} else {
		session.Confirm(cmd, "%s  table of %s and %s", location, phrase.Plural(s.Rows, "row"), phrase.Plural(int64(len(s.Arrays)), "array"))
	}
	return errors.Join(err, g.Close())
}

// mayCreate finds out, before the table is read, whether the place is free or may be
// made so.
func (c *creation) mayCreate(cmd *cobra.Command, location string) error {
	create := func(o *zarr.CreateOptions) error {
		_, err := zarr.CreateGroup(cmd.Context(), location, nil, o)
		return err
	}
	if c.overwrite {
		return c.agreed(cmd, location, create)
	}
	o := c.options(cmd)
	o.Rehearsal, o.Observer = new(rehearsal.Ledger), nil
	return session.Try(cmd, func() error { return create(o) })
}

// cutColumn cuts the array of a column as --chunks says. Without it each batch is a
// chunk.
func (c *creation) cutColumn(cmd *cobra.Command, location string, spec *zarr.Spec) error {
	if c.chunks == automatic {
		return nil
	}
	p, err := chunking.Parse(c.chunks)
	if err != nil {
		return failure.BadUsage("--chunks: %w", err)
	}
	read := func(name string) ([]byte, error) { return localfile.ReadAll(cmd, name) }
	at := chunking.Site{Location: location, Names: spec.DimensionNames, Times: &c.times, ReadFile: read, Options: session.GridOptions(cmd)}
	if spec.Grid, err = p.Grid(cmd.Context(), spec.Shape, spec.Type, at); err != nil {
		return err
	}
	spec.Chunks = nil
	return chunking.CheckLimit(cmd, spec)
}

// withoutRows returns the array of a column before it has elements.
func withoutRows(spec zarr.Spec) zarr.Spec {
	cut := grid.Edges()
	if spec.Grid != nil && spec.Grid.Axis(0).IsRegular() {
		cut = grid.Every(spec.Grid.Axis(0).Longest(grid.Interval{Stop: 1}))
	}
	spec.Shape, spec.Grid, spec.Chunks = []int64{0}, nil, []grid.Cut{cut}
	return spec
}

// appendTable appends all rows of a staged table to the arrays of a new group.
func (c *creation) appendTable(cmd *cobra.Command, g *zarr.Group, s *tabular.Staged) error {
	var additions []zarr.Addition
	total := int64(0)
	for _, a := range s.Arrays {
		if a.Spec.Shape[0] == 0 {
			continue
		}
		segment, err := s.Open(cmd.Context(), a)
		if err != nil {
			return err
		}
		total += a.Spec.Shape[0]
		additions = append(additions, zarr.Addition{Path: a.Name, Segments: []*zarr.Array{segment}})
	}
	bar := progress.NewEstimate(cmd, "creating", total, progress.MovedBytes)
	defer bar.End()
	return g.Append(cmd.Context(), additions...)
}
