// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// moving is a command that drops or inserts planes.
type moving struct {
	gridChange
	axis   string
	expect int64
	unlock bool
	alone  *bool
}

// flags adds the flags that these commands share.
func (m *moving) flags(c *cobra.Command) {
	m.ownFlags(c)
	f := c.Flags()
	flagtext.Var(f, &m.axis, "axis", "0", "the `AXIS`: a number, -1 for the last, or the name of a dimension; of a group, a name", flagtext.Syntax(argument.ParseAxis))
	f.Int64Var(&m.expect, "expect", 0, "fail unless the axis has length `N` before, so that a repeated command does not move elements twice")
	f.BoolVar(&m.unlock, "unlock", false, "give a regular axis listed chunks, which not all programs can read")
	m.alone = growth.AloneFlag(c)
}

// moved is an array whose planes move.
type moved struct {
	name, location string // name is relative to the group, or ""
	array          *zarr.Array
	axis           int
	request        rechunk.Request
	inputs         *inputs // of an insertion that is only planned
	disorder       string  // of a coordinate with the planes of an insertion, "" for none
}

// expected returns the length that the array must have before the command, or 0. A plan
// that is executed twice must not move elements twice.
func (m *moving) expected(one *moved) int64 {
	if m.planTo != "" && m.expect == 0 {
		return one.array.Shape()[one.axis]
	}
	return m.expect
}

// explained returns a conflict in place of an error if the axis has another length than
// --expect says: what is done already is told from bad data. Without an error the change
// itself compares, since it may resume one that was interrupted after the axis changed.
func (m *moving) explained(one *moved, err error) error {
	shape := one.array.Shape()
	if err == nil || m.expect == 0 {
		return err
	}
	shape[one.axis] = m.expect
	return cmp.Or(growth.Met(one.array, shape), err)
}

// open opens an array, or the arrays of a group that pick names. pick is called with each
// array directly below the group that has the dimension, and may leave it out.
func (m *moving) open(cmd *cobra.Command, location string, pick func(*moved) (bool, error)) (list []*moved, group bool, done func() error, err error) {
	if err := m.begin(cmd); err != nil {
		return nil, false, nil, err
	}
	access := session.Writing(cmd)
	access.Write, access.SingleWriter = !m.dry, *m.singleWriter // a dry run works without permission to write
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return nil, false, nil, err
	}
	if a, ok := n.(*zarr.Array); ok {
		one := &moved{location: location, array: a}
		if err = node.CheckOwn(cmd.Context(), location, a); err == nil {
			one.axis, err = argument.AxisIn(m.axis, a)
		}
		if err == nil {
			_, err = pick(one)
		}
		return []*moved{one}, false, n.Close, failure.On(cmd.Name(), location, err)
	}
	list, err = m.openGroup(cmd, location, n.(*zarr.Group), access, pick)
	return list, true, n.Close, err
}

func (m *moving) openGroup(cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options, pick func(*moved) (bool, error)) (list []*moved, err error) {
	if argument.IsNumber(m.axis) {
		return nil, failure.BadUsage("%s is a group: give the name of a dimension, as in --axis time", phrase.Word(location))
	}
	var known []string
	asked := false
	for member, err := range g.Unconsolidated().Members(cmd.Context(), false) {
		if err == nil {
			err = member.Err
		}
		if err != nil {
			return nil, err
		}
		found, is := member.Node.(*zarr.Array)
		if !is {
			continue
		}
		names := found.DimensionNames()
		known = append(known, names...)
		if !slices.Contains(names, m.axis) {
			continue
		}
		// A linked array is changed under its own name, or not at all.
		if other, err := node.IsOther(cmd, location, g, member.Path, false); other || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		one := &moved{name: member.Path, location: node.Clean(location) + "/" + member.Path}
		if one.array, err = g.At(member.Path).OpenArray(cmd.Context(), access); err != nil {
			return nil, err
		}
		if one.axis, err = argument.AxisOfArray(m.axis, one.array); err != nil {
			return nil, failure.On(cmd.Name(), one.location, err)
		}
		asked = true
		take, err := pick(one)
		if err == nil && take {
			err = node.CheckOwn(cmd.Context(), one.location, one.array)
		}
		if err != nil {
			return nil, failure.On(cmd.Name(), one.location, err)
		}
		if take {
			list = append(list, one)
		}
	}
	if !asked {
		return nil, dimensions.Missing(m.axis, known)
	}
	return list, nil
}

// check returns an error if an array would differ in length from others of its group.
func (m *moving) check(cmd *cobra.Command, one *moved, longer int64) error {
	if *m.alone {
		return nil
	}
	shape := one.array.Shape()
	shape[one.axis] += longer
	return movedTogether(cmd, dimensions.CheckShape(cmd.Context(), one.array, shape))
}

// movedTogether adds to an error about lengths that differ the command that changes all
// arrays of the group.
func movedTogether(cmd *cobra.Command, err error) error {
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
	return failure.On(cmd.Name(), e.Path, &reworded{e.Err, "(" + remedy.GroupAppend + ")", "(varve " + cmd.Name() + how + ")"})
}

// reworded is an error with another hint.
type reworded struct {
	err       error
	hint, own string
}

func (r *reworded) Unwrap() error { return r.err }

func (r *reworded) Error() string { return strings.Replace(r.err.Error(), r.hint, r.own, 1) }

// all rechunks the arrays, and prints the result.
func (m *moving) all(cmd *cobra.Command, location string, list []*moved, group bool) error {
	opt, err := m.options()
	if err != nil {
		return err
	}
	if !group {
		done, err := m.rechunk(cmd, location, list[0].array, list[0].request, opt)
		if err != nil {
			return err
		}
		done.inputs = list[0].inputs
		if err := m.writePlan(cmd, planFile{}, []*rechunked{done}); err != nil {
			return err
		}
		noteDisorder(cmd, list)
		if session.WantsJSON(cmd) {
			return session.PrintJSON(cmd, done)
		}
		return done.print(cmd)
	}
	results, err := m.together(cmd, location, list, opt)
	if err == nil {
		err = m.writePlan(cmd, planFile{Group: planfile.Location(cmd, location), Alone: *m.alone}, results)
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
func noteDisorder(cmd *cobra.Command, list []*moved) {
	for _, one := range list {
		if one.disorder != "" {
			session.Remark(cmd, one.location, one.disorder)
		}
	}
}

// together rechunks the arrays of a group in one transaction, or plans it.
func (m *moving) together(cmd *cobra.Command, location string, list []*moved, opt *rechunk.Options) ([]*rechunked, error) {
	parts := make([]rechunk.Part, len(list))
	for i, one := range list {
		parts[i] = rechunk.Part{Array: one.array, Request: one.request, Alone: *m.alone}
	}
	plans, err := rechunk.NewPlans(cmd.Context(), parts, opt)
	if err != nil {
		return nil, movedTogether(cmd, err)
	}
	cost.WarnOfSpace(cmd, location, cost.SpaceOf(plans...))
	results := make([]*rechunked, len(list))
	for i, p := range plans {
		results[i] = m.planned(cmd.Name(), list[i].location, p)
		results[i].inputs = list[i].inputs
		if err := m.blocked(cmd, results[i]); err != nil {
			return nil, err
		}
	}
	if m.dry {
		return results, nil
	}
	memory := int64(0)
	for _, p := range plans {
		memory = max(memory, p.Memory)
	}
	defer cost.LimitHeap(memory)()
	lines := newStageLines(cmd)
	defer lines.end()
	opt.Progress = lines.reach
	reports, err := rechunk.DoAll(cmd.Context(), parts, opt)
	if err != nil {
		return nil, movedTogether(cmd, err)
	}
	for i, r := range reports {
		results[i].replaceCounts(r)
	}
	return results, nil
}

// planes describes planes of an axis.
func (o *moved) planes(from, to int64) string {
	name := fmt.Sprintf("axis %d", o.axis)
	if names := o.array.DimensionNames(); names != nil && names[o.axis] != "" {
		name = names[o.axis]
	}
	return fmt.Sprintf("%s %d:%d", name, from, to)
}
