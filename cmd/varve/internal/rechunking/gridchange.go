// SPDX-License-Identifier: Apache-2.0

// Package rechunking has the commands that give arrays other chunks: rechunk, regularize
// and compact. [Change] and [Moving] are what they share with the commands that move what
// follows a place, such as insert and drop.
package rechunking

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/rechunk"
)

// Change is a command that gives arrays another chunk grid.
type Change struct {
	memory       string
	Grace        string
	Dry          bool
	SingleWriter *bool
	into         string // the location of a new array; empty in place
	follow       bool   // the array at into follows

	PlanTo, pricesFrom string // files
	prices             *cost.Prices
	expected           cost.Expected
}

// flags adds the flags that these commands share.
func (r *Change) flags(c *cobra.Command) {
	r.ownFlags(c)
	planfile.Flag(c, &r.PlanTo)
}

// begin reads the prices, and makes a dry run of a command that only writes a plan.
func (r *Change) begin(cmd *cobra.Command) (err error) {
	r.Dry = r.Dry || r.PlanTo != ""
	if r.PlanTo != "" && r.Grace != "" {
		return failure.BadUsage("--plan does not go with --grace: give varve vacuum before varve run the grace")
	}
	if r.prices, err = cost.ReadPrices(cmd, r.pricesFrom); err != nil {
		return err
	}
	return r.expected.Read(cmd)
}

// ownFlags adds the flags that need no plan.
func (r *Change) ownFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&r.memory, "memory", "", "hold at most `SIZE` at once, such as 2GiB (512MiB by default)")
	flagtext.Var(f, &r.Grace, "grace", "", "first delete chunks of grids superseded this `TIME` ago", flagtext.Syntax(flagtext.ParseDuration))
	f.BoolVar(&r.Dry, "dry-run", false, "change nothing, and print what would change")
	cost.PricesFlag(c, &r.pricesFrom)
	r.expected.Flags(c)
	r.SingleWriter = growth.SingleWriterFlag(c)
}

// Options returns the options of rechunking.
func (r *Change) Options() (*rechunk.Options, error) {
	o := &rechunk.Options{TakeOver: *r.SingleWriter}
	if r.Grace != "" {
		d, err := flagtext.ParseDuration(r.Grace)
		if err != nil {
			return nil, failure.BadUsage("--grace: %w", err)
		}
		if o.Grace = d; d == 0 {
			o.Grace = -1 // none
		}
	}
	if r.memory == "" {
		return o, nil
	}
	n, err := phrase.ParseSize(r.memory)
	if err == nil && n < 1 {
		err = errors.New("must be at least 1 byte")
	}
	if err != nil {
		return nil, failure.BadUsage("--memory %s: %w", r.memory, err)
	}
	o.Memory = n
	return o, nil
}

// run rechunks the array of the first argument, or all arrays below a group. If there is
// a second one, it makes a new array there. request returns what is wanted of an array,
// or nil to leave it out.
func (r *Change) run(cmd *cobra.Command, args []string, request func(location string, a *zarr.Array) (rechunk.Request, error)) error {
	opt, err := r.Options()
	if err != nil {
		return err
	}
	if err := r.begin(cmd); err != nil {
		return err
	}
	location := args[0]
	if len(args) > 1 {
		r.into = args[1]
	}
	if r.into != "" && r.Grace != "" && !r.follow {
		return failure.BadUsage("--grace deletes the chunks of superseded grids, and a new array has none: leave it out")
	}
	access := session.Writing(cmd)
	// A dry run, or a new array, needs no permission to write the old one.
	access.Write, access.SingleWriter = !r.Dry && r.into == "", *r.SingleWriter
	n, err := zarr.Open(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer n.Close()
	if a, ok := n.(*zarr.Array); ok {
		want, err := request(location, a)
		if err != nil || want == nil {
			return err
		}
		done, err := r.rechunkTo(cmd, location, a, want, opt)
		if err == nil {
			err = r.writePlan(cmd, PlanFile{}, []*Rechunked{done})
		}
		if err != nil {
			return err
		}
		if session.WantsJSON(cmd) {
			return session.PrintJSON(cmd, done)
		}
		return done.print(cmd)
	}
	if r.into != "" {
		inPlace := ""
		if !node.IsVirtual(location) && !node.IsReferences(location) && !strings.Contains(location, "://") { // there it may be read-only
			inPlace = ", or leave out the destination"
		}
		return failure.BadArgument("%s is a group; name one of its arrays%s", phrase.Word(location), inPlace)
	}
	return r.runGroup(cmd, location, n.(*zarr.Group), access, request, opt)
}

// runGroup rechunks the arrays below a group, one after the other.
func (r *Change) runGroup(
	cmd *cobra.Command, location string, g *zarr.Group, access *zarr.Options,
	request func(location string, a *zarr.Array) (rechunk.Request, error), opt *rechunk.Options,
) error {
	list := []*Rechunked{}
	opt.Batch = rand.Text() // varve revert GROUP goes back for all of them
	for m, err := range node.Arrays(cmd, location, g, access, node.Filter{Deep: true}) {
		if err != nil {
			return err
		}
		done, err := r.rechunkMember(cmd, m, request, opt)
		if err != nil {
			return failure.On(cmd.Name(), m.Location, err)
		}
		if done == nil {
			continue
		}
		list = append(list, done)
		if !session.WantsJSON(cmd) {
			if err := done.print(cmd); err != nil {
				return err
			}
		}
	}
	if len(list) == 0 {
		return failure.BadArgument("no array of the group is concerned")
	}
	if err := r.writePlan(cmd, PlanFile{}, list); err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, map[string]any{"path": location, "arrays": list})
	}
	return nil
}

// rechunkMember rechunks an array of a group. The result is nil if nothing is requested
// of the array.
func (r *Change) rechunkMember(
	cmd *cobra.Command, m node.Member,
	request func(location string, a *zarr.Array) (rechunk.Request, error), opt *rechunk.Options,
) (*Rechunked, error) {
	level, err := node.LevelText(cmd.Context(), m.Location, m.Array)
	if err != nil {
		return nil, err
	}
	if level != "" {
		session.Remark(cmd, m.Location, "it is "+level+", and is left as it is")
		return nil, nil
	}
	want, err := request(m.Location, m.Array)
	if err != nil || want == nil {
		return nil, err
	}
	return r.rechunk(cmd, m.Location, m.Array, want, opt)
}

// Rechunked is the result for one array, in the form of --json: that of a plan, whose
// counts are those of what was done.
type Rechunked struct {
	dryrun.Head
	Path    string `json:"path"`
	DryRun  bool   `json:"dry_run"`
	Changed bool   `json:"changed"`
	Policy  string `json:"growth_policy,omitempty"` // how the stored one changes
	Blocked string `json:"blocked,omitempty"`       // why it would fail now
	Freed   int64  `json:"bytes_freed,omitempty"`   // by --grace
	dryrun.Counts
	Free     *int64         `json:"space_free"` // bytes; null if the store does not tell
	Cost     *cost.Cost     `json:"cost,omitempty"`
	Estimate *cost.Estimate `json:"estimate,omitempty"`

	Plan    *rechunk.Plan   `json:"-"`
	staged  rechunk.Counts  // as planned, or as done
	Wanted  rechunk.Request `json:"-"`
	inputs  *Inputs         // of an insertion that is only planned
	Objects int64           `json:"-"` // of scratch that were made
}

// rechunkTo is rechunk with the destination, if there is one.
func (r *Change) rechunkTo(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Request, opt *rechunk.Options) (*Rechunked, error) {
	if r.into == "" {
		return r.rechunk(cmd, location, a, want, opt)
	}
	if place.Within(location, r.into) {
		return nil, failure.BadArgument("%s is the array itself, or within its folder beside its chunks: choose another place", r.into)
	}
	to, err := place.New(cmd, r.into, r.Dry)
	if err != nil {
		return nil, failure.On(cmd.Name(), r.into, err)
	}
	place.NoteFolder(cmd, r.into)
	opt.Into = to
	done, err := r.rechunk(cmd, location, a, want, opt)
	failed := err != nil
	if err = errors.Join(err, place.Close(to, !failed)); failed && !r.Dry {
		place.RemoveEmpty(r.into)
	}
	return done, err
}

// rechunk rechunks one array, or plans it.
func (r *Change) rechunk(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Request, opt *rechunk.Options) (*Rechunked, error) {
	if r.follow {
		return r.keepUp(cmd, location, a, want.(rechunk.Rechunking), opt)
	}
	if r.into == "" {
		if err := node.CheckOwn(cmd.Context(), location, a); err != nil {
			return nil, err
		}
	}
	plan, err := rechunk.NewPlan(cmd.Context(), a, want, opt)
	if err != nil {
		return nil, err
	}
	d := r.planned(cmd.Name(), location, plan)
	cost.WarnOfSpace(cmd, d.Path, plan.Space)
	if k, is := want.(rechunk.Rechunking); is && plan.Changes && k.Inner == nil && (a.Inner() == nil || k.Unpack) {
		for _, text := range phrase.Padding(plan.Grid, "--chunks") {
			session.Remark(cmd, d.Path, text)
		}
	}
	if err := r.blocked(cmd, d); err != nil {
		return nil, err
	}
	if r.Dry || !plan.Changes {
		d.remark(cmd, plan.Policy)
		return d, nil
	}
	defer cost.LimitHeap(plan.Memory)()
	lines := NewStageLines(cmd)
	defer lines.End()
	opt.Progress = lines.Reach
	report, err := rechunk.Do(cmd.Context(), a, want, opt)
	if err != nil {
		return nil, err
	}
	d.remark(cmd, report.Policy)
	d.ReplaceCounts(report)
	return d, nil
}

// blocked returns why a rechunk would fail, if that is known. In a dry run it is a
// note.
func (r *Change) blocked(cmd *cobra.Command, d *Rechunked) error {
	err := d.Plan.Blocked
	if err == nil || !r.Dry {
		return failure.On(cmd.Name(), d.Path, err)
	}
	d.Blocked = failure.ForNode(d.Path, failure.OneLine(err))
	session.Note(cmd, d.Path, d.Blocked)
	return nil
}

// planned returns what a plan says.
func (r *Change) planned(operation, location string, plan *rechunk.Plan) *Rechunked {
	d := &Rechunked{Path: location, DryRun: r.Dry, Changed: plan.Changes, Plan: plan, Wanted: plan.Request, Cost: r.prices.Of(plan), Estimate: r.expected.Of(plan)}
	d.Head = dryrun.Head{Operation: operation, Node: location, Strategy: plan.Strategy, Guarantee: plan.Guarantee, Fingerprint: plan.Fingerprint}
	d.Stages = []dryrun.Stage{}
	for _, s := range plan.Stages {
		d.Stages = append(d.Stages, dryrun.Stage{Name: s.Name, Tasks: s.Tasks})
	}
	if plan.Changes {
		d.Stages = append(d.Stages, dryrun.Stage{Name: "publish", Tasks: 1})
	}
	if r.into != "" {
		d.Path, d.Target = r.into, &r.into
	}
	d.count(plan.Counts)
	if plan.Links {
		d.Linked, *d.Copied = plan.Cloned, plan.Arranged
	}
	if plan.Space.Free >= 0 {
		d.Free = &plan.Space.Free
	}
	d.Requests, d.BytesRead = cost.RequestsOf(plan.Requests), &plan.BytesRead
	return d
}

// ReplaceCounts replaces the counts of the plan by those of what was done.
func (d *Rechunked) ReplaceCounts(report *rechunk.Report) {
	d.Changed, d.Objects, d.Freed = report.Changed, report.Staged.Scratch, report.Freed
	d.count(report.Staged)
	if d.BytesLinked = report.Staged.BytesLinked; d.BytesLinked > 0 {
		d.Linked, *d.Copied = report.Staged.Cloned, report.Staged.Arranged
	}
}

// stageLines shows a line of progress for each stage.
type stageLines struct {
	cmd   *cobra.Command
	line  *progress.Line
	stage int
}

// NewStageLines begins with a line of an unknown length.
func NewStageLines(cmd *cobra.Command) *stageLines {
	return &stageLines{cmd: cmd, line: progress.NewCount(cmd, "chunks", 0), stage: 1}
}

// Reach shows how far the work has come.
func (l *stageLines) Reach(now rechunk.Progress) {
	if now.Stage != l.stage {
		l.line.End()
		l.line, l.stage = progress.NewCount(l.cmd, "chunks", now.Total), now.Stage
	}
	l.line.Reach(now.Done, now.Total)
}

// End ends the line.
func (l *stageLines) End() { l.line.End() }

// remark tells how the stored growth policy changes.
func (d *Rechunked) remark(cmd *cobra.Command, policy string) {
	if d.Policy = policy; policy != "" {
		session.Note(cmd, d.Path, policy)
	}
}

// count sets the counts.
func (d *Rechunked) count(c rechunk.Counts) {
	d.staged = c
	d.Counts = dryrun.Counts{
		Kept: new(int64), New: new(int64), Rewritten: &c.Encoded, Copied: new(c.Cloned + c.Arranged), Dropped: new(int64), Documents: new(int64),
		BytesCopied: &c.BytesCopied, BytesDecoded: &c.BytesDecoded, BytesEncoded: &c.BytesEncoded, BytesDropped: new(int64), Scratch: &c.BytesScratch,
	}
	if d.Plan != nil {
		d.Dropped, d.BytesDropped, d.PeakMemory = &d.Plan.Dropped, &d.Plan.BytesDropped, &d.Plan.Memory
		d.BytesWritten = &d.Plan.Space.Likely
	}
	if d.Changed {
		*d.Documents = 1
	}
}

// seenBy says what readers see that opened the array before, for each guarantee.
var seenBy = map[string]string{
	"atomic": "readers see the old array or the new one",
}

// printPrediction prints what a plan transfers and holds, and what readers see.
func (d *Rechunked) printPrediction(w io.Writer) error {
	p, q := d.Plan, d.Plan.Requests
	_, err := fmt.Fprintf(w, "  %s to read, %s to copy, about %s requests, at most %s of memory; %s\n", phrase.Bytes(p.BytesRead), phrase.Bytes(p.BytesCopied),
		phrase.Count(q.Get+q.Head+q.Put+q.Copy+q.List), phrase.Bytes(p.Memory), seenBy[p.Guarantee])
	return err
}

// printChunks says what became of chunks, in a line that leaves out what is zero.
func (d *Rechunked) printChunks(w io.Writer) error {
	var parts []string
	add := func(n int64, format string, args ...any) {
		if n > 0 {
			parts = append(parts, phrase.Count(n)+fmt.Sprintf(format, args...))
		}
	}
	add(d.staged.Cloned, " linked or copied")
	add(d.staged.Arranged, " put together from encoded chunks")
	add(*d.Rewritten, " encoded anew (%s of elements)", phrase.Bytes(*d.BytesDecoded))
	add(d.Plan.Dropped, " dropped (%s)", phrase.Bytes(d.Plan.BytesDropped))
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "  %s\n", strings.Join(parts, ", "))
	return err
}

func (d *Rechunked) print(cmd *cobra.Command) error {
	w, name := cmd.OutOrStdout(), phrase.Printable(d.Path)
	if !d.Changed {
		_, err := fmt.Fprintf(w, "%s  %s chunks %s  (nothing to do)\n", name, d.Plan.Grid.Name(), phrase.Chunks(d.Plan.Grid))
		return err
	}
	how := ""
	if d.DryRun {
		how = "  (nothing was changed)"
	}
	_, err := fmt.Fprintf(w, "%s  %s chunks %s%s\n", name, d.Plan.Grid.Name(), phrase.Chunks(d.Plan.Grid), how)
	if err != nil || d.Strategy == "metadata" {
		return err
	}
	if d.Freed > 0 {
		if _, err := fmt.Fprintf(w, "  %s of superseded grids deleted first\n", phrase.Bytes(d.Freed)); err != nil {
			return err
		}
	}
	err = d.printChunks(w)
	if n := len(d.Plan.Stages); err == nil && n > 1 {
		_, err = fmt.Fprintf(w, "  %s, with %s of scratch between them\n", quantity.Count(n, "stages"), phrase.Bytes(*d.Scratch))
	}
	if err == nil && d.DryRun {
		err = errors.Join(d.printPrediction(w), cost.PrintSpace(w, d.Plan.Space))
	}
	if err == nil {
		err = errors.Join(d.Cost.Print(cmd), d.Estimate.Print(cmd))
	}
	return err
}

// NewRegularize returns the command regularize.
func NewRegularize() *cobra.Command {
	c := &cobra.Command{
		Use:   "regularize NODE [DST]",
		Short: "Give all chunks of an array one shape, so that every program can read it",
		Long: `Give all chunks of an array, or of all arrays below a group, one shape, in place. With DST, make a new
array of one array. Programs that know regular grids only, such as TensorStore, zarrita and most
versions of xarray, can then read the array. Where the stored chunks fit already, only the metadata
changes. Without --chunks, chunks get the length that most elements have now, or, if that makes
chunks of less than 1 MiB, the multiple of it that comes nearest to that; a note then says which.`,
		Example: `  varve regularize era5.zarr/t2m
  varve regularize era5.zarr/t2m --chunks 365,72,72 --dry-run`,
		Args:              usage.Arguments("NODE", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	var r Change
	r.flags(c)
	var chunks string
	flagtext.Var(c.Flags(), &chunks, "chunks", "", "the `CHUNKS`, one length per axis, such as 365,72,72", flagtext.Syntax(chunking.Parse))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		parsed, err := chunking.Parse(chunks)
		switch {
		case chunks == "":
		case err != nil:
			return failure.BadUsage("--chunks: %w", err)
		case parsed.Lengths == "" || parsed.Trimmed:
			return failure.BadUsage("--chunks %s: regular chunks have one length per axis, such as 365,72,72; varve rechunk takes other forms", phrase.Shorten(chunks, 40))
		}
		return r.run(cmd, args, func(location string, a *zarr.Array) (rechunk.Request, error) {
			if chunks == "" {
				want := rechunk.Regularization{Target: regularBytes}
				return want, noteProposal(cmd, location, a, want)
			}
			chunk, err := parsed.Steps(a.Shape())
			if err != nil {
				return nil, parsed.Refused(err)
			}
			return rechunk.Regularization{Chunk: chunk}, nil
		})
	}
	return c
}

// regularBytes is the size of the chunks that regularize proposes where those of now are
// smaller. It is that of --chunks auto.
const regularBytes = 1 << 20

// noteProposal says which chunks are proposed if most elements have shorter ones now.
func noteProposal(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Regularization) error {
	p, err := want.Propose(cmd.Context(), a)
	if err != nil || p == nil || slices.Equal(p.Chunk, p.Usual) {
		return err
	}
	session.Note(cmd, location, fmt.Sprintf("chunks of %s: %s each, a multiple of the %s that most elements have; --chunks chooses others",
		phrase.Shape(p.Chunk), phrase.Bytes(p.Bytes), phrase.Shape(p.Usual)))
	return nil
}
