// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"cmp"
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
	"varve.dev/zarr/cmd/varve/internal/spelling"
)

// addition is the append of one file to one array of a group.
type addition struct {
	name  string // relative to the group
	file  string
	array *zarr.Array
	axis  int
	full  *growth.Gain // of the file
	more  *growth.Gain // what is appended of it
	opt   zarr.AppendOptions

	expect []int64 // the length that the axis must have; nil accepts any
	note   string  // about the order of a coordinate, "" for none

	interrupted *facts.Interruption // the change that opening the array finished, or nil

	// column says that the file is the array of a column of a staged table, and items
	// that its elements are those of lists, along a dimension of their own.
	column, items bool
	by            bool // with --by, which compares elements
}

// parseRounds parses arguments of the form NAME=FILE. FILE may be a pattern, and a name
// may be repeated. A round has one file for each name: the first files of all names, then
// the second ones, and so on. It fails if the names have different numbers of files, or
// if more than one file is standard input.
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
			return nil, failure.BadUsage("%q: only one file can be standard input", arg)
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
			return nil, failure.BadUsage("%s gets %s and %s gets %d: arrays that grow together need the same number of files",
				names[0], phrase.Plural(int64(len(rounds)), "file"), name, n)
		}
		for k, file := range files[name] {
			rounds[k] = append(rounds[k], &addition{name: name, file: file})
		}
	}
	return rounds, nil
}

// growAll appends to several arrays of a group, one round after another. Within a round,
// either all arrays grow or none. sources are what the files of all arrays come from, or
// nil if args were given.
func growAll(cmd *cobra.Command, location string, args, sources []string, formatName, axis string, c *growth.Change) (err error) {
	return growNamed(cmd, location, toNames(args), func() ([][]*addition, error) { return parseRounds(args) }, sources, formatName, axis, c)
}

// growNamed is growAll for arrays of names that get the files of rounds.
func growNamed(cmd *cobra.Command, location string, names []*addition, roundsOf func() ([][]*addition, error), sources []string, formatName, axis string, c *growth.Change) (err error) {
	expect, err := c.Expected(cmd)
	if err == nil && expect != nil && len(expect) != 1 {
		err = failure.BadUsage("--expect %s: for a group it is one number, the length of the axis that grows in all arrays", c.Expect)
	}
	if err != nil {
		return err
	}
	// Opening arrays finishes what a crashed writer left.
	interrupted := map[string]*facts.Interruption{}
	for _, in := range names {
		interrupted[in.name] = facts.Interrupted(cmd, node.Clean(location)+"/"+in.name)
	}
	if err := metByAll(cmd, location, names, axis, expect, interrupted, c); err != nil {
		return err
	}
	rounds, err := roundsOf()
	if err == nil {
		err = checkNamed(cmd, location, c, rounds[0], axis, sources != nil)
	}
	if err != nil {
		return failure.On(cmd.Name(), location, err)
	}
	if err := checkRounds(cmd, location, rounds, formatName, axis); err != nil {
		return err
	}
	// --expect is about the arrays before the first round.
	for _, in := range rounds[0] {
		if in.interrupted = interrupted[in.name]; !in.items {
			in.expect = expect
		}
	}
	m := newArrivals(c)
	defer func() { err = errors.Join(err, m.close()) }()
	all, err := growRounds(cmd, location, rounds, sources, expect, formatName, axis, c, m)
	if m.hasLate() && cmd.Context().Err() == nil {
		// After an error these are of the rounds before.
		all, lateErr := insertLate(cmd, location, all, rounds[0], axis, c, m)
		if err = errors.Join(err, lateErr); err == nil {
			err = cmp.Or(growth.TellAll(cmd, location, all, m.result()), m.leftOut(cmd, location))
		}
		return err
	}
	if err != nil {
		return err
	}
	return growth.TellAll(cmd, location, all, m.result())
}

// growRounds appends to several arrays of a group, one round after another. The facts of
// all rounds are those of one change.
func growRounds(cmd *cobra.Command, location string, rounds [][]*addition, sources []string, expect []int64, formatName, axis string, c *growth.Change, m *arrivals) (all []growth.Facts, err error) {
	for k, inputs := range rounds {
		facts, err := growRound(cmd, location, inputs, formatName, axis, c, m)
		if err != nil && k > 0 {
			last, of := rounds[k-1][0].file, phrase.Plural(int64(len(rounds)), "file")+" of each array"
			if sources != nil {
				last, of = sources[k-1], phrase.Plural(int64(len(rounds)), "file")
			}
			err = input.AppendedBefore(cmd, err, k, of, last, restOf(rounds, sources, k))
		}
		if err != nil {
			return all, err
		}
		// Report all rounds as one change: the shapes before the first, the notes of all.
		// The next round must find the arrays as this one leaves them.
		for i := range facts {
			if k > 0 {
				facts[i].Before = all[i].Before
				facts[i].Notes = append(all[i].Notes, facts[i].Notes...)
			}
			if next := rounds[min(k+1, len(rounds)-1)][i]; expect != nil && !next.items {
				next.expect = []int64{facts[i].Shape[inputs[i].axis]}
			}
		}
		all = facts
	}
	return all, nil
}

// insertLate inserts what belongs between the planes of the arrays, in one transaction.
func insertLate(cmd *cobra.Command, location string, all []growth.Facts, names []*addition, axis string, c *growth.Change, m *arrivals) ([]growth.Facts, error) {
	g, err := zarr.OpenGroup(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		return all, err
	}
	defer g.Close()
	inputs := make([]*addition, len(names))
	for i, in := range names {
		inputs[i] = &addition{name: in.name, column: in.column, items: in.items}
	}
	if err := openInputs(cmd, g, inputs, location, axis); err != nil {
		return all, err
	}
	l := newLatecomers(cmd, c, m, location)
	for _, in := range inputs {
		l.add(in.name, node.Clean(location)+"/"+in.name, in.array, in.axis)
	}
	err = l.insert()
	for k, f := range all {
		all[k] = l.update(k, f)
	}
	return all, err
}

// ofSources returns arguments NAME=SRC/NAME for groups, or files of other formats, that
// have all arrays directly below a group which grow along the dimension. names are those
// of all arrays directly below the group.
func ofSources(cmd *cobra.Command, location string, sources []string, axis string) (args, names []string, err error) {
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return nil, nil, err
	}
	defer g.Close()
	var inputs []*addition
	for m, err := range node.Listed(cmd.Context(), location, g.Unconsolidated()) {
		if err != nil {
			return nil, nil, err
		}
		inputs, names = append(inputs, &addition{name: m.Name, array: m.Array}), append(names, m.Name)
	}
	name := growingDimension(inputs, axis)
	for _, in := range inputs {
		if name == "" || !slices.Contains(in.array.DimensionNames(), name) {
			continue
		}
		for _, source := range sources {
			args = append(args, in.name+"="+node.Clean(source)+"/"+in.name)
		}
	}
	if len(args) == 0 {
		missing := cmp.Or(name, axis)
		if axis == "" {
			return nil, nil, failure.BadArgument("it is a group, and no array directly below it has the dimension %s: give --axis, or name the arrays that grow, as NAME=FILE", phrase.Word(missing))
		}
		var dimensions []string
		for _, in := range inputs {
			for _, d := range in.array.DimensionNames() {
				if d != "" && !slices.Contains(dimensions, d) {
					dimensions = append(dimensions, d)
				}
			}
		}
		text := "; name the arrays that grow, as NAME=FILE"
		if len(dimensions) > 0 {
			slices.Sort(dimensions)
			text = "; the dimensions are " + strings.Join(dimensions, ", ") + spelling.Meant(missing, dimensions)
		}
		return nil, nil, failure.BadArgument("no array directly below the group has the dimension %q%s", missing, text)
	}
	return args, names, nil
}

// noteLeft prints a note about what sources have and a group with arrays of some names
// does not: none of it is appended. It is found out if the sources can be listed;
// whatever else is wrong with them is an error of the append.
func noteLeft(cmd *cobra.Command, location string, sources, names []string) {
	var left, of []string
	for _, source := range sources {
		more := false
		for _, name := range node.MembersOf(cmd.Context(), source, session.Reading(cmd)) {
			if slices.Contains(names, name) {
				continue
			}
			if more = true; !slices.Contains(left, name) {
				left = append(left, name)
			}
		}
		if more {
			of = append(of, source)
		}
	}
	if len(left) == 0 {
		return
	}
	has := "it has"
	if len(of) > 1 {
		has = fmt.Sprintf("it and %s have", phrase.Plural(int64(len(of)-1), "other source"))
	}
	shown := strings.Join(left[:min(len(left), session.MostShown)], ", ")
	if n := len(left) - session.MostShown; n > 0 {
		shown += fmt.Sprintf(" and %s more", phrase.Count(int64(n)))
	}
	group := phrase.Word(node.Clean(location))
	session.Remark(cmd, of[0], fmt.Sprintf("%s what is not directly in %s, and is not appended: %s; for an array that does not grow, varve copy takes it there, "+
		"for another one varve create makes one as long as the others, and varve write fills it", has, group, shown))
}

// toNames returns one addition for each name in arguments of the form NAME=FILE.
func toNames(args []string) (inputs []*addition) {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		name = strings.Trim(name, "/")
		if name != "" && !slices.ContainsFunc(inputs, func(in *addition) bool { return in.name == name }) {
			inputs = append(inputs, &addition{name: name})
		}
	}
	return inputs
}

// metByAll returns a conflict if an array does not have the length that --expect gives.
// It opens no file.
func metByAll(cmd *cobra.Command, location string, inputs []*addition, axis string, expect []int64, interrupted map[string]*facts.Interruption, c *growth.Change) error {
	if expect == nil {
		return nil
	}
	g, err := zarr.OpenGroup(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	if err := openInputs(cmd, g, inputs, location, axis); err != nil {
		return err
	}
	for _, in := range inputs {
		shape := in.array.Shape()
		if in.items || in.axis < 0 || in.axis >= len(shape) {
			continue // reported below with the other faults of an axis
		}
		shape[in.axis] = expect[0]
		if err := growth.Met(in.array, shape); err != nil {
			for _, in := range inputs {
				noteFinished(cmd, node.Clean(location)+"/"+in.name, in.array, interrupted[in.name])
			}
			return failure.On(cmd.Name(), node.Clean(location)+"/"+in.name, err)
		}
	}
	return nil
}

// growRound appends one file to each of several arrays of a group. Either all of them
// grow or none. With --by, m counts what becomes of planes, and remembers late ones.
func growRound(cmd *cobra.Command, location string, inputs []*addition, formatName, axis string, c *growth.Change, m *arrivals) (facts []growth.Facts, err error) {
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
	defer func() { err = errors.Join(err, closeInputs(inputs, m)) }()
	for _, in := range inputs {
		noteFinished(cmd, node.Clean(location)+"/"+in.name, in.array, in.interrupted)
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
	put := func() error {
		return putAll(cmd, g, c, p, location, inputs, total)
	}
	if m == nil {
		err = put()
	} else {
		err = mergeAll(cmd, c, location, inputs, m, put)
	}
	if err != nil {
		return nil, err
	}
	return factsOf(cmd, location, inputs), nil
}

// putAll appends the planes of all inputs in one transaction.
func putAll(cmd *cobra.Command, g *zarr.Group, c *growth.Change, p growth.Policy, location string, inputs []*addition, total int64) error {
	if err := placeAll(c, cmd, p, location, inputs); err != nil {
		return err
	}
	var additions []zarr.Addition
	for _, in := range inputs {
		in.note = in.more.Disorder(cmd, in.array, in.extent())
		if in.column && in.more.Planes == 0 {
			continue
		}
		more := in.more.Addition(in.name, in.axis, &in.opt)
		more.Alone = *c.Alone
		additions = append(additions, more)
	}
	bar := progress.NewEstimate(cmd, "appending", total, progress.CodedBytes)
	defer bar.End()
	return g.Append(cmd.Context(), additions...)
}

// read opens the file and sets the number of planes.
func (i *addition) read(cmd *cobra.Command, location, formatName, axis string) (err error) {
	at, rank := node.Clean(location)+"/"+i.name, i.array.Rank()
	if i.axis < 0 || i.axis >= rank {
		return failure.On(cmd.Name(), at, failure.BadArgument("there is no axis %s: the array has rank %d, and axes are numbered from 0", axis, rank))
	}
	if i.expect != nil {
		i.opt.Expect = i.array.Shape()
		i.opt.Expect[i.axis] = i.expect[0]
	}
	if i.column {
		i.more, err = growth.OpenColumn(cmd, i.file, i.array, i.by)
	} else {
		i.more, err = growth.Open(cmd, i.file, formatName, i.array, i.axis, false)
	}
	if err != nil {
		return failure.On(cmd.Name(), at, err)
	}
	i.full, i.opt.Planes = i.more, i.more.Planes
	return nil
}

// closeInputs closes all files, but for those with late planes.
func closeInputs(inputs []*addition, m *arrivals) (err error) {
	for _, in := range inputs {
		if in.full != nil && !m.holds(in.full) {
			err = errors.Join(err, in.full.Close())
		}
	}
	return err
}

// dimension returns the name of the axis that grows, "" if it has none.
func (i *addition) dimension() string {
	if names := i.array.DimensionNames(); names != nil {
		return names[i.axis]
	}
	return ""
}

// sameGrowth returns an error if two arrays have equal extents along a dimension, and
// would differ after the append.
func sameGrowth(inputs []*addition) error {
	first := map[string]*addition{}
	for _, in := range inputs {
		name := in.dimension()
		f, known := first[name]
		if !known {
			first[name] = in
		}
		// Arrays that already differ may grow by different numbers, and then agree again.
		if known && name != "" && f.extent() == in.extent() && f.more.Planes != in.more.Planes {
			return failure.BadArgument("dimension %q would grow by %d in %s and by %d in %s", name, f.more.Planes, f.name, in.more.Planes, in.name)
		}
	}
	return nil
}

func (i *addition) extent() int64 { return i.array.Shape()[i.axis] }

// isListed reports whether the axis that grows has listed chunks, so that a policy
// applies to it.
func (i *addition) isListed() bool { return !i.array.Grid().Axis(i.axis).IsRegular() }

// placeAll sets the growth in the options of all arrays with listed chunks: the policy of
// --grow, or the one stored with the array. Regular chunks need none. It fails if no
// array can use the policy.
func placeAll(c *growth.Change, cmd *cobra.Command, p growth.Policy, location string, inputs []*addition) error {
	g := growth.Given{}
	for _, in := range inputs {
		g[node.Clean(location)+"/"+in.name] = in.more
	}
	// If no axis is listed, all arrays go through placeOne, which refuses a policy that
	// no axis can follow.
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

// placeOne sets the growth in the options of one array. known caches the times that
// several arrays share.
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
		// --time is relative to the group, also with a slash if that array grows here. A
		// stored policy names a coordinate beside its own array.
		own := node.Clean(location) + "/" + when.Coordinate
		if _, grows := g[own]; when.Coordinate != "" && (grows || !strings.Contains(when.Coordinate, "/")) {
			when.Coordinate = own
		}
		beside = location
	}
	// Reading a coordinate may take many requests, so arrays with the same times share
	// it.
	key := fmt.Sprint(p.Unit, beside[:strings.LastIndexByte(beside, '/')+1], when.Coordinate, when.Start, when.Step, when.Calendar)
	l, there := known[key]
	if !there {
		if l, err = when.Timeline(cmd.Context(), p.Unit, beside, g); err != nil {
			return err
		}
		known[key] = l
	}
	if err := l.Describes(in.array.DimensionNames(), in.axis); err != nil {
		return failure.On(cmd.Name(), at, err)
	}
	if err := placeEdges(p, l, in.array, in.axis, &in.opt); err != nil {
		return err
	}
	return chunking.CheckAppend(cmd, in.array, in.axis, in.more.Planes, &in.opt)
}

// factsOf returns the shapes of the arrays before and after the append, and notes. It
// prints the notes about coordinates.
func factsOf(cmd *cobra.Command, location string, inputs []*addition) []growth.Facts {
	arrays := make([]growth.Facts, len(inputs))
	for i, in := range inputs {
		arrays[i] = in.facts(cmd)
		if text := in.interrupted.Finished(in.array); text != "" {
			arrays[i].Notes = append(arrays[i].Notes, text)
		}
		if in.note != "" {
			session.Note(cmd, node.Clean(location)+"/"+in.name, in.note)
			arrays[i].Notes = append(arrays[i].Notes, in.note)
		}
	}
	return arrays
}

// facts returns the shapes of the array before and after the append.
func (i *addition) facts(cmd *cobra.Command) growth.Facts {
	// The transaction changed the stored array, not this open one.
	if i.array.Refresh(cmd.Context()) == nil {
		before, _ := shapesAround(i.array, i.axis, i.more.Planes)
		return growth.ReshapedTo(i.name, before, i.array)
	}
	// The append succeeded, even if the array cannot be read again.
	f := growth.Facts{Path: i.name, Before: i.array.Shape(), Shape: i.array.Shape()}
	f.Shape[i.axis] += i.more.Planes
	return f
}

// openInputs opens the arrays, and finds the axis along which each of them grows.
func openInputs(cmd *cobra.Command, g *zarr.Group, inputs []*addition, location, axis string) (err error) {
	for _, in := range inputs {
		if in.array, err = g.At(in.name).OpenArray(cmd.Context(), nil); err != nil {
			return err
		}
	}
	name := growingDimension(inputs, axis)
	for _, in := range inputs {
		at := node.Clean(location) + "/" + in.name
		if err := node.CheckOwn(cmd.Context(), at, in.array); err != nil {
			return failure.On(cmd.Name(), at, err)
		}
		if in.axis, err = in.along(name, axis); err != nil {
			return failure.On(cmd.Name(), at, err)
		}
	}
	return nil
}

// growingDimension returns the name of the dimension that grows. For a number in --axis
// that is its name in the array of the highest rank, or in the first such array. It
// returns "" if the axis has no name.
func growingDimension(inputs []*addition, axis string) string {
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

// along returns the axis of the array that has a name. If the array does not name its
// dimensions, it returns the one of --axis.
func (i *addition) along(name, axis string) (int, error) {
	if i.column {
		return 0, nil
	}
	names := i.array.DimensionNames()
	if name == "" || !slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		return argument.AxisOfArray(axis, i.array)
	}
	if !slices.Contains(names, name) {
		return 0, failure.BadArgument("dimension %q grows, but %s does not have it (its dimensions are %s): leave it out, or give another --axis%s",
			name, i.name, strings.Join(names, ", "), spelling.Meant(name, names))
	}
	return argument.AxisOf(name, names, len(names))
}
