// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
)

func newAppendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "append NODE [FILE|-] …, append GROUP NAME=FILE …",
		Short: "Grow an array, or several of a group together, by the values of files or of standard input",
		Long: `Grow an array, or several of a group together, by the values of files or of standard input.

The values have to be as long as the array along all axes but the one that grows. They are one new chunk where the chunks
of that axis are listed; regular chunks are filled up first, and so is the chunk that a policy has left open, as a month. A chunk that
is filled up is written again. No other one is touched.

A .npy file is read as one whatever it is called, unless --format says raw.
A FILE may also be a Zarr array, or a pattern in quotes, as 'days/*.npy', whose files are taken in natural order: day-9 before
day-10. Several files are appended one after the other, as if the command were run for each, so an axis whose chunks are listed
gets a chunk for each of them. Before the first one is appended, all are looked at as far as that can be done without reading their
values. Where one fails, those before it stay appended, and the message says which they are.

The numbers of another Zarr array are stored as they are. Where its attributes say that they mean something else than here, of other
units or packed in another way, that is refused. One without such attributes has raw numbers.

Where chunks are shards, a new one has to have whole inner chunks. With --round-up it is declared as long as that takes, and reaches
beyond the extent until the next append fills it.

With NAME=FILE, as t2m=a.npy time=b.npy, all arrays named grow or none does, whatever happens meanwhile. FILE may be a pattern
here, too, and a name may stand several times: the first files of all names are appended together, then the second ones. Names are relative to the
group, and so is the COORD of --time, which may be one of those that grow. The policy holds for all of them that have listed chunks,
and --expect is the length of the axis before it grows. Where arrays name their dimensions, AXIS is found by the name that the
array of the highest rank has for it.

` + dimensions.Text + `

Times that run backwards or repeat, as those of a month that is appended twice, are refused where a calendar cuts by them. Elsewhere
the coordinate, which is the array with one axis that has its name, gets a note. --expect keeps a change from being made twice.

` + growth.PoliciesText + `

` + growth.StoredText,
		Example: `  varve append station.zarr readings.npy
  varve append era5.zarr t2m=t2m.npy time=time.npy --grow calendar:month --time time
  varve append station.zarr 'days/*.npy'
  cat readings.raw | varve append station.zarr --axis time`,
		Args:              appendArguments,
		ValidArgsFunction: node.Complete,
	}
	axis := new(string)
	flagtext.Var(c.Flags(), axis, "axis", "0", "the `AXIS` that grows: a number, -1 for the last, or the name of a dimension", flagtext.Syntax(argument.ParseAxis))
	name := format.Flag(c, format.Raw, format.NPY, format.JSON)
	change := growth.Flags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && strings.Contains(args[1], "=") {
			many, err := isGroup(cmd, args[0])
			if err != nil {
				return err
			}
			if many {
				return growAll(cmd, args[0], args[1:], *name, *axis, change)
			}
			if err := notOfGroup(args); err != nil {
				return err
			}
		}
		sources, err := input.Sources(args[1:])
		if err != nil {
			return err
		}
		if len(sources) == 0 {
			sources = []string{"-"}
		}
		return grow(cmd, args[0], sources, *name, *axis, change)
	}
	return c
}

// notOfGroup refuses NAME=FILE for an array, unless it is a file that has such a name.
func notOfGroup(args []string) error {
	name, _, _ := strings.Cut(args[1], "=")
	group, array := path.Split(node.Clean(args[0]))
	own := strings.Trim(name, "/") == array
	if node.Exists(args[1]) || len(args) == 2 && !own {
		return nil
	}
	hint := ""
	if own && group != "" {
		hint = " (is varve append " + phrase.Word(node.Clean(group))
		for _, arg := range args[1:] {
			hint += " " + phrase.Word(arg)
		}
		hint += " meant?)"
	}
	return failure.BadArgument("NAME=FILE names an array of a group, and this is an array%s", hint)
}

// appendArguments checks the arguments: any number of files for an array, of names and
// files for a group.
func appendArguments(cmd *cobra.Command, args []string) error {
	if len(args) < 3 {
		return arguments("NODE", "[FILE]")(cmd, args)
	}
	if slices.Contains(args[1:], "") {
		return errors.New("FILE is empty: is a variable of the shell not set?")
	}
	named := strings.Contains(args[1], "=")
	for _, arg := range args[2:] {
		if strings.Contains(arg, "=") != named {
			return fmt.Errorf("unexpected argument %q: several arrays of a group are NAME=FILE each, files of one array have no name", arg)
		}
	}
	return nil
}

// grow appends files or nodes to an array, one after the other.
func grow(cmd *cobra.Command, location string, sources []string, formatName, axisText string, c *growth.Change) error {
	p, err := c.Policy(cmd)
	if err != nil {
		return err
	}
	expect, err := c.Expected(cmd)
	if err != nil {
		return err
	}
	was := facts.Interrupted(cmd, location)
	a, err := zarr.OpenArray(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		if many, _ := isGroup(cmd, location); many {
			err = failure.BadArgument("it is a group: say which of its arrays grow, as NAME=FILE")
		}
		return err
	}
	defer a.Close()
	session.RehearseIn(cmd, a.Location().Root())
	if a.Rank() == 0 {
		return failure.BadArgument("it is one value, without an axis that could grow; varve write %s --value V replaces it", phrase.Word(location))
	}
	at, err := argument.AxisOfArray(axisText, a)
	if err != nil {
		return err
	}
	g := &appending{location, formatName, a, at, p, expect, c}
	if len(sources) > 1 {
		for _, source := range sources {
			if err := g.foresee(cmd, source); err != nil {
				return err
			}
		}
	}
	var done []input.File
	var notes []string
	if text := was.Finished(a); text != "" {
		session.Note(cmd, location, text)
		notes = append(notes, text)
	}
	for _, source := range sources {
		file, err := g.by(cmd, source)
		if err != nil {
			return input.Partial(cmd, err, done, sources)
		}
		if file.Note != "" {
			session.Note(cmd, location, file.Note)
			notes = append(notes, file.Note)
		}
		done = append(done, file)
	}
	facts := growth.ReshapedTo(location, done[0].Before, a)
	facts.Notes = notes
	if len(done) > 1 {
		facts.Files = done
	}
	return facts.Tell(cmd)
}

// appending is an array that is about to grow along an axis.
type appending struct {
	location, formatName string
	array                *zarr.Array
	axis                 int
	policy               growth.Policy
	expect               []int64 // the shape that it has to have; nil is any
	change               *growth.Change
}

// foresee refuses a source that cannot be appended, without reading its values, unless
// those of a node may be missing here. Of a stream, a pipe and of JSON nothing is known
// before they are read.
func (g *appending) foresee(cmd *cobra.Command, source string) error {
	if source == "-" || source == "" {
		return nil
	}
	if !node.IsLocation(source) {
		f, err := format.Of(g.formatName, source, true)
		if err != nil {
			return err
		}
		// What is read from a pipe is gone for the append itself.
		if info, err := os.Stat(source); err != nil || f == format.JSON || !info.Mode().IsRegular() {
			return err
		}
	}
	v, err := input.Open(cmd, source, g.formatName, g.array.Type(), g.array)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := v.CheckEncoding(cmd.Context(), g.array); err != nil {
		return err
	}
	shape := g.array.Shape()
	if err := growth.Continues(v, shape, g.axis); err != nil || v.Total < 0 || growth.HasEmptyPlanes(shape, g.axis) {
		return err
	}
	_, err = growth.WholePlanes(v, shape, g.axis, v.Total/element.Width(v.Type))
	return err
}

// by makes the array grow by a source, and returns its shapes around that.
func (g *appending) by(cmd *cobra.Command, source string) (done input.File, err error) {
	a, at := g.array, g.axis
	more, err := growth.Open(cmd, source, g.formatName, a, at, true)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, more.Close()) }()
	planes := more.Planes
	if err := dimensions.CheckAgree(g.change, cmd, a, dimensions.Longer(a.Shape(), at, planes)); err != nil {
		return done, err
	}
	opt := &zarr.AppendOptions{Expect: g.expect, RoundUp: g.change.RoundUp, Planes: planes}
	p, when, err := g.change.Along(cmd, g.policy, a, g.location, at)
	if err != nil {
		return done, err
	}
	if err := p.Listed(a, at, g.location); err != nil {
		return done, err
	}
	l, err := when.Timeline(cmd.Context(), p.Unit, g.location, growth.Given{node.Clean(g.location): more})
	if err == nil {
		err = placeEdges(p, l, a, at, opt)
	}
	if err == nil {
		err = chunking.CheckAppend(cmd, a, at, planes, opt)
	}
	if err == nil {
		done.Note = growth.UnorderedAfter(cmd.Context(), a, more)
	}
	if err == nil && (planes > 0 || !growth.HasEmptyPlanes(a.Shape(), at)) {
		p := progress.NewEstimate(cmd, "appending", more.Length, progress.CodedBytes)
		err = more.Append(cmd.Context(), a, at, opt)
		p.End()
	}
	if err != nil {
		return done, err
	}
	if g.expect != nil {
		g.expect = dimensions.Longer(g.expect, at, planes) // so that the next source follows this one
	}
	done.Source = source
	done.Before, done.Shape = shapesAround(a, at, planes)
	return done, nil
}

// placeEdges makes the policy for an axis that grows a part of the options.
func placeEdges(p growth.Policy, l growth.Timeline, a *zarr.Array, axis int, opt *zarr.AppendOptions) error {
	if axis < 0 || axis >= a.Rank() {
		return nil // the library refuses the axis
	}
	shape := a.Shape()
	b, err := l.Buckets(shape[axis])
	if _, ends := b.Len(); ends && p.Unit != 0 && opt.Expect == nil {
		opt.Expect = shape // times that are known one by one are those of the elements behind just this extent
	}
	opt.Grow = p.Along(l, b, shape[axis])
	return err
}

// shapesAround returns the shapes of an array before and after it has grown. Others may
// have appended before it did.
func shapesAround(a *zarr.Array, axis int, planes int64) (before, after []int64) {
	after = a.Shape()
	before = slices.Clone(after)
	before[axis] -= planes
	return before, after
}
