// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
)

// isGroup reports whether a group is at a location.
func isGroup(cmd *cobra.Command, location string) (bool, error) {
	n, err := node.Open(cmd, location)
	if err != nil {
		return false, err
	}
	_, is := n.(*zarr.Group)
	return is, n.Close()
}

// addition is what one array of a group is to grow by.
type addition struct {
	name  string // relative to the group
	file  string
	array *zarr.Array
	axis  int
	more  *growth.Gain
	opt   zarr.AppendOptions

	expect []int64 // the length of the axis that the array has to have; nil is any
	note   string  // about the order of a coordinate, "" for none

	interrupted *facts.Interruption // that was finished when the array was opened, nil for none
}

// parseRounds reads NAME=FILE, where FILE may be a pattern and a name may stand several
// times, as files of one array may. The first files of all names are appended together,
// then the second ones, so each name needs as many. Only one file can be standard input.
func parseRounds(args []string) ([][]*addition, error) {
	var names []string
	files, streams := map[string][]string{}, 0
	for _, arg := range args {
		name, file, _ := strings.Cut(arg, "=")
		name = strings.Trim(name, "/")
		switch {
		case name == "":
			return nil, failure.BadUsage("%q: the name of an array is missing", arg)
		case file == "":
			return nil, failure.BadUsage("%q: the name of a file is missing", arg)
		case file == "-":
			streams++
		}
		if streams > 1 {
			return nil, failure.BadUsage("%q: standard input can be given only once", arg)
		}
		found, err := input.Sources([]string{file})
		if err != nil {
			return nil, err
		}
		if files[name] == nil {
			names = append(names, name)
		}
		files[name] = append(files[name], found...)
	}
	rounds := make([][]*addition, len(files[names[0]]))
	for _, name := range names {
		if n := len(files[name]); n != len(rounds) {
			return nil, failure.BadUsage("%s is to grow by %s and %s by %d: arrays that grow together take as many files each",
				names[0], phrase.Plural(int64(len(rounds)), "file"), name, n)
		}
		for k, file := range files[name] {
			rounds[k] = append(rounds[k], &addition{name: name, file: file})
		}
	}
	return rounds, nil
}

// growAll appends to several arrays of a group: all of them or none. Of several files a
// name the first of all names are appended together, then the second ones.
func growAll(cmd *cobra.Command, location string, args []string, formatName, axis string, c *growth.Change) error {
	expect, err := c.Expected(cmd)
	if err == nil && expect != nil && len(expect) != 1 {
		err = failure.BadUsage("--expect %s: for a group it is the length of the axis that grows, which all arrays have to have", c.Expect)
	}
	if err != nil {
		return err
	}
	rounds, err := parseRounds(args)
	if err != nil {
		return err
	}
	for _, in := range rounds[0] {
		in.expect, in.interrupted = expect, facts.Interrupted(cmd, node.Clean(location)+"/"+in.name)
	}
	var all []growth.Facts
	for k, inputs := range rounds {
		facts, err := growRound(cmd, location, inputs, formatName, axis, c)
		if err != nil && k > 0 {
			err = input.AppendedBefore(cmd, err, k, phrase.Plural(int64(len(rounds)), "file")+" a name", rounds[k-1][0].file)
		}
		if err != nil {
			return err
		}
		for i := range facts {
			if k > 0 {
				facts[i].Before = all[i].Before
				facts[i].Notes = append(all[i].Notes, facts[i].Notes...)
			}
			if expect != nil && k+1 < len(rounds) {
				next := rounds[k+1][i]
				next.expect = []int64{facts[i].Shape[inputs[i].axis]}
			}
		}
		all = facts
	}
	return growth.TellAll(cmd, location, all)
}

// growRound appends a file to each of several arrays of a group: to all of them or to
// none.
func growRound(cmd *cobra.Command, location string, inputs []*addition, formatName, axis string, c *growth.Change) (facts []growth.Facts, err error) {
	p, err := c.Policy(cmd)
	if err != nil {
		return nil, err
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		return nil, err
	}
	defer g.Close()
	session.RehearseIn(cmd, g.Location().Root())
	if err := openInputs(cmd, g, inputs, location, axis); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeInputs(inputs)) }()
	for _, in := range inputs {
		if text := in.interrupted.Finished(in.array); text != "" {
			session.Note(cmd, node.Clean(location)+"/"+in.name, text)
		}
	}
	total := int64(0)
	for _, in := range inputs {
		in.opt.RoundUp = c.RoundUp
		if err := in.read(cmd, location, formatName, axis); err != nil {
			return nil, err
		}
		total += in.more.Length
	}
	if err := sameGrowth(inputs); err != nil {
		return nil, err
	}
	if err := placeAll(c, cmd, p, location, inputs); err != nil {
		return nil, err
	}
	additions := make([]zarr.Addition, len(inputs))
	for i, in := range inputs {
		in.note = growth.UnorderedAfter(cmd.Context(), in.array, in.more)
		additions[i] = in.more.Addition(in.name, in.axis, &in.opt)
		additions[i].Alone = *c.Alone
	}
	bar := progress.NewEstimate(cmd, "appending", total, progress.CodedBytes)
	err = g.Append(cmd.Context(), additions...)
	bar.End()
	if err != nil {
		return nil, err
	}
	facts = factsOf(cmd, inputs)
	for i, in := range inputs {
		if text := in.interrupted.Finished(in.array); text != "" {
			facts[i].Notes = append(facts[i].Notes, text)
		}
		if in.note != "" {
			session.Note(cmd, node.Clean(location)+"/"+in.name, in.note)
			facts[i].Notes = append(facts[i].Notes, in.note)
		}
	}
	return facts, nil
}

// read opens the file, and counts its planes.
func (i *addition) read(cmd *cobra.Command, location, formatName, axis string) (err error) {
	at, rank := node.Clean(location)+"/"+i.name, i.array.Rank()
	if i.axis < 0 || i.axis >= rank {
		return failure.On(cmd.Name(), at, failure.BadArgument("axis %s of an array with %s", axis, phrase.Plural(int64(rank), "axis")))
	}
	if i.expect != nil {
		i.opt.Expect = i.array.Shape()
		i.opt.Expect[i.axis] = i.expect[0]
	}
	if i.more, err = growth.Open(cmd, i.file, formatName, i.array, i.axis, false); err != nil {
		return failure.On(cmd.Name(), at, err)
	}
	i.opt.Planes = i.more.Planes
	return nil
}

// closeInputs lets go of all files.
func closeInputs(inputs []*addition) (err error) {
	for _, in := range inputs {
		if in.more != nil {
			err = errors.Join(err, in.more.Close())
		}
	}
	return err
}

// dimension returns the name of the axis that grows, "" where it has none.
func (i *addition) dimension() string {
	if names := i.array.DimensionNames(); names != nil {
		return names[i.axis]
	}
	return ""
}

// sameGrowth refuses inputs that would make one dimension as long in one array and longer
// in another.
func sameGrowth(inputs []*addition) error {
	first := map[string]*addition{}
	for _, in := range inputs {
		name := in.dimension()
		f, known := first[name]
		if !known {
			first[name] = in
		}
		if known && name != "" && f.extent() == in.extent() && f.more.Planes != in.more.Planes {
			return failure.BadArgument("dimension %q would grow by %d in %s and by %d in %s", name, f.more.Planes, f.name, in.more.Planes, in.name)
		}
	}
	return nil
}

func (i *addition) extent() int64 { return i.array.Shape()[i.axis] }

// output.IsListed reports whether the chunks of the axis that grows are a list, which a policy
// can lengthen.
func (i *addition) isListed() bool { return !i.array.Grid().Axis(i.axis).IsRegular() }

// placeAll makes the policy a part of the options of all arrays whose chunks are listed,
// or that which is stored with them. Regular chunks follow the extent; a policy that is
// of no use to any array is refused.
func placeAll(c *growth.Change, cmd *cobra.Command, p growth.Policy, location string, inputs []*addition) error {
	g := growth.Given{}
	for _, in := range inputs {
		g[node.Clean(location)+"/"+in.name] = in.more
	}
	someListed := slices.ContainsFunc(inputs, (*addition).isListed)
	known := map[string]growth.Timeline{}
	for _, in := range inputs {
		if someListed && !in.isListed() {
			continue
		}
		if err := placeOne(c, cmd, p, location, in, g, known); err != nil {
			return failure.On(cmd.Name(), node.Clean(location)+"/"+in.name, err)
		}
	}
	return nil
}

// placeOne makes the policy a part of the options of one array. Times that several arrays
// have are read once.
func placeOne(c *growth.Change, cmd *cobra.Command, p growth.Policy, location string, in *addition, g growth.Given, known map[string]growth.Timeline) error {
	at := node.Clean(location) + "/" + in.name
	p, when, err := c.Along(cmd, p, in.array, at, in.axis)
	if err != nil {
		return err
	}
	if err := p.Listed(in.array, in.axis, at); err != nil {
		return err
	}
	beside := at
	if !p.Stored {
		own := node.Clean(location) + "/" + when.Coordinate
		if _, grows := g[own]; when.Coordinate != "" && (grows || !strings.Contains(when.Coordinate, "/")) {
			when.Coordinate = own
		}
		beside = location
	}
	key := fmt.Sprint(p.Unit, beside[:strings.LastIndexByte(beside, '/')+1], when.Coordinate, when.Start, when.Step, when.Calendar)
	l, there := known[key]
	if !there {
		if l, err = when.Timeline(cmd.Context(), p.Unit, beside, g); err != nil {
			return err
		}
		known[key] = l
	}
	if err := placeEdges(p, l, in.array, in.axis, &in.opt); err != nil {
		return err
	}
	return chunking.CheckAppend(cmd, in.array, in.axis, in.more.Planes, &in.opt)
}

// factsOf returns how the arrays have grown.
func factsOf(cmd *cobra.Command, inputs []*addition) []growth.Facts {
	arrays := make([]growth.Facts, len(inputs))
	for i, in := range inputs {
		if in.array.Refresh(cmd.Context()) == nil {
			before, _ := shapesAround(in.array, in.axis, in.more.Planes)
			arrays[i] = growth.ReshapedTo(in.name, before, in.array)
			continue
		}
		// What was appended is there even if it cannot be looked at.
		f := growth.Facts{Path: in.name, Before: in.array.Shape(), Shape: in.array.Shape()}
		f.Shape[in.axis] += in.more.Planes
		arrays[i] = f
	}
	return arrays
}

// openInputs opens the arrays and finds the axis along which each of them grows.
func openInputs(cmd *cobra.Command, g *zarr.Group, inputs []*addition, location, axis string) (err error) {
	for _, in := range inputs {
		if in.array, err = g.At(in.name).OpenArray(cmd.Context(), nil); err != nil {
			return err
		}
	}
	name := growing(inputs, axis)
	for _, in := range inputs {
		if in.axis, err = in.along(name, axis); err != nil {
			return failure.On(cmd.Name(), node.Clean(location)+"/"+in.name, err)
		}
	}
	return nil
}

// growing returns the name of the dimension that --axis means: the name itself, or that
// which the array of the highest rank, the first of several, has for the number. It is ""
// where none has a name for it.
func growing(inputs []*addition, axis string) string {
	n, err := strconv.Atoi(axis)
	if err != nil {
		return axis
	}
	name, highest := "", 0
	for _, in := range inputs {
		rank, names := in.array.Rank(), in.array.DimensionNames()
		at := n
		if n < 0 {
			at += rank
		}
		if rank > highest && at >= 0 && at < len(names) && names[at] != "" {
			name, highest = names[at], rank
		}
	}
	return name
}

// along returns the axis of a dimension of the given name, or what --axis says where the
// array names no dimensions.
func (i *addition) along(name, axis string) (int, error) {
	names := i.array.DimensionNames()
	if name == "" || !slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		return argument.AxisOfArray(axis, i.array)
	}
	if !slices.Contains(names, name) {
		return 0, failure.BadArgument("dimension %q grows, and %s does not have it (its dimensions are %s): leave it out, or say another --axis",
			name, i.name, strings.Join(names, ", "))
	}
	return argument.AxisOf(name, names, len(names))
}
