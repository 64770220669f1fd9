// SPDX-License-Identifier: Apache-2.0

// Package growing has the commands that change the extent of arrays: append, insert,
// drop, resize, stitch, and reservations of what several writers append.
package growing

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
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
	"varve.dev/zarr/cmd/varve/internal/tabular"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/export"
)

// NewAppend returns the command append.
func NewAppend() *cobra.Command {
	c := &cobra.Command{
		Use:   "append NODE [FILE|-] …, append GROUP NAME=FILE …, append GROUP SRC …",
		Short: "Append values from files or standard input to an array, or to several arrays of a group",
		Long: `Append values from files or standard input to an array, or to several arrays of a group.

The values must have the extents of the array along all axes except the one that grows. On an axis
with listed chunks they become one new chunk, or those of --grow. The last regular chunk, and one
that a growth policy has left open, are filled up first and written again; no other stored chunk is
touched. FILE may be an array, too, and SRC a group with the same arrays. Several files are appended
one after another. With NAME=FILE either all arrays grow or none does.`,
		Example: `  varve append station.zarr readings.npy
  varve append era5.zarr t2m=t2m.npy time=time.npy --grow calendar:month --time time`,
		Args:              appendArguments,
		ValidArgsFunction: node.Complete,
	}
	axis := new(string)
	flagtext.Var(c.Flags(), axis, "axis", "0", "the `AXIS` that grows: a number, -1 for the last, or the name of a dimension", flagtext.Syntax(argument.ParseAxis))
	name := format.Flag(c, append([]export.Format{export.Raw, export.NPY, export.JSON}, tabular.Formats...)...)
	change := growth.Flags(c)
	byFlags(c, change)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkBy(cmd, change); err != nil {
			return err
		}
		if len(args) > 1 && isNamed(args[1]) {
			// A file may have = in its name. The kind of the node decides what NAME=FILE
			// means.
			many, err := node.IsGroup(cmd, args[0])
			if err != nil {
				return err
			}
			if many {
				err := growAll(cmd, args[0], args[1:], nil, *name, *axis, change)
				if errors.Is(err, fs.ErrNotExist) && node.Exists(args[1]) {
					err = fmt.Errorf("%w; %s is NAME=FILE here: for the path of that name, give %s", err, phrase.Word(args[1]), phrase.Word("./"+args[1]))
				}
				return err
			}
			if err := notOfGroup(args); err != nil {
				return err
			}
		}
		return grow(cmd, args[0], args[1:], *name, *axis, change)
	}
	return c
}

// isNamed reports whether an argument has the form NAME=FILE. What begins like a path or
// a URL before the first = is one: ./a=b, ../a=b, s3://bucket/a=b. A name may begin with
// a slash too, so /a=b is a path only if something is there, and /data/a=1/*.nc only if
// the folder /data is.
func isNamed(arg string) bool {
	name, _, found := strings.Cut(arg, "=")
	isPath := strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.Contains(name, "://") ||
		strings.HasPrefix(name, "/") && (node.Exists(arg) || path.Dir(name) != "/" && node.Exists(path.Dir(name)))
	return found && !isPath
}

// notOfGroup returns an error for NAME=FILE if the node is an array, unless a file of
// that name exists.
func notOfGroup(args []string) error {
	name, _, _ := strings.Cut(args[1], "=")
	group, array := path.Split(node.Clean(args[0]))
	own := strings.Trim(name, "/") == array
	if node.Exists(args[1]) || len(args) == 2 && !own {
		return nil
	}
	hint := ""
	if own && group != "" {
		hint = " (did you mean varve append " + phrase.Word(node.Clean(group))
		for _, arg := range args[1:] {
			hint += " " + phrase.Word(arg)
		}
		hint += "?)"
	}
	return failure.BadArgument("NAME=FILE names an array of a group, and this is an array%s", hint)
}

// appendArguments checks the arguments: any number of FILE for an array, or of NAME=FILE
// for a group.
func appendArguments(cmd *cobra.Command, args []string) error {
	// With at most one FILE, use the check that also gives hints.
	if len(args) < 3 {
		return usage.Arguments("NODE", "[FILE]")(cmd, args)
	}
	if slices.Contains(args[1:], "") {
		return errors.New("FILE is empty: is a shell variable not set?")
	}
	named := isNamed(args[1])
	for _, arg := range args[2:] {
		if isNamed(arg) != named {
			return fmt.Errorf("unexpected argument %q: for arrays of a group every argument is NAME=FILE, for one array every argument is FILE; a path with = is given as ./a=b", arg)
		}
	}
	return nil
}

// grow appends files or other arrays to an array, one after another.
func grow(cmd *cobra.Command, location string, files []string, formatName, axisText string, c *growth.Change) error {
	p, err := c.Policy(cmd)
	if err != nil {
		return err
	}
	expect, err := c.Expected(cmd)
	if err != nil {
		return err
	}
	sources, missing := input.Sources(files)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		return missing // wrong usage
	}
	// Look before opening for writing, which finishes an interrupted change. The note
	// about it needs the shape before.
	was := facts.Interrupted(cmd, location)
	a, err := zarr.OpenArray(cmd.Context(), location, c.Options(cmd))
	if err != nil {
		if many, _ := node.IsGroup(cmd, location); many {
			return growOf(cmd, location, sources, missing, formatName, axisText, c)
		}
		return notMade(cmd, location, sources, err)
	}
	defer a.Close()
	if err := growth.Met(a, expect); err != nil {
		noteFinished(cmd, location, a, was)
		return err
	}
	if err := node.CheckOwn(cmd.Context(), location, a); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	for _, s := range sources {
		if is, err := tabular.IsTable(cmd, s, formatName); s != "-" && is && err == nil {
			group, _ := path.Split(node.Clean(location))
			return failure.BadUsage("%s is a table: its columns are appended to the arrays of a group (varve append %s %s)", s, phrase.Word(cmp.Or(node.Clean(group), "GROUP")), phrase.Word(s))
		}
	}
	if len(sources) == 0 {
		sources = []string{"-"}
	}
	// A dry run of several files must read what its earlier files would have written.
	session.RehearseIn(cmd, a.Location().Root())
	if a.Rank() == 0 {
		return failure.BadArgument("it is a single value and has no axis that could grow; varve write %s --value V replaces it", phrase.Word(location))
	}
	at, err := argument.AxisOfArray(axisText, a)
	if err != nil {
		return err
	}
	g := &appending{location: location, formatName: formatName, array: a, axis: at, policy: p, expect: expect, change: c, arrivals: newArrivals(c)}
	return errors.Join(g.addAll(cmd, sources, was), g.arrivals.close())
}

// notMade adds to the error for a node that is not there which command makes it of the
// first source.
func notMade(cmd *cobra.Command, location string, sources []string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || len(sources) == 0 || sources[0] == "-" {
		return err
	}
	if meant := node.RepositoryMeant(cmd.Context(), location, err); meant.Error() != err.Error() {
		return meant
	}
	if node.IsRepository(location) && !node.HasRoot(cmd.Context(), location) {
		return err // which says what is missing before the node
	}
	first, to := phrase.Word(sources[0]), phrase.Word(location)
	switch {
	case node.IsLocation(sources[0]):
		return fmt.Errorf("%w; varve copy %s %s makes it of the first source", err, first, to)
	case strings.EqualFold(path.Ext(sources[0]), ".npy"), isTable(cmd, sources[0]):
		return fmt.Errorf("%w; varve create %s --from %s makes it of the first file", err, to, first)
	}
	return err
}

// growOf appends groups, or files of other formats, to the arrays of a group that have
// their names.
func growOf(cmd *cobra.Command, location string, sources []string, missing error, formatName, axis string, c *growth.Change) error {
	if missing == nil {
		if tables, err := areTables(cmd, sources, formatName); err != nil {
			return err
		} else if tables {
			return growTables(cmd, location, sources, axis, c)
		}
	}
	isSource := func(s string) bool { return formatName == "" && node.IsLocation(s) }
	for _, s := range sources {
		if missing == nil && s != "-" && !strings.Contains(s, "://") && !isNamed(s) {
			if err := checkGroupSource(cmd, location, s); err != nil {
				return err
			}
		}
	}
	if missing == nil && (len(sources) == 0 || !slices.ContainsFunc(sources, isSource)) {
		return failure.BadArgument("it is a group: name the arrays that grow, as NAME=FILE, or give a group or a file such as .nc that has them")
	}
	if missing != nil {
		return missing
	}
	args, names, err := ofSources(cmd, location, sources, axis)
	if err != nil {
		return err
	}
	noteLeft(cmd, location, sources, names)
	return growAll(cmd, location, args, sources, formatName, axis, c)
}

// checkGroupSource returns an error for a local source that has no arrays for a group,
// by what is there. It opens no file and no group, because there may be many.
func checkGroupSource(cmd *cobra.Command, location, source string) error {
	word := phrase.Word(source)
	switch info, err := os.Stat(source); {
	case err == nil && info.IsDir():
		if err := node.CheckFolder(source); err != nil {
			return err
		}
		if node.IsArrayFolder(source) {
			return groupNeeded(location, source)
		}
	case err == nil && !info.Mode().IsRegular():
		return failure.BadArgument("%s is no file and no group, but a pipe or a device: for the values of one array that come from there, give its name, as in NAME=%s", word, word)
	case err == nil:
	case node.IsLocation(source): // a node in a file or in an archive
		n, err := node.Open(cmd, source)
		if err != nil {
			return err
		}
		if _, is := n.(*zarr.Array); is {
			err = groupNeeded(location, source)
		}
		return errors.Join(err, n.Close())
	case node.Exists(source):
		return failure.NotFound("%s is a symbolic link to nothing: what it names does not exist", word)
	default:
		return failure.NotFound("%s: there is no such file or group", word)
	}
	return nil
}

// groupNeeded returns the error for a source of a group that is an array.
func groupNeeded(location, source string) error {
	group, name := path.Split(node.Clean(filepath.ToSlash(source)))
	return failure.BadArgument("%s is an array, and a group gets its arrays from a group, such as %s, or from a file; varve append %s %s appends to one array",
		phrase.Word(source), phrase.Word(cmp.Or(node.Clean(group), ".")), phrase.Word(node.Clean(location)+"/"+name), phrase.Word(source))
}

// noteFinished prints a note if opening an array has finished a change.
func noteFinished(cmd *cobra.Command, location string, a *zarr.Array, was *facts.Interruption) {
	if text := was.Finished(a); text != "" {
		session.Note(cmd, location, text)
	}
}

// appending is an append of one or more sources to an array along an axis.
type appending struct {
	location, formatName string
	array                *zarr.Array
	axis                 int
	policy               growth.Policy
	expect               []int64 // the shape that the array must have; nil accepts any
	change               *growth.Change
	arrivals             *arrivals // with --by
}

// addAll appends the sources one after another and prints the result. was is the change
// that opening the array may have finished.
func (g *appending) addAll(cmd *cobra.Command, sources []string, was *facts.Interruption) error {
	// add checks a single source before it writes. Of several sources, a bad one would
	// fail only after those before it were appended.
	if len(sources) > 1 {
		for _, source := range sources {
			if _, err := checkSource(cmd, source, g.formatName, g.array, g.axis); err != nil {
				return err
			}
		}
	}
	var done []input.File
	var notes []string
	note := func(text string) {
		if text != "" {
			session.Note(cmd, g.location, text)
			notes = append(notes, text)
		}
	}
	note(was.Finished(g.array))
	for _, source := range sources {
		file, err := g.add(cmd, source)
		if err != nil {
			_, lateErr := g.insertLate(cmd) // of the sources before
			return errors.Join(input.AddAppended(cmd, err, done, sources), lateErr)
		}
		note(file.Note)
		done = append(done, file)
	}
	// All sources are one change, which begins with the shape before the first.
	result := growth.ReshapedTo(g.location, done[0].Before, g.array)
	late, err := g.insertLate(cmd)
	if err != nil {
		return err
	}
	if late != nil {
		result = late.update(0, result)
	}
	result.Notes, result.Counts = notes, g.arrivals.result()
	if len(done) > 1 {
		result.Files = done
	}
	return cmp.Or(result.Tell(cmd), g.arrivals.leftOut(cmd, g.location))
}

// insertLate inserts what belongs between the planes of the array.
func (g *appending) insertLate(cmd *cobra.Command) (*latecomers, error) {
	if !g.arrivals.hasLate() || cmd.Context().Err() != nil {
		return nil, nil
	}
	l := newLatecomers(cmd, g.change, g.arrivals, g.location)
	l.add("", g.location, g.array, g.axis)
	return l, l.insert()
}

// add appends one source. It returns the shapes of the array before and after.
func (g *appending) add(cmd *cobra.Command, source string) (done input.File, err error) {
	more, err := growth.Open(cmd, source, g.formatName, g.array, g.axis, true)
	if err != nil {
		return done, err
	}
	defer func() {
		if !g.arrivals.holds(more) {
			err = errors.Join(err, more.Close())
		}
	}()
	if g.change.By != "" {
		return g.addBy(cmd, source, more)
	}
	return g.put(cmd, source, more, g.expect)
}

// put appends the planes of a source to the array, if it has the expected shape.
func (g *appending) put(cmd *cobra.Command, source string, more *growth.Gain, expect []int64) (done input.File, err error) {
	a, at, planes := g.array, g.axis, more.Planes
	if err := dimensions.CheckAgree(g.change, cmd, a, dimensions.Longer(a.Shape(), at, planes)); err != nil {
		return done, err
	}
	opt := &zarr.AppendOptions{Expect: expect, RoundUp: g.change.RoundUp, Planes: planes}
	p, when, err := g.change.Along(cmd, g.policy, a, g.location, at)
	if err != nil {
		return done, err
	}
	if err := p.Listed(a, at, g.location); err != nil {
		return done, err
	}
	l, err := when.Timeline(cmd.Context(), p.Unit, g.location, growth.Given{node.Clean(g.location): more})
	if err == nil {
		err = l.Describes(a.DimensionNames(), at)
	}
	if err == nil {
		err = placeEdges(p, l, a, at, opt)
	}
	if err == nil {
		err = chunking.CheckAppend(cmd, a, at, planes, opt)
	}
	if err == nil && a.Rank() == 1 { // only a coordinate has an order
		// Compare before the append: afterwards the new elements are the last ones.
		done.Note = more.Disorder(cmd, a, a.Shape()[0])
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
		g.expect = dimensions.Longer(g.expect, at, planes) // for the next source
	}
	done.Source = source
	done.Before, done.Shape = shapesAround(a, at, planes)
	return done, nil
}

// placeEdges sets the growth of an axis in opt according to a policy. A policy that
// takes its edges from times also sets the expected shape.
func placeEdges(p growth.Policy, l growth.Timeline, a *zarr.Array, axis int, opt *zarr.AppendOptions) error {
	if axis < 0 || axis >= a.Rank() {
		return nil // the library refuses the axis
	}
	shape := a.Shape()
	b, err := l.Buckets(shape[axis])
	if _, ends := b.Len(); ends && p.Unit != 0 && opt.Expect == nil {
		// These times belong to the elements that follow the present extent. If a
		// concurrent writer appends first, they would cut the wrong elements.
		opt.Expect = shape
	}
	opt.Grow = p.Along(l, b, shape[axis])
	return err
}

// shapesAround returns the shapes of an array before and after an append of planes. It
// computes the first from the second, since a concurrent writer may have appended after
// the array was opened.
func shapesAround(a *zarr.Array, axis int, planes int64) (before, after []int64) {
	after = a.Shape()
	before = slices.Clone(after)
	before[axis] -= planes
	return before, after
}
