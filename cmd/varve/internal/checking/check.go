// SPDX-License-Identifier: Apache-2.0

// Package checking has the commands that find faults and differences: check, equal and
// diff.
package checking

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/conventions"
	"varve.dev/zarr/internal/job"
)

// NewCheck returns the command check.
func NewCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check NODE",
		Short: "Look for damage in the stored chunks of an array, or of all arrays below a group; status 1 if there is any",
		Long: `Look for damage in the stored chunks of an array, or of all arrays below a group; status 1 if there
is any.

Every stored chunk is read and decoded. In a shard, every inner chunk must lie within the shard,
must not share its bytes with another one, and must decode. Bytes that belong to no inner chunk are
counted, but they are no damage; varve compact --shards frees them. Without a checksum, wrong values
may go unnoticed.

With --conventions, documents are compared with CF, OME-Zarr, the conventions that zarr_conventions
registers (geozarr), or anndata. What a convention demands and a node breaks is a finding: status 1.
What it only recommends is a note, which does not change the status. See docs/conventions.md.`,
		Example: `  varve check era5.zarr
  varve check era5.zarr/t2m --fast --json
  varve check era5.zarr --fast --conventions cf`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	f := &checkFlags{}
	c.Flags().BoolVar(&f.how.Fast, "fast", false, "check only sizes and the indexes of shards: finds truncated raw chunks and empty ones, but no other damage")
	c.Flags().Var((*percentage)(&f.how.Sample), "sample", "check only a random `PART` of the stored chunks, such as 1%")
	c.Flags().BoolVar(&f.digest, "digest", false, "also print digests of the values, which do not depend on chunks and codecs")
	c.Flags().BoolVar(&f.dandi, "dandi", false, "also print the digest that the DANDI archive has for a Zarr asset")
	const toList = "if there is no damage, write a checksum list to `FILE`: the SHA-256 of every stored value, as sha256sum -c reads it"
	c.Flags().StringVar(&f.list, "write-checksums", "", toList)
	c.Flags().StringVar(&f.list, "write-manifest", "", toList) // the former name
	c.Flags().Lookup("write-manifest").Hidden = true
	c.Flags().StringVar(&f.against, "against", "", "decode nothing, but compare all stored values with the checksum list in `FILE`")
	mend := c.Flags().Bool("repair", false, "first do what cannot lose data: finish what crashed writers left, update stale consolidated metadata, write documents again that other programs misread")
	shards := c.Flags().Bool("repair-shards", false, "as --repair, and restore damaged indexes of shards where their checksum proves what they were")
	c.Flags().BoolVar(&f.how.Complete, "complete", false, "treat chunks that are not stored as faults")
	c.Flags().StringSliceVar(&f.how.Conventions, "conventions", nil, "also say what breaks the conventions of these `NAMES`: "+strings.Join(conventions.Names(), ", ")+", or all")
	planfile.Flag(c, &f.planTo)
	dry := c.Flags().Bool("dry-run", false, "change nothing; only --repair and --repair-shards change anything")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkTogether(cmd); err != nil {
			return err
		}
		if err := f.name(); err != nil {
			return err
		}
		if f.planTo != "" {
			return f.plan(cmd, args[0])
		}
		if f.against != "" {
			return checkAgainst(cmd, args[0], f.against)
		}
		if (*mend || *shards) && !*dry {
			if err := f.repair(cmd, args[0], *shards); err != nil {
				return err
			}
		}
		return f.run(cmd, args[0])
	}
	return c
}

// checkTogether returns an error for flags that exclude each other.
func checkTogether(cmd *cobra.Command) error {
	for _, name := range []string{"write-checksums", "write-manifest", "digest", "dandi", "repair", "repair-shards", "complete", "sample", "fast", "conventions"} {
		if err := flagtext.Exclusive(cmd, "against", name); err != nil {
			return err
		}
	}
	for _, name := range []string{"against", "digest", "repair", "repair-shards", "sample", "conventions"} {
		if err := flagtext.Exclusive(cmd, "plan", name); err != nil {
			return err
		}
	}
	return nil
}

// name refuses conventions that are not known, and puts their names in place of "all".
func (f *checkFlags) name() error {
	known := conventions.Names()
	for _, name := range f.how.Conventions {
		switch {
		case name == "all":
			f.how.Conventions = known
			return nil
		case !slices.Contains(known, name):
			return failure.BadUsage("--conventions %s: there are %s, and all", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// checkFlags are the flags of varve check.
type checkFlags struct {
	how           check.Options
	digest, dandi bool
	list, against string
	planTo        string
	// found writes the checksums that the tasks of a plan have computed, or is nil.
	found    func(ctx context.Context, to io.Writer) (checksums.Report, error)
	repaired []repairFact      // what --repair has done; nil without it
	unproven map[string]string // why indexes of shards were not restored, by key
}

// percentage is a flag for a part of a whole, such as 1% or 0.01.
type percentage float64

func (p *percentage) String() string { return strconv.FormatFloat(100*float64(*p), 'g', -1, 64) + "%" }
func (p *percentage) Type() string   { return "percentage" }

// Set reads a percentage.
func (p *percentage) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	part, err := strconv.ParseFloat(number, 64)
	if percent {
		part /= 100
	}
	if err != nil || !(part > 0 && part <= 1) {
		return fmt.Errorf("%q is not a percentage above 0%% and up to 100%%", text)
	}
	*p = percentage(part)
	return nil
}

// plan writes a plan whose tasks read the chunks.
func (f *checkFlags) plan(cmd *cobra.Command, location string) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	chunks, err := chunksBelow(cmd.Context(), n)
	if err != nil {
		return err
	}
	head := dryrun.Head{Operation: cmd.Name(), Node: location, Strategy: "read-only", Guarantee: "atomic"}
	head.Stages = []dryrun.Stage{{Name: "check", Tasks: chunks}, {Name: "publish", Tasks: 1}}
	request := job.Check{Fast: f.how.Fast, Complete: f.how.Complete, Checksums: f.list != "", DANDI: f.dandi}
	if f.list != "" {
		request.List = planfile.Absolute(f.list)
	}
	return planfile.Write(cmd, f.planTo, head, dryrun.Counts{}, request)
}

// chunksBelow returns the number of chunks of an array, or of all arrays below a group.
func chunksBelow(ctx context.Context, n zarr.Node) (all int64, err error) {
	add := func(a *zarr.Array) {
		if more, ok := a.Grid().NumChunks(); !ok || all > math.MaxInt64-more {
			all = math.MaxInt64
		} else {
			all += more
		}
	}
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		add(n.(*zarr.Array))
		return all, nil
	}
	for m, err := range g.Members(ctx, true) {
		if err != nil {
			return 0, err
		}
		if a, ok := m.Node.(*zarr.Array); ok && m.Err == nil { // others are findings
			add(a)
		}
	}
	return all, nil
}

// PrintChecked prints what the tasks of a plan have found, as varve check does.
func PrintChecked(cmd *cobra.Command, plan *job.Plan, r *job.Checked) error {
	var q job.Check
	if err := json.Unmarshal(plan.Request, &q); err != nil {
		return err
	}
	n, err := node.Open(cmd, plan.Node)
	if err != nil {
		return err
	}
	defer n.Close()
	f := &checkFlags{dandi: q.DANDI, list: q.List, found: r.Sums}
	if _, isArray := n.(*zarr.Array); isArray {
		return f.finishArray(cmd, place.WithoutOptions(plan.Node), n, r.Report)
	}
	return f.finishGroup(cmd, place.WithoutOptions(plan.Node), n, r.Report, r.Incomplete)
}

// run looks for damage at a location, and prints what it finds.
func (f *checkFlags) run(cmd *cobra.Command, location string) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	p := &chunkProgress{cmd: cmd}
	f.how.Progress = p.show
	report, err := check.Run(cmd.Context(), n, &f.how)
	p.end()
	if _, isArray := n.(*zarr.Array); isArray {
		if err != nil {
			return err
		}
		return f.finishArray(cmd, location, n, report)
	}
	if report == nil {
		return err
	}
	return f.finishGroup(cmd, location, n, report, err)
}

// finishArray prints the result of the check of an array, with the digests and checksums
// that the flags ask for.
func (f *checkFlags) finishArray(cmd *cobra.Command, location string, n zarr.Node, report *check.Report) (err error) {
	c := newFindings(location, report.Arrays[0], f.unproven)
	c.Temporary = facts.TemporaryFiles(report.Temporary)
	c.Checked, c.Repaired = newCheckedCounts(report.Checked), f.repaired
	c.judged = f.judged(location, report)
	c.Findings = append(c.Findings, c.broken...)
	verdict := c.verdict()
	if c.sums, err = f.sums(cmd, n, verdict == nil); err != nil {
		return err
	}
	if err := c.print(cmd); err != nil {
		return err
	}
	return verdict
}

// finishGroup prints the result of the check of a group. bad is the reason if a part of
// it could not be checked.
func (f *checkFlags) finishGroup(cmd *cobra.Command, location string, n zarr.Node, report *check.Report, bad error) (err error) {
	all := newGroupFindings(location, report, f.unproven)
	all.Repaired, all.judged = f.repaired, f.judged(location, report)
	verdict := all.verdict()
	if all.sums, err = f.sums(cmd, n, verdict == nil && bad == nil); err != nil {
		return err
	}
	if err := all.print(cmd); err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	return verdict
}

// chunkProgress draws a line of progress for each array.
type chunkProgress struct {
	cmd  *cobra.Command
	line *progress.Line // nil before the first array
}

// show is the progress of a check.
func (p *chunkProgress) show(_ string, done, total int64) {
	if done > 0 {
		p.line.Add(1)
		return
	}
	p.end()
	p.line = progress.NewCount(p.cmd, "chunks", total)
}

// end ends the line of the present array.
func (p *chunkProgress) end() {
	if p.line != nil {
		p.line.End()
		p.line = nil
	}
}

// finding is one finding of a check, whatever it is about.
type finding struct {
	Kind    string  `json:"kind"`
	Path    string  `json:"path"` // of the node, as a location
	Key     *string `json:"key"`  // in the store; null unless the finding is about one value
	Chunk   []int64 `json:"chunk"`
	Section string  `json:"section,omitempty"` // of a convention
	Message string  `json:"message"`
	Repair  string  `json:"repair"`
}

// judged is what a check says about conventions.
type judged struct {
	Advice []finding `json:"advice,omitzero"` // what they recommend; with --conventions
	broken []finding // what they demand, of the findings
}

// judged returns what breaks the conventions below a location.
func (f *checkFlags) judged(location string, r *check.Report) (j judged) {
	if len(f.how.Conventions) == 0 {
		return j
	}
	j.Advice = findingsOf(location, r.Advice, nil)
	of := slices.DeleteFunc(slices.Clone(r.Findings), func(one check.Finding) bool { return one.Section == "" })
	j.broken = findingsOf(location, of, nil)
	return j
}

// text adds the number of demands that are not met to a text.
func (j judged) text() string {
	if len(j.broken) == 0 {
		return ""
	}
	return "; conventions are broken: " + phrase.Plural(int64(len(j.broken)), "finding")
}

// write writes a line for each rule that a node breaks, and one for what would help.
func (j judged) write(w *bufio.Writer) {
	for _, f := range j.broken {
		fmt.Fprintf(w, "%s  %s (%s, %s)\n  repair: %s\n", phrase.Printable(f.Path), phrase.Printable(f.Message), f.Kind, f.Section, f.Repair)
	}
	for _, f := range j.Advice {
		fmt.Fprintf(w, "%s  note: %s (%s, %s): %s\n", phrase.Printable(f.Path), phrase.Printable(f.Message), f.Kind, f.Section, f.Repair)
	}
}

// findingsOf describes findings about nodes below a location. unproven has the reasons
// why shards were not repaired, by their keys.
func findingsOf(location string, found []check.Finding, unproven map[string]string) []finding {
	list := make([]finding, len(found)) // programs read a list, never null
	for i, f := range found {
		at := pathBelow(location, f.Path)
		list[i] = finding{
			Kind: string(f.Kind), Path: at, Key: output.Present(f.Key), Chunk: f.Chunk, Section: f.Section,
			Message: failure.ForNode(at, failure.Remedied(f.Message)), Repair: failure.ForNode(at, failure.Remedied(f.Repair)),
		}
		if f.Kind == differ { // the text names the group
			list[i].Path, list[i].Message = location, failure.Remedied(f.String())
		}
		if f.Err != nil {
			list[i].Message = failure.ForNode(at, failure.OneLine(f.Err))
		}
		if why, tried := unproven[f.Key]; tried {
			list[i].Repair = why + "; restore the value from a copy, or write the elements of the chunk again"
		}
	}
	return list
}

// checkedCounts counts what a check looked at.
type checkedCounts struct {
	Arrays int64 `json:"arrays"`
	Chunks int64 `json:"chunks"`
	Inner  int64 `json:"inner_chunks"`
	Bytes  int64 `json:"bytes"`
}

func newCheckedCounts(c check.Counts) *checkedCounts {
	return &checkedCounts{c.Arrays, c.Chunks, c.Inner, c.Bytes}
}
