// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/rowset"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// filtering is the command filter.
type filtering struct {
	copyFlags
	where, mask, axis string
}

// NewFilter returns the command filter.
func NewFilter() *cobra.Command {
	c := &cobra.Command{
		Use:   "filter SRC DST --where EXPR|--mask FILE",
		Short: "Keep the rows of a table, or the planes of an array, that a condition selects",
		Long: `Keep the rows of a table that a condition selects, in a new node at DST. A table is a group whose
arrays share a dimension, also in groups below it, or one array. Everything without the dimension is
copied as it is.

--where compares arrays of the group that have one axis, along the dimension, with values. --mask
takes booleans. Each chunk of the result holds what one chunk of SRC keeps, so along the dimension
chunks have listed lengths, which not all programs can read; varve regularize changes that.`,
		Example: `  varve filter era5.zarr recent.zarr --where 'time >= 2023 and not time == 2024-02-29' --dry-run
  varve filter era5.zarr/t2m north.zarr --mask keep.npy --axis lat`,
		Args:              usage.Arguments("SRC", "DST"),
		ValidArgsFunction: node.Complete,
	}
	f := new(filtering)
	flags := c.Flags()
	flagtext.Var(flags, &f.where, "where", "", "keep the rows that fulfil the condition `EXPR`", flagtext.Syntax(filter.Parse))
	flags.StringVar(&f.mask, "mask", "", "keep the rows for which the booleans in `FILE` are true")
	flagtext.Var(flags, &f.axis, "axis", "0", "the `AXIS`: a number or the name of a dimension; of a group, a name, by default that of the arrays in --where", flagtext.Syntax(argument.ParseAxis))
	flags.BoolVar(&f.dry, "dry-run", false, "change nothing, and print what would be kept")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the node at DST and everything below it")
	flags.BoolVar(&f.yes, "yes", false, "do not ask before --overwrite removes a group")
	f.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if (f.where == "") == (f.mask == "") {
			return failure.BadUsage("give a condition (--where) or a file of booleans (--mask)")
		}
		return f.run(cmd, args[0], args[1])
	}
	return c
}

func (f *filtering) run(cmd *cobra.Command, from, to string) (err error) {
	defer func() { err = withoutArray(cmd, from, to, err) }()
	ctx := cmd.Context()
	defer func() { err = columnMeant(cmd, from, err) }()
	src, err := place.Locate(ctx, from, store.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close(src, true)) }()
	r, err := f.request(cmd, src)
	if err != nil {
		return failure.On(cmd.Name(), from, err)
	}
	opt := &filter.Options{Options: *session.Reading(cmd), Overwrite: f.overwrite, Memory: session.LimitOf(cmd)}
	opt.SingleWriter = *f.singleWriter
	// Ask before the destination is opened, because opening may create its store.
	err = f.agreed(cmd, src, from, to, &opt.Options, func(dst *zarr.Location, trial zarr.Options) error {
		o := *opt
		o.Options = trial
		_, err := filter.NewPlan(ctx, src, dst, r, &o)
		return err
	})
	if err != nil {
		return err
	}
	dst, err := f.destination(cmd, to)
	if err != nil {
		return err
	}
	done, err := f.filter(cmd, src, dst, r, opt)
	if err != nil {
		return f.stopped(cmd, from, to, src, dst, err, "continues")
	}
	if err := place.Close(dst, true); err != nil {
		return place.Named(cmd.Name(), from, src, err)
	}
	place.NoteFolder(cmd, to)
	done.Head = dryrun.Head{Operation: cmd.Name(), Node: from, Target: &to, Strategy: "copy-publish", Guarantee: dryrun.Guarantee(cmd)}
	done.Removed = f.removed(ctx, to)
	if err := done.complete(); err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, done)
	}
	return done.print(cmd.OutOrStdout())
}

// columnMeant adds the names of similar arrays to the error for a name that none has, and
// gives the error of a copy the name of the command.
func columnMeant(cmd *cobra.Command, from string, err error) error {
	err = failure.InOperation(cmd.Name(), err) // it is a copy with other arrays in place of some
	var name *mistake.Name
	if !errors.As(err, &name) {
		return err
	}
	const quotes = "write text in quotes"
	return failure.Reword(err, quotes, quotes+node.Neighbour(cmd.Context(), node.Clean(from)+"/"+name.Name))
}

// request returns which rows are kept.
func (f *filtering) request(cmd *cobra.Command, src *zarr.Location) (r filter.Request, err error) {
	if f.where != "" {
		if r.Where, err = filter.Parse(f.where); err != nil {
			return r, failure.BadUsage("--where: %w", err)
		}
	} else if r.Mask, err = readMask(cmd, f.mask); err != nil {
		return r, err
	}
	n, err := src.Metadata(cmd.Context(), session.Reading(cmd))
	if err != nil {
		return r, err
	}
	a, isArray := n.(*metadata.Array)
	g, _ := n.(*metadata.Group)
	switch {
	case !argument.IsNumber(f.axis):
		r.Dimension = f.axis
	case isArray:
		r.Axis, err = argument.AxisOf(f.axis, nil, len(a.Shape))
	case g != nil && f.where == "" && rowset.IsSparse(g.Attributes): // its arrays have no names of dimensions
	case f.where == "" || cmd.Flags().Changed("axis"):
		err = failure.BadUsage("it is a group: give the name of a dimension, as in --axis time")
	}
	return r, err
}

// filter filters, or plans it.
func (f *filtering) filter(cmd *cobra.Command, src, dst *zarr.Location, r filter.Request, opt *filter.Options) (*filtered, error) {
	if f.dry {
		p, err := filter.NewPlan(cmd.Context(), src, dst, r, opt)
		if err != nil {
			return nil, err
		}
		return filteredBy(p), nil
	}
	defer cost.LimitHeap(cmp.Or(opt.Memory, defaultMemory))()
	p := progress.NewCount(cmd, "chunks", 0)
	defer p.End()
	opt.Progress = p.Reach
	report, err := filter.Do(cmd.Context(), src, dst, r, opt)
	if err != nil {
		return nil, err
	}
	return &filtered{Rows: report.Rows, RowsKept: report.Kept, Resumed: report.Resumed, Restarted: report.Others.Restarted, counts: report.Counts, others: report.Others}, nil
}

// defaultMemory is the memory of package filter without --limit.
const defaultMemory = 512 << 20

// filtered is the result of the command, in the form of --json: that of a plan, whose
// counts are those of what was done.
type filtered struct {
	dryrun.Head
	DryRun    bool            `json:"dry_run"`
	Dimension *string         `json:"dimension,omitempty"` // only of a plan; null if it has no name
	Rows      int64           `json:"rows"`
	RowsKept  int64           `json:"rows_kept"`
	Arrays    []filteredArray `json:"arrays,omitempty"` // only of a plan
	// What an interrupted command had left: chunks that are among those copied or
	// rewritten, or something that was deleted first.
	Resumed   int64 `json:"chunks_resumed,omitempty"`
	Restarted bool  `json:"restarted,omitempty"`
	dryrun.Counts

	counts filter.Counts
	others transfer.Report
}

// filteredArray is what becomes of one array.
type filteredArray struct {
	Path      string `json:"path"` // below SRC
	Axis      int    `json:"axis"`
	Grid      string `json:"grid"`
	Chunks    string `json:"chunks"`
	Copied    int64  `json:"chunks_copied"`
	Rewritten int64  `json:"chunks_rewritten"`
	Dropped   int64  `json:"chunks_dropped"`
	BytesRead int64  `json:"bytes_read"`
}

// filteredBy returns what a plan says.
func filteredBy(p *filter.Plan) *filtered {
	d := &filtered{DryRun: true, Rows: p.Rows, RowsKept: p.Kept, Dimension: output.Present(p.Dimension), counts: p.Counts, others: p.Others}
	for _, a := range p.Arrays {
		d.Arrays = append(d.Arrays, filteredArray{a.Path, a.Axis, a.Grid.Name(), phrase.Chunks(a.Grid), a.Copied, a.Encoded, a.Dropped, a.BytesRead})
	}
	d.PeakMemory, d.BytesRead, d.BytesDropped = &p.Memory, &p.BytesRead, &p.BytesDropped
	d.Requests = map[string]int64{"get": p.Read, "put": p.Encoded + d.nodes(), "copy": p.Copied + p.Others.Values}
	return d
}

// nodes returns how many documents are stored.
func (d *filtered) nodes() int64 { return int64(d.others.Arrays + d.others.Groups) }

// complete sets the counts, the stages and the fingerprint.
func (d *filtered) complete() (err error) {
	n, copied := d.counts, d.counts.Copied+d.others.Values
	d.Kept, d.New, d.Copied, d.Rewritten, d.Dropped = new(int64), new(int64), &copied, &n.Encoded, &n.Dropped
	d.Documents, d.BytesDecoded, d.BytesEncoded, d.Scratch = new(d.nodes()), &n.BytesDecoded, &n.BytesEncoded, new(int64)
	d.BytesCopied = new(n.BytesCopied + d.others.Bytes)
	d.Stages = dryrun.Stages(dryrun.Stage{Name: "copy", Tasks: copied}, dryrun.Stage{Name: "encode", Tasks: n.Encoded}, dryrun.Stage{Name: "publish", Tasks: d.nodes()})
	d.Fingerprint, err = dryrun.Fingerprint(d)
	return err
}

func (d *filtered) print(w io.Writer) error {
	how := ""
	if d.DryRun {
		how = "  (nothing was changed)"
	}
	_, err := fmt.Fprintf(w, "%s  %s of %s kept%s\n", phrase.Printable(*d.Target), phrase.Count(d.RowsKept), phrase.Plural(d.Rows, "row"), how)
	for _, a := range d.Arrays {
		_, failed := fmt.Fprintf(w, "  %s  %s chunks %s\n", phrase.Printable(cmp.Or(a.Path, ".")), a.Grid, a.Chunks)
		err = errors.Join(err, failed)
	}
	dropped := ""
	if d.counts.Dropped > 0 {
		dropped = fmt.Sprintf(", %s dropped", phrase.Count(d.counts.Dropped))
	}
	_, failed := fmt.Fprintf(w, "  %s copied as they are encoded (%s), %s encoded anew (%s of elements)%s\n",
		phrase.Plural(*d.Copied, "chunk"), phrase.Bytes(*d.BytesCopied), phrase.Count(*d.Rewritten), phrase.Bytes(*d.BytesEncoded), dropped)
	if err = errors.Join(err, failed); err == nil && d.DryRun {
		_, err = fmt.Fprintf(w, "  %s to read besides the condition, at most %s of memory\n", phrase.Bytes(*d.BytesRead), phrase.Bytes(*d.PeakMemory))
	}
	return errors.Join(err, d.printResumed(w), printRemoved(w, d.Removed), noteReserved(w, d.others.Reserved))
}

// printResumed prints what became of the leftovers of an interrupted command.
func (d *filtered) printResumed(w io.Writer) (err error) {
	if d.Resumed > 0 {
		_, err = fmt.Fprintf(w, "  %s of them had been stored before the interruption\n", phrase.Count(d.Resumed))
	}
	if d.Restarted {
		_, err = fmt.Fprintln(w, "  note  what an interrupted command had left there could not be used, as it was of other rows or of another source: it was deleted, and all chunks are new")
	}
	return err
}

// readMask reads the booleans of filter --mask: a .npy file with one axis, or raw bytes.
func readMask(cmd *cobra.Command, name string) ([]bool, error) {
	if strings.HasSuffix(name, ".npy") {
		m, err := source.ReadMask(cmd.Context(), name)
		if err == nil && len(m.Shape) != 1 {
			err = failure.BadArgument("mask %s: it has the shape %v; one boolean is needed for every row", name, m.Shape)
		}
		return m.Data, err
	}
	data, err := localfile.ReadAll(cmd, name)
	if err != nil {
		return nil, err
	}
	mask := make([]bool, len(data))
	for i, b := range data {
		if b > 1 {
			return nil, failure.BadArgument("mask %s: byte %d is %d, neither 0 nor 1", name, i, b)
		}
		mask[i] = b == 1
	}
	return mask, nil
}
