// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/rechunk"
)

// Moving is a command that drops or inserts planes.
type Moving struct {
	Change
	Axis   string
	expect int64
	Unlock bool
	Alone  *bool
}

// Flags adds the flags that these commands share.
func (m *Moving) Flags(c *cobra.Command) {
	m.ownFlags(c)
	f := c.Flags()
	flagtext.Var(f, &m.Axis, "axis", "0", "the `AXIS`: a number, -1 for the last, or the name of a dimension; of a group, a name", flagtext.Syntax(argument.ParseAxis))
	f.Int64Var(&m.expect, "expect", 0, "fail unless the axis has length `N` before, so that a repeated command does not move elements twice")
	f.BoolVar(&m.Unlock, "unlock", false, "give a regular axis listed chunks, which not all programs can read")
	m.Alone = growth.AloneFlag(c)
}

// Moved is an array whose planes move.
type Moved struct {
	Name, Location string // name is relative to the group, or ""
	Array          *zarr.Array
	Axis           int
	Wanted         rechunk.Request
	Inputs         *Inputs // of an insertion that is only planned
	Disorder       string  // of a coordinate with the planes of an insertion, "" for none
}

// Expected returns the length that the array must have before the command, or 0. A plan
// that is executed twice must not move elements twice.
func (m *Moving) Expected(one *Moved) int64 {
	if m.PlanTo != "" && m.expect == 0 {
		return one.Array.Shape()[one.Axis]
	}
	return m.expect
}

// Explained returns a conflict in place of an error if the axis has another length than
// --expect says: what is done already is told from bad data. Without an error the change
// itself compares, since it may resume one that was interrupted after the axis changed.
func (m *Moving) Explained(one *Moved, err error) error {
	shape := one.Array.Shape()
	if err == nil || m.expect == 0 {
		return err
	}
	shape[one.Axis] = m.expect
	return cmp.Or(growth.Met(one.Array, shape), err)
}

// Open opens an array, or the arrays of a group that pick names. pick is called with each
// array directly below the group that has the dimension, and may leave it out.
func (m *Moving) Open(cmd *cobra.Command, location string, pick func(*Moved) (bool, error)) (list []*Moved, group bool, done func() error, err error) {
	if err := m.begin(cmd); err != nil {
		return nil, false, nil, err
	}
	access := session.Writing(cmd)
	access.Write, access.SingleWriter = !m.Dry, *m.SingleWriter // a dry run works without permission to write
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return nil, false, nil, err
	}
	if a, ok := n.(*zarr.Array); ok {
		one := &Moved{Location: location, Array: a}
		if err = node.CheckOwn(cmd.Context(), location, a); err == nil {
			one.Axis, err = argument.AxisIn(m.Axis, a)
		}
		if err == nil {
			_, err = pick(one)
		}
		return []*Moved{one}, false, n.Close, failure.On(cmd.Name(), location, err)
	}
	list, err = m.openGroup(cmd, location, n.(*zarr.Group), access, pick)
	return list, true, n.Close, err
}

func (m *Moving) openGroup(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options, pick func(*Moved) (bool, error)) (list []*Moved, err error) {
	if argument.IsNumber(m.Axis) {
		return nil, failure.BadUsage("%s is a group: give the name of a dimension, as in --axis time", phrase.Word(location))
	}
	for member, err := range node.Arrays(cmd, location, g, access, node.Filter{Dimensions: []string{m.Axis}}) {
		if err != nil {
			return nil, err
		}
		one := &Moved{Name: member.Name, Location: member.Location, Array: member.Array}
		take := false
		if one.Axis, err = argument.AxisOfArray(m.Axis, one.Array); err == nil {
			take, err = pick(one)
		}
		if err == nil && take {
			err = node.CheckOwn(cmd.Context(), one.Location, one.Array)
		}
		if err != nil {
			return nil, failure.On(cmd.Name(), one.Location, err)
		}
		if take {
			list = append(list, one)
		}
	}
	return list, nil
}

// Check returns an error if an array would differ in length from others of its group.
func (m *Moving) Check(cmd *cobra.Command, one *Moved, longer int64) error {
	if *m.Alone {
		return nil
	}
	shape := one.Array.Shape()
	shape[one.Axis] += longer
	return MovedTogether(cmd, dimensions.CheckShape(cmd.Context(), one.Array, shape))
}

// MovedTogether adds to an error about lengths that differ the command that changes all
// arrays of the group.
func MovedTogether(cmd *cobra.Command, err error) error {
	var e *zarr.Error
	var axis *grid.AxisError
	if !errors.As(err, &e) || !errors.As(err, &axis) {
		return err
	}
	how := " GROUP --axis"
	switch cmd.Name() {
	case "insert":
		how = " GROUP NAME=FILE … --axis"
	case "stitch":
		how = " GROUP SEGMENT …"
	case "append":
		how = " GROUP NAME=FILE …"
	}
	return failure.On(cmd.Name(), e.Path, failure.Reword(e.Err, "("+remedy.GroupAppend+")", "(varve "+cmd.Name()+how+")"))
}

// All rechunks the arrays, and prints the result.
func (m *Moving) All(cmd *cobra.Command, location string, list []*Moved, group bool) error {
	opt, err := m.Options()
	if err != nil {
		return err
	}
	if !group {
		done, err := m.rechunk(cmd, location, list[0].Array, list[0].Wanted, opt)
		if err != nil {
			return err
		}
		done.inputs = list[0].Inputs
		if err := m.writePlan(cmd, PlanFile{}, []*Rechunked{done}); err != nil {
			return err
		}
		noteDisorder(cmd, list)
		if session.WantsJSON(cmd) {
			return session.PrintJSON(cmd, done)
		}
		return done.print(cmd)
	}
	results, err := m.Together(cmd, location, list, opt)
	if err == nil {
		err = m.writePlan(cmd, PlanFile{Group: planfile.Location(cmd, location), Alone: *m.Alone}, results)
	}
	if err != nil {
		return err
	}
	noteDisorder(cmd, list)
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "arrays": results})
	}
	for _, r := range results {
		if err := r.print(cmd); err != nil {
			return err
		}
	}
	return nil
}

// noteDisorder prints which coordinates are out of order after an insertion.
func noteDisorder(cmd *cobra.Command, list []*Moved) {
	for _, one := range list {
		if one.Disorder != "" {
			session.Remark(cmd, one.Location, one.Disorder)
		}
	}
}

// Together rechunks the arrays of a group in one transaction, or plans it.
func (m *Moving) Together(cmd *cobra.Command, location string, list []*Moved, opt *rechunk.Options) ([]*Rechunked, error) {
	parts := make([]rechunk.Part, len(list))
	for i, one := range list {
		parts[i] = rechunk.Part{Array: one.Array, Request: one.Wanted, Alone: *m.Alone}
	}
	plans, err := rechunk.NewPlans(cmd.Context(), parts, opt)
	if err != nil {
		return nil, MovedTogether(cmd, err)
	}
	cost.WarnOfSpace(cmd, location, cost.SpaceOf(plans...))
	results := make([]*Rechunked, len(list))
	for i, p := range plans {
		results[i] = m.planned(cmd.Name(), list[i].Location, p)
		results[i].inputs = list[i].Inputs
		if err := m.blocked(cmd, results[i]); err != nil {
			return nil, err
		}
	}
	if m.Dry {
		return results, nil
	}
	memory := int64(0)
	for _, p := range plans {
		memory = max(memory, p.Memory)
	}
	defer cost.LimitHeap(memory)()
	lines := NewStageLines(cmd)
	defer lines.End()
	opt.Progress = lines.Reach
	reports, err := rechunk.DoAll(cmd.Context(), parts, opt)
	if err != nil {
		return nil, MovedTogether(cmd, err)
	}
	for i, r := range reports {
		results[i].ReplaceCounts(r)
	}
	return results, nil
}

// Planes describes planes of an axis.
func (o *Moved) Planes(from, to int64) string {
	name := fmt.Sprintf("axis %d", o.Axis)
	if names := o.Array.DimensionNames(); names != nil && names[o.Axis] != "" {
		name = names[o.Axis]
	}
	return fmt.Sprintf("%s %d:%d", name, from, to)
}
