// SPDX-License-Identifier: Apache-2.0

package growing

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/rechunk"
)

// inserting is the command insert.
type inserting struct {
	rechunking.Moving
	place  string // the value of --at
	at     int64
	grow   string
	format *string

	open []*rechunking.Inserted
}

// NewInsert returns the command insert.
func NewInsert() *cobra.Command {
	c := &cobra.Command{
		Use:   "insert NODE --axis AXIS --at I [FILE|-] …, insert GROUP --axis AXIS --at I NAME=FILE …",
		Short: "Put values from files or standard input into an array, or into several arrays of a group",
		Long: `Put values from files or standard input into an array before element I of an axis, or into several
arrays of a group. --at 0 prepends. What follows moves down. Each file becomes one chunk along the
axis, or chunks of the length that a regular axis has; --grow cuts files in another way. If I lies
within a chunk, that chunk is cut there.

FILE is what varve append takes. With NAME=FILE, as in t2m=a.npy time=b.npy, all arrays of the group that
have the dimension must be named, unless --alone is given. A name may be repeated.`,
		Example: `  varve insert station.zarr --at 0 readings.npy --unlock
  varve insert era5.zarr --axis time --at 0 t2m=t2m.npy time=time.npy`,
		Args:              appendArguments,
		ValidArgsFunction: node.Complete,
	}
	i := new(inserting)
	i.Flags(c)
	planfile.Flag(c, &i.PlanTo)
	f := c.Flags()
	flagtext.Var(f, &i.place, "at", "", "insert before element `I`; 0 prepends", flagtext.Syntax(parsePlace))
	f.StringVar(&i.grow, "grow", "", "how each file is cut into chunks: a `POLICY` as of varve append, such as fixed:30")
	i.format = format.Flag(c, export.Raw, export.NPY, export.JSON)
	c.RunE = func(cmd *cobra.Command, args []string) error { return i.run(cmd, args[0], args[1:]) }
	return c
}

func (i *inserting) run(cmd *cobra.Command, location string, args []string) (err error) {
	if i.place == "" {
		return failure.BadUsage("say where, as in --at 0")
	}
	if i.at, err = parsePlace(i.place); err != nil {
		return failure.BadUsage("--at: %w", err)
	}
	policy, err := i.policy()
	if err != nil {
		return err
	}
	many, err := node.IsGroup(cmd, location)
	if err == nil && many && (len(args) == 0 || !isNamed(args[0])) {
		err = failure.On(cmd.Name(), location, failure.BadArgument("it is a group: name the arrays, as NAME=FILE"))
	}
	if err != nil {
		return err
	}
	var files map[string][]string // found after --expect is compared
	defer func() {
		for _, in := range i.open {
			err = errors.Join(err, in.Close())
		}
	}()
	var known []string
	list, group, done, err := i.Moving.Open(cmd, location, func(one *rechunking.Moved) (_ bool, err error) {
		known = append(known, one.Name)
		defer func() { err = i.Explained(one, err) }()
		if files == nil {
			if files, err = i.files(args, many); err != nil {
				return false, err
			}
		}
		sources, named := files[one.Name]
		if !named {
			return false, nil
		}
		delete(files, one.Name)
		one.Wanted, err = i.request(cmd, one, sources, policy)
		return true, err
	})
	if done != nil {
		defer done()
	}
	if err != nil {
		return err
	}
	for name := range files {
		return failure.NotFound("no array directly below the group has the name %s and the dimension %q%s", name, i.Axis, spelling.Meant(name, known))
	}
	if !group {
		planes := int64(0)
		for _, n := range list[0].Wanted.(rechunk.Insertion).Edges {
			planes += n
		}
		if err := i.Check(cmd, list[0], planes); err != nil {
			return err
		}
	}
	return i.All(cmd, location, list, group)
}

// parsePlace parses the value of --at.
func parsePlace(text string) (int64, error) {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil || at < 0 {
		return 0, fmt.Errorf("%q is not the index of an element, from 0 on; varve append --by COORD inserts late planes where a coordinate says", text)
	}
	return at, nil
}

// policy returns the growth that cuts files into chunks, or nil if none is given.
func (i *inserting) policy() (*grid.Growth, error) {
	if i.grow == "" {
		return nil, nil
	}
	p, err := growth.ParsePolicy(i.grow)
	if err == nil && growth.IsRelative(i.grow) {
		err = errors.New("give append-one, fixed:N or pattern:…; varve compact --to calendar:… merges chunks by the calendar afterwards")
	}
	if err != nil {
		return nil, failure.BadUsage("--grow %s: %w", phrase.Word(i.grow), err)
	}
	return &p.Growth, nil
}

// files returns the files for each array, under "" for a single one.
func (i *inserting) files(args []string, group bool) (map[string][]string, error) {
	if !group {
		sources, err := input.Sources(args)
		if err == nil && len(sources) == 0 {
			sources = []string{"-"}
		}
		return map[string][]string{"": sources}, err
	}
	rounds, err := parseRounds(args)
	files := map[string][]string{}
	for _, round := range rounds {
		for _, in := range round {
			files[in.name] = append(files[in.name], in.file)
		}
	}
	return files, err
}

// request opens the files for an array.
func (i *inserting) request(cmd *cobra.Command, one *rechunking.Moved, files []string, policy *grid.Growth) (rechunk.Request, error) {
	r := rechunk.Insertion{Axis: one.Axis, At: i.at, Expect: i.Expected(one), Unlock: i.Unlock}
	if i.PlanTo != "" {
		var err error
		if one.Inputs, err = rechunking.NewInputs(files, *i.format); err != nil {
			return nil, err
		}
	}
	in, err := rechunking.OpenInserted(cmd, files, *i.format, one.Array, one.Axis)
	i.open = append(i.open, in)
	if err != nil {
		return nil, err
	}
	for _, g := range in.Gains {
		edges, err := i.edges(one, g.Planes, policy)
		if err != nil {
			return nil, err
		}
		r.Edges = append(r.Edges, edges...)
	}
	in.Give(&r)
	one.Disorder = in.All.Disorder(cmd, one.Array, i.at)
	return r, nil
}

// edges returns the lengths of the chunks of one file.
func (i *inserting) edges(one *rechunking.Moved, planes int64, policy *grid.Growth) ([]int64, error) {
	if planes == 0 {
		return nil, nil
	}
	how := grid.AppendOne()
	if a := one.Array.Grid().Axis(one.Axis); policy != nil {
		if how = *policy; a.IsRegular() && !i.Unlock {
			return nil, failure.BadArgument("--grow %s: the axis is regular, and its chunks keep their length; --unlock permits others", i.grow)
		}
	} else if a.IsRegular() {
		how = grid.Fixed(a.Step())
	}
	a, err := grid.NewAxis(0, grid.Edges())
	if err == nil {
		a, err = a.Grown(planes, how)
	}
	if err != nil {
		return nil, failure.OnAxis(one.Axis, "%w", err)
	}
	var edges []int64
	for k := range a.Chunks() {
		c, _ := a.Cell(k)
		edges = append(edges, c.Logical)
	}
	return edges, nil
}
