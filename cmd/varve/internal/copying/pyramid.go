// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/pyramid"
)

// levelling is the command pyramid.
type levelling struct {
	levels          int
	method, factors string
	memory          string
	dry             bool
	singleWriter    *bool
}

// NewPyramid returns the command pyramid.
func NewPyramid() *cobra.Command {
	c := &cobra.Command{
		Use:   "pyramid NODE",
		Short: "Make levels of lower resolution of an array, or bring them up to date",
		Long: `Make levels of lower resolution of an array, for viewers that show all of a large image at once. NODE
is the array, or a group that has one array or the metadata of one image. The array is level 0: it
stays where it is, and is not changed. Every level is made of the one before it, by halving the axes
y and x, lat and lon, or the last two, until a level has one chunk along them.

Once the array has grown or was written, varve pyramid NODE makes only what has changed, as the last
time.`,
		Example: `  varve pyramid era5.zarr/t2m
  varve pyramid era5.zarr/mask --method mode --levels 2
  varve pyramid era5.zarr/t2m --factors time=7,lat=2,lon=2 --dry-run`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	l := new(levelling)
	f := c.Flags()
	f.IntVar(&l.levels, "levels", 0, "make `N` levels, without the array itself; -1 removes them")
	flagtext.Var(f, &l.method, "method", "", "how one element is made of several: a `METHOD` such as mean (the default) or mode (for names)", checkMethod)
	flagtext.Var(f, &l.factors, "factors", "", "`FACTORS` by which axes are divided: y=2,x=2, or JSON with one for each axis: [1,2,2]", flagtext.Syntax(parseFactors))
	f.StringVar(&l.memory, "memory", "", "hold at most `SIZE` of elements at once, such as 2GiB (512MiB by default)")
	f.BoolVar(&l.dry, "dry-run", false, "change nothing, and print what would be made")
	l.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if n := l.levels; cmd.Flags().Changed("levels") && n != -1 && (n < 1 || n > pyramid.MaxLevels) {
			return failure.BadUsage("--levels %d: give a number from 1 to %d, or -1, which removes all levels; without --levels, the last one has one chunk", n, pyramid.MaxLevels)
		}
		return l.run(cmd, args[0])
	}
	return c
}

// checkMethod checks the text of --method.
func checkMethod(text string) error {
	if slices.Contains(pyramid.Methods(), pyramid.Method(text)) {
		return nil
	}
	return fmt.Errorf("%q is no method: there are mean, nearest, mode, min and max", text)
}

// factor is one entry of --factors. axis is "" in a list of all axes.
type factor struct {
	axis string
	by   int64
}

// parseFactors parses the text of --factors.
func parseFactors(text string) (list []factor, err error) {
	if strings.HasPrefix(text, "[") {
		var all []int64
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			return nil, fmt.Errorf("%q is no JSON list of whole numbers", text)
		}
		for _, n := range all {
			list = append(list, factor{by: n})
		}
		return list, nil
	}
	for entry := range strings.SplitSeq(text, ",") {
		name, number, ok := strings.Cut(strings.TrimSpace(entry), "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not AXIS=N, such as y=2", entry)
		}
		if name, err = argument.ParseAxis(name); err != nil {
			return nil, err
		}
		list = append(list, factor{name, n})
	}
	return list, nil
}

// options returns the options for an array.
func (l *levelling) options(a *zarr.Array) (*pyramid.Options, error) {
	o := &pyramid.Options{Method: pyramid.Method(l.method), Levels: l.levels}
	if l.memory != "" {
		n, err := phrase.ParseSize(l.memory)
		if err == nil && n < 1 {
			err = errors.New("must be at least 1 byte")
		}
		if err != nil {
			return nil, failure.BadUsage("--memory %s: %w", l.memory, err)
		}
		o.Memory = n
	}
	if l.factors == "" {
		return o, nil // as the last time
	}
	list, err := parseFactors(l.factors)
	if err != nil {
		return nil, failure.BadUsage("--factors: %w", err)
	}
	if list == nil || list[0].axis == "" {
		o.Factors = make([]int64, 0, len(list))
		for _, f := range list {
			o.Factors = append(o.Factors, f.by)
		}
		return o, nil
	}
	o.Factors = slices.Repeat([]int64{1}, a.Rank())
	for _, f := range list {
		axis, err := argument.AxisOfArray(f.axis, a)
		if err != nil {
			return nil, err
		}
		if axis < 0 || axis >= a.Rank() {
			return nil, failure.BadArgument("--factors: there is no axis %d, the array has rank %d", axis, a.Rank())
		}
		o.Factors[axis] = f.by
	}
	return o, nil
}

func (l *levelling) run(cmd *cobra.Command, location string) error {
	access := session.Writing(cmd)
	access.Write, access.SingleWriter = !l.dry, *l.singleWriter
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer n.Close()
	a, ok := n.(*zarr.Array)
	if !ok {
		if a, err = pyramid.Base(cmd.Context(), n.(*zarr.Group)); err != nil {
			return err
		}
	}
	opt, err := l.options(a)
	if err != nil {
		return err
	}
	plan, err := l.make(cmd, a, opt)
	if err != nil {
		return err
	}
	if plan.Deviation != "" {
		session.Remark(cmd, location, plan.Deviation+", so viewers may refuse the metadata of OME-Zarr")
	}
	if len(plan.Others) > 0 {
		session.Remark(cmd, location, othersText(plan.Array, plan.Others))
	}
	if session.WantsJSON(cmd) {
		return l.printJSON(cmd, location, plan)
	}
	return l.print(cmd, location, plan)
}

// othersText tells of levels that another program has made of an array.
func othersText(array string, paths []string) string {
	text := "levels of another program stay as they are, even if the array has changed since: " + phrase.Shorten(strings.Join(paths, ", "), 60)
	if array == "0" { // its levels would have the same names
		return text
	}
	return text + "; --levels N makes others"
}

// make makes the levels, or plans them.
func (l *levelling) make(cmd *cobra.Command, a *zarr.Array, opt *pyramid.Options) (*pyramid.Plan, error) {
	if l.dry {
		return pyramid.NewPlan(cmd.Context(), a, opt)
	}
	p := progress.NewCount(cmd, "tiles", 0)
	defer p.End()
	opt.Progress = p.Reach
	return pyramid.Make(cmd.Context(), a, opt)
}

// levelFacts are one level in the form of --json.
type levelFacts struct {
	Path  string         `json:"path"`
	Shape []int64        `json:"shape"`
	Grid  map[string]any `json:"chunk_grid"`
	Tiles int64          `json:"chunks_stored"`
	Made  int64          `json:"chunks_made"`
	Bytes int64          `json:"bytes_logical"`
}

// levelledFacts are the result of the command in the form of --json.
type levelledFacts struct {
	dryrun.Head
	Path    string         `json:"path"`
	DryRun  bool           `json:"dry_run"`
	Array   string         `json:"array"`
	Method  pyramid.Method `json:"method"`
	Factors []int64        `json:"factors"`
	Rebuild bool           `json:"rebuild"`
	Levels  []levelFacts   `json:"levels"`
	Others  []string       `json:"levels_of_others"` // they stay as they are
	dryrun.Counts
}

// levelFactsOf returns the facts of a level.
func levelFactsOf(l pyramid.Level) levelFacts {
	chunks := map[string]any{"name": l.Grid.Name(), "configuration": json.RawMessage(l.Grid.AppendConfiguration(nil))}
	return levelFacts{l.Path, l.Grid.Shape(), chunks, l.Tiles, l.Made, l.Bytes}
}

func (l *levelling) printJSON(cmd *cobra.Command, location string, plan *pyramid.Plan) error {
	made, kept := int64(0), int64(0)
	levels := []levelFacts{}
	for _, level := range plan.Levels {
		made, kept = made+level.Made, kept+max(0, level.Tiles-level.Made)
		levels = append(levels, levelFactsOf(level))
	}
	p := levelledFacts{
		Head: dryrun.Head{
			Operation: cmd.Name(), Node: location, Target: &plan.Group, Strategy: "data-first", Guarantee: "atomic",
			Stages: dryrun.Stages(dryrun.Stage{Name: "write", Tasks: made}, dryrun.Stage{Name: "publish", Tasks: 1}),
		},
		Path: location, DryRun: l.dry, Array: plan.Array, Method: plan.Method, Factors: plan.Factors, Rebuild: plan.Rebuild, Levels: levels, Others: append([]string{}, plan.Others...),
		Counts: dryrun.Counts{
			Kept: &kept, New: &made, Rewritten: new(int64), Copied: new(int64), Dropped: new(int64), BytesCopied: new(int64), BytesDropped: new(int64),
			BytesDecoded: &plan.BytesRead, BytesEncoded: &plan.BytesWritten, PeakMemory: &plan.Memory, Scratch: new(int64),
		},
	}
	var err error
	if p.Fingerprint, err = dryrun.Fingerprint(p); err != nil {
		return err
	}
	return session.PrintJSON(cmd, p)
}

func (l *levelling) print(cmd *cobra.Command, location string, plan *pyramid.Plan) error {
	var b strings.Builder
	how := ""
	if l.dry {
		how = "  (nothing was changed)"
	}
	fmt.Fprintf(&b, "%s  %s by %s%s\n", phrase.Printable(location), phrase.Plural(int64(len(plan.Levels)), "level"), plan.Method, how)
	if len(plan.Levels) == 0 && len(plan.Others) == 0 && l.levels >= 0 {
		b.WriteString("  the array has at most one chunk along the axes that are divided; --levels N makes levels all the same\n")
	}
	for _, level := range plan.Levels {
		made := "up to date"
		if level.Made > 0 {
			made = phrase.Count(level.Made) + " of " + phrase.Plural(level.Tiles, "chunk")
		}
		fmt.Fprintf(&b, "  %s  %s in chunks of %s, %s, %s\n", phrase.Printable(level.Path), phrase.Shape(level.Grid.Shape()),
			phrase.Chunks(level.Grid), phrase.Bytes(level.Bytes), made)
	}
	if l.dry && len(plan.Levels) > 0 {
		fmt.Fprintf(&b, "  %s of elements to read, %s to write\n", phrase.Bytes(plan.BytesRead), phrase.Bytes(plan.BytesWritten))
	}
	_, err := cmd.OutOrStdout().Write([]byte(b.String()))
	return err
}
